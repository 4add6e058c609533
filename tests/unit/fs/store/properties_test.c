/* Settings by directory and by name. */
#include <sys/xattr.h>

#include "kernels/frame/setting.h"
#include "tests/unit/fs/store/scratch.h"

static void set(const char *name, const char *attribute, const char *value)
{
    REQUIRE(setxattr(at(name), attribute, value, strlen(value), 0) == 0);
}

static int open_path(const char *name)
{
    int fd = open(at(name), O_PATH | O_DIRECTORY | O_CLOEXEC);

    REQUIRE(fd >= 0);
    return fd;
}

/* "zstd:3 131072", with a star after what is explicit. */
static const char *given(struct bale_store *store, const char *dir, const char *name)
{
    static char text[128 + BALE_SETTING_TEXT];
    char setting[BALE_SETTING_TEXT];
    struct bale_container_attr attr;
    int fd = open_path(dir);

    CHECK_EQ(bale_properties_for_new(store, fd, name, &attr), 0);
    close(fd);
    bale_setting_print(attr.setting, setting, sizeof setting);
    snprintf(text, sizeof text, "%s%s %u%s", setting, attr.setting_explicit ? "*" : "", attr.extent,
             attr.extent_explicit ? "*" : "");
    return text;
}

static void order(void)
{
    char *lines[] = {"*.h5 lz4", "* a store", "*.h5 store", NULL};
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);
    struct bale_store_config config = *bale_store_config(store);

    REQUIRE(mkdir(at("s/d"), 0755) == 0);
    CHECK_EQ_STR(given(store, "s/d", "x.h5"), "zstd:3 131072");
    config.match = lines;
    CHECK_EQ(bale_store_set_config(store, &config, &why), 0);
    CHECK_EQ_STR(given(store, "s/d", "x.h5"), "lz4 131072");
    CHECK_EQ_STR(given(store, "s/d", "b a"), "store 131072");
    CHECK_EQ_STR(given(store, "s/d", "x"), "zstd:3 131072");
    /* The directory's codec goes before the volume's lines, its lines before that. */
    set("s/d", BALE_XATTR_CODEC, "zstd:9");
    CHECK_EQ_STR(given(store, "s/d", "x.h5"), "zstd:9* 131072");
    set("s/d", BALE_XATTR_MATCH, "*.txt zstd:19\n\n.* store\n*.h5 zstd:-7\n*.h5 zstd:2\n");
    CHECK_EQ_STR(given(store, "s/d", "x.h5"), "zstd:-7* 131072");
    CHECK_EQ_STR(given(store, "s/d", "y.txt"), "zstd:19* 131072");
    CHECK_EQ_STR(given(store, "s/d", ".hidden"), "store* 131072");
    CHECK_EQ_STR(given(store, "s/d", "other"), "zstd:9* 131072");
    set("s/d", BALE_XATTR_EXTENT, "1M\n");
    CHECK_EQ_STR(given(store, "s/d", "other"), "zstd:9* 1048576*");
    bale_store_close(store, true, NULL);
}

static void inherited(void)
{
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);
    char value[64] = "";
    int parent = open_path("s/d");
    int child;

    REQUIRE(mkdir(at("s/d/e"), 0755) == 0 && mkdir(at("s/plain"), 0755) == 0);
    child = open_path("s/d/e");
    CHECK_EQ(bale_properties_inherit(parent, child), 0);
    CHECK_EQ_STR(given(store, "s/d/e", "x.h5"), "zstd:-7* 1048576*");
    CHECK_EQ_STR(given(store, "s/d/e", "other"), "zstd:9* 1048576*");
    CHECK_EQ(getxattr(at("s/d/e"), BALE_XATTR_EXTENT, value, sizeof value), 2);
    close(parent);
    close(child);
    parent = open_path("s/plain");
    child = open_path("s/d");
    CHECK_EQ(bale_properties_inherit(parent, child), 0); /* nothing there, nothing changes */
    CHECK_EQ_STR(given(store, "s/d", "other"), "zstd:9* 1048576*");
    close(parent);
    close(child);
    bale_store_close(store, true, NULL);
}

/* Attributes set by another program, or by an attacker. */
static void unreadable_values_are_passed_over(void)
{
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);

    REQUIRE(mkdir(at("s/bad"), 0755) == 0);
    set("s/bad", BALE_XATTR_CODEC, "warp:9");
    set("s/bad", BALE_XATTR_EXTENT, "999999999999999999999");
    set("s/bad", BALE_XATTR_MATCH, "nonsense\n*.q quux\n*.log zstd:5");
    CHECK_EQ_STR(given(store, "s/bad", "a.log"), "zstd:5* 131072");
    CHECK_EQ_STR(given(store, "s/bad", "a.h5"), "lz4 131072");
    CHECK_EQ_STR(given(store, "s/bad", "a.q"), "zstd:3 131072");
    bale_store_close(store, true, NULL);
}

static void extents(void)
{
    static const char *const bad[] = {
        "",        "0", "4096", "8K",  "65M",      "16385", "128G",       "1 M",   "128KB", "-1M",
        "0x10000", "M", "+1M",  " 1M", "67112960", "1MM",   "9999999999", "10000", "17K",   "1.5M"};
    static const struct {
        const char *text;
        uint32_t value;
    } good[] = {{"128K", 131072},       {"128k", 131072}, {"1M", 1048576},     {"1m", 1048576},
                {"131072", 131072},     {"16384", 16384}, {"16K", 16384},      {"64M", 67108864},
                {"67108864", 67108864}, {"20K", 20480},   {"00131072", 131072}};
    uint32_t extent = 7;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!CHECK(!bale_extent_parse(bad[i], &extent)))
            fprintf(stderr, "%s\n", bad[i]);
    CHECK_EQ_U(extent, 7);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK(bale_extent_parse(good[i].text, &extent));
        CHECK_EQ_U(extent, good[i].value);
    }
}

static void accepted(const char *name, const char *value, const char *expected)
{
    char clean[4096];

    if (CHECK_EQ(bale_properties_check(name, value, strlen(value), clean, &why), 0))
        CHECK_EQ_STR(clean, expected);
    CHECK_EQ(bale_properties_check(name, expected, strlen(expected) + 1, clean, NULL), 0);
    CHECK_EQ_STR(clean, expected);
}

static void rejected(const char *name, const char *value, size_t length, int err,
                     const char *message)
{
    char clean[4096];

    why.text[0] = '\0';
    CHECK_EQ(bale_properties_check(name, value, length, clean, &why), err);
    CHECK_EQ_STR(why.text, message);
    CHECK_EQ(bale_properties_check(name, value, length, clean, NULL), err);
}

static void refuse_text(const char *name, const char *value, const char *message)
{
    rejected(name, value, strlen(value), BALE_E_INVALID, message);
}

static void checks(void)
{
    char longest[5000];

    accepted(BALE_XATTR_CODEC, "zstd:level=3\n", "zstd:3");
    accepted(BALE_XATTR_CODEC, "auto", "auto");
    accepted(BALE_XATTR_CODEC, "auto:for=ratio\n", "auto");
    accepted(BALE_XATTR_CODEC, "auto:for=speed\n", "auto:for=speed");
    accepted(BALE_XATTR_CODEC, "culzss:v=1\n", "culzss:1");
    accepted(BALE_XATTR_CODEC, "gpulz:level=2,s=4\n", "gpulz:s=4,w=64");
    accepted(BALE_XATTR_EXTENT, "128K", "131072");
    accepted(BALE_XATTR_MATCH, "\n *.log  zstd:level=9 \r\n\na b* lz4\n", "*.log zstd:9\na b* lz4");
    accepted(BALE_XATTR_MATCH, "*.h5 auto:for=speed", "*.h5 auto:for=speed");
    snprintf(longest, sizeof longest,
             "user.balefs.codec: There is no codec \"gzip\". Known are %s.", scratch_codecs());
    refuse_text(BALE_XATTR_CODEC, "gzip", longest);
    refuse_text(BALE_XATTR_CODEC, "zstd:20",
                "user.balefs.codec: The level of zstd is -7 to 19 without 0, not 20.");
    refuse_text(BALE_XATTR_CODEC, "", "user.balefs.codec: is empty: remove the attribute instead");
    refuse_text(BALE_XATTR_EXTENT, "17K",
                "user.balefs.extent: \"17K\" is no extent size: it is a multiple of 4096 from 16K "
                "to 64M");
    refuse_text(BALE_XATTR_MATCH, "*.a zstd:3\n*.b",
                "user.balefs.match: \"*.b\": A match is a glob, a space and a codec, as in "
                "\"*.log zstd:3\".");
    refuse_text(BALE_XATTR_MATCH, "a/*.b lz4",
                "user.balefs.match: \"a/*.b lz4\": A glob is for names, which have no \"/\".");
    refuse_text(BALE_XATTR_MATCH, " \n ",
                "user.balefs.match: is empty: remove the attribute instead");
    refuse_text("user.balefs.speed", "9",
                "user.balefs.speed: is no setting: settings are user.balefs.codec, "
                "user.balefs.extent and user.balefs.match");
    rejected(BALE_XATTR_CODEC, "lz4\0x", 5, BALE_E_INVALID,
             "user.balefs.codec: has a zero byte inside: it is text");
    memset(longest, '*', sizeof longest);
    rejected(BALE_XATTR_MATCH, longest, sizeof longest, BALE_E_TOOBIG,
             "user.balefs.match: has more than 4095 bytes: use a shorter one");
    /* Short as given, too long when normalised. */
    for (size_t i = 0; i + 7 <= 4095; i += 7)
        memcpy(longest + i, "a zstd\n", 7);
    rejected(BALE_XATTR_MATCH, longest, 4095, BALE_E_TOOBIG,
             "user.balefs.match: has more than 4095 bytes: use fewer globs");
}

/* Strings have larger extents unless somebody chose their size. */
static void strings(void)
{
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);
    struct bale_store_config config = *bale_store_config(store);

    REQUIRE(mkdir(at("s/strings"), 0755) == 0);
    set("s/strings", BALE_XATTR_MATCH, "*.csv fsst\n");
    CHECK_EQ_STR(given(store, "s/strings", "a.csv"), "fsst* 1048576");
    CHECK_EQ_STR(given(store, "s/strings", "other"), "zstd:3 131072");
    set("s/strings", BALE_XATTR_EXTENT, "128K\n");
    CHECK_EQ_STR(given(store, "s/strings", "a.csv"), "fsst* 131072*");
    REQUIRE(removexattr(at("s/strings"), BALE_XATTR_EXTENT) == 0);
    config.extent = 65536;
    CHECK_EQ(bale_store_set_config(store, &config, &why), 0);
    CHECK_EQ_STR(given(store, "s/strings", "a.csv"), "fsst* 65536");
    bale_store_close(store, true, NULL);
}

int main(void)
{
    scratch_make();
    store_make("s");
    if (setxattr(at("s"), "user.balefs.codec", "auto", 4, 0) == 0) {
        order();
        inherited();
        unreadable_values_are_passed_over();
        strings();
    } else {
        printf("no user attributes in %s: the tests of directories did not run\n", scratch);
    }
    extents();
    checks();
    scratch_remove();
    return check_result();
}
