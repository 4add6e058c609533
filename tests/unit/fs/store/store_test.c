/* Making and opening stores, volume.json, and what is refused. */
#include "tests/unit/fs/store/scratch.h"

#include "fs/store/file.h"

#define NOBODY 65534

#define VOLUME(rest) "{\"format\": 1, \"uuid\": \"00000000-1111-4222-8333-444444444444\", " rest "}"
#define GOOD "\"features\": [], \"modes\": \"inode\", \"codec\": \"zstd:3\", \"extent\": 131072"

static void init_makes_a_store(void)
{
    struct bale_store *store;
    const struct bale_store_config *config;
    struct stat st;

    store_make("s");
    CHECK(stat(at("s"), &st) == 0 && (st.st_mode & 07777) == (geteuid() == 0 ? 0700 : 0755));
    CHECK(stat(at("s/.balefs"), &st) == 0 && (st.st_mode & 07777) == 0711);
    CHECK_EQ(stat(at("s/.balefs/top"), &st), geteuid() == 0 ? 0 : -1);
    CHECK(stat(at("s/.balefs/volume.json"), &st) == 0 && (st.st_mode & 07777) == 0644);
    CHECK(stat(at("s/.balefs/lock"), &st) == 0 && st.st_size == 1);
    CHECK_EQ(st.st_mode & 07777, 0600);
    store = store_open("s", BALE_STORE_WRITE);
    config = bale_store_config(store);
    CHECK_EQ(strlen(config->uuid), 36);
    CHECK_EQ(config->uuid[14], '4');
    CHECK_EQ(config->modes_in_container, geteuid() != 0);
    CHECK_EQ(config->setting.codec, BALE_CODEC_ZSTD);
    CHECK_EQ(config->setting.parameter, 3);
    CHECK_EQ_U(config->extent, 131072);
    CHECK(config->match && !config->match[0]);
    CHECK_EQ_STR(bale_store_path(store), at("s"));
    CHECK(fcntl(bale_store_root_fd(store), F_GETFL) & O_PATH);
    CHECK(fstat(store->reserve_fd, &st) == 0 && st.st_size == 0);
    CHECK(bale_store_abilities(store)->flock);
    CHECK(bale_store_abilities(store)->tmpfile || bale_store_abilities(store)->text[0]);
    CHECK_EQ(bale_store_close(store, true, "all \"well\""), 0);
    CHECK(strstr(get_file("s/.balefs/last-unmount.json"), "\"result\": \"all \\\"well\\\"\""));
    CHECK(strstr(get_file("s/.balefs/last-unmount.json"), "\"clean\": true"));
    CHECK_EQ_STR(get_file("s/.balefs/lock"), "\n");
    CHECK_EQ(bale_store_close(NULL, true, NULL), 0);
}

static void relative_and_linked_paths(void)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_AUTO},
                                             .extent = 16384};
    struct bale_store *store;

    REQUIRE(chdir(scratch) == 0);
    CHECK_EQ(bale_store_init("rel//", &config, &why), 0);
    REQUIRE(symlink("rel", "link") == 0);
    CHECK_EQ(bale_store_open("link", BALE_STORE_UNLOCKED, &store, &why), 0);
    CHECK_EQ_STR(bale_store_path(store), at("rel"));
    bale_store_close(store, false, NULL);
    REQUIRE(chdir("/") == 0);
}

static void init_refuses(const char *name, const struct bale_store_config *config, int err,
                         const char *message)
{
    why.text[0] = '\0';
    CHECK_EQ(bale_store_init(at(name), config, &why), err);
    CHECK_EQ_STR(why.text, text_of(message));
}

static void init_refusals(void)
{
    struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                       .extent = 131072};
    char *bad[] = {"*.log", NULL};

    store_make("s2");
    init_refuses("s2", &config, BALE_E_INVALID,
                 "%s/s2: is a store already: mount it, or choose another directory");
    init_refuses("s2/x", &config, BALE_E_INVALID,
                 "%s/s2/x: lies inside the store %s/s2: choose a directory outside it");
    init_refuses("s2/.balefs/x", &config, BALE_E_INVALID,
                 "%s/s2/.balefs/x: lies inside the store %s/s2: choose a directory outside it");
    REQUIRE(mkdir(at("full"), 0755) == 0);
    put_file("full/a\nb", "");
    init_refuses("full", &config, BALE_E_INVALID,
                 "%s/full: is not empty: it holds \"a?b\": choose an empty or new directory");
    init_refuses(
        "none/x", &config, BALE_E_NOENT,
        "%s/none/x: cannot be made: the directory that it is to be in does not exist: make "
        "that first, or check the path");
    config.extent = 5000;
    init_refuses("e", &config, BALE_E_INVALID,
                 "%s/e: an extent of 5000 bytes: it is a multiple of 4096 from 16K to 64M");
    config.extent = 131072;
    config.setting.codec = 99;
    init_refuses("e", &config, BALE_E_INVALID, "%s/e: codec 99 with parameter 3: no such codec");
    config.setting.codec = BALE_CODEC_ZSTD;
    config.match = bad;
    init_refuses("e", &config, BALE_E_INVALID,
                 "%s/e: match \"*.log\": A match is a glob, a space and a codec, as in \"*.log "
                 "zstd:3\".");
    CHECK(access(at("e"), F_OK) < 0);
}

static void volume_refused(const char *text, int err, const char *message)
{
    put_file("v/.balefs/volume.json", text);
    put_file("v/.balefs/volume-copy.json", text);
    refused("v", BALE_STORE_UNLOCKED, err, message);
    refused("v", BALE_STORE_WRITE, err, message);
}

#define DAMAGED "%s/v/.balefs/volume.json: is damaged: "

static void volume_refusals(void)
{
    char *deep;
    char unknown[1000];

    store_make("v");
    volume_refused("{\"format\": 2}", BALE_E_UNSUPPORTED,
                   "%s/v: is of format 2 and this program knows 1: use a newer one");
    volume_refused(VOLUME("\"features\": [\"warp\\u001b[1m\"]"), BALE_E_UNSUPPORTED,
                   "%s/v: needs the feature \"warp?[1m\", which this program lacks: use a newer "
                   "one");
    volume_refused("{\"format\": \"1\"}", BALE_E_CORRUPT,
                   DAMAGED "\"format\" must be 1: see balefs fsck --repair");
    volume_refused("{\"format\": 0}", BALE_E_CORRUPT,
                   DAMAGED "\"format\" must be 1: see balefs fsck --repair");
    volume_refused("{\"format\": 1, \"features\": [7]}", BALE_E_CORRUPT,
                   DAMAGED "\"features\" must be an array of strings: see balefs fsck --repair");
    volume_refused("{\"format\": 1, \"features\": [], \"uuid\": \"0000\"}", BALE_E_CORRUPT,
                   DAMAGED "\"uuid\" must be a UUID: see balefs fsck --repair");
    volume_refused(VOLUME("\"features\": [], \"modes\": \"maybe\""), BALE_E_CORRUPT,
                   DAMAGED
                   "\"modes\" must be \"inode\" or \"container\": see balefs fsck --repair");
    snprintf(unknown, sizeof unknown,
             "%%s/v/.balefs/volume.json: \"codec\": There is no codec \"magic\". Known are %s.",
             scratch_codecs());
    volume_refused(VOLUME("\"features\": [], \"modes\": \"inode\", \"codec\": \"magic\""),
                   BALE_E_UNSUPPORTED, unknown);
    volume_refused(VOLUME("\"features\": [], \"modes\": \"inode\", \"codec\": \"lz4\", "
                          "\"extent\": 16385"),
                   BALE_E_CORRUPT,
                   DAMAGED
                   "\"extent\" must be a multiple of 4096 from 16384 to 67108864: see balefs fsck "
                   "--repair");
    volume_refused(VOLUME(GOOD ", \"match\": [1]"), BALE_E_CORRUPT,
                   DAMAGED
                   "\"match\" must be an array of at most 1024 strings: see balefs fsck --repair");
    volume_refused("[1]", BALE_E_CORRUPT, DAMAGED "not a JSON object: see balefs fsck --repair");
    volume_refused("", BALE_E_CORRUPT,
                   DAMAGED "line 1: '[' or '{' expected near end of file: "
                           "see balefs fsck --repair");
    deep = malloc(200001);
    REQUIRE(deep);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    volume_refused(deep, BALE_E_CORRUPT,
                   DAMAGED
                   "line 1: maximum parsing depth reached near '[': see balefs fsck --repair");
    free(deep);
    REQUIRE(truncate(at("v/.balefs/volume.json"), BALE_JSON_MAX + 1) == 0);
    refused("v", BALE_STORE_UNLOCKED, BALE_E_CORRUPT,
            "%s/v/.balefs/volume.json: is damaged: longer than 1048576 bytes: see balefs fsck "
            "--repair");
    put_file("v/.balefs/volume.json", VOLUME(GOOD));
    bale_store_close(store_open("v", BALE_STORE_WRITE), true, NULL);
}

static void other_things_refused(void)
{
    struct stat st;

    refused("nothing", BALE_STORE_UNLOCKED, BALE_E_NOENT,
            "%s/nothing: cannot be opened: No such file or directory");
    REQUIRE(mkdir(at("plain"), 0755) == 0);
    refused("plain", BALE_STORE_WRITE, BALE_E_NOENT,
            "%s/plain: is not a store: it has no .balefs/volume.json: see balefs init, or balefs "
            "fsck --repair if it was one");
    REQUIRE(mkdir(at("plain/.balefs"), 0755) == 0);
    refused("plain", BALE_STORE_WRITE, BALE_E_NOENT,
            "%s/plain: is not a store: it has no .balefs/volume.json: see balefs init, or balefs "
            "fsck --repair if it was one");
    CHECK(access(at("plain/.balefs/lock"), F_OK) < 0);

    store_make("real");
    REQUIRE(mkdir(at("fake"), 0755) == 0);
    REQUIRE(symlink("../real/.balefs", at("fake/.balefs")) == 0);
    refused("fake", BALE_STORE_WRITE, BALE_E_INVALID,
            "%s/fake/.balefs: is a symbolic link: a store has none there");

    store_make("links");
    REQUIRE(rename(at("links/.balefs/volume.json"), at("elsewhere")) == 0);
    REQUIRE(symlink("../../elsewhere", at("links/.balefs/volume.json")) == 0);
    refused("links", BALE_STORE_UNLOCKED, BALE_E_INVALID,
            "%s/links/.balefs/volume.json: is a symbolic link: a store has none there");
    REQUIRE(unlink(at("links/.balefs/volume.json")) == 0);
    REQUIRE(mkfifo(at("links/.balefs/volume.json"), 0644) == 0);
    refused("links", BALE_STORE_UNLOCKED, BALE_E_INVALID,
            "%s/links/.balefs/volume.json: is not a regular file: restore it");

    /* A victim under a second name must not be emptied. */
    store_make("hard");
    put_file("victim", "precious");
    REQUIRE(unlink(at("hard/.balefs/lock")) == 0);
    REQUIRE(link(at("victim"), at("hard/.balefs/lock")) == 0);
    REQUIRE(link(at("victim"), at("hard/.balefs/reserve")) == 0);
    bale_store_close(store_open("hard", BALE_STORE_WRITE), true, NULL);
    CHECK_EQ_STR(get_file("victim"), "precious");
    CHECK_EQ_STR(get_file("hard/.balefs/lock"), "\n");
    CHECK(stat(at("victim"), &st) == 0 && st.st_nlink == 1);
}

static void unknown_keys_are_kept(void)
{
    char *lines[] = {"*.log zstd:9", "[ab]* lz4", NULL};
    struct bale_store_config config;
    struct bale_store *store;
    const struct bale_store_config *before;
    const char *text;

    store_make("keys");
    put_file("keys/.balefs/volume.json", VOLUME(GOOD ", \"later\": {\"a\": [1, 2]}"));
    store = store_open("keys", BALE_STORE_WRITE);
    before = bale_store_config(store);
    config = *before;
    config.setting = (struct bale_setting){.codec = BALE_CODEC_LZ4, .parameter = 0};
    config.extent = 1 << 20;
    config.match = lines;
    CHECK_EQ(bale_store_set_config(store, &config, &why), 0);
    CHECK_EQ_U(before->extent, 131072); /* still there for who has it */
    CHECK_EQ_U(bale_store_config(store)->extent, 1 << 20);
    config.extent = 1;
    CHECK_EQ(bale_store_set_config(store, &config, &why), BALE_E_INVALID);
    bale_store_close(store, true, NULL);

    text = get_file("keys/.balefs/volume.json");
    CHECK(strstr(text, "\"later\""));
    CHECK(strstr(text, "00000000-1111-4222-8333-444444444444"));
    store = store_open("keys", BALE_STORE_READONLY);
    CHECK_EQ(bale_store_config(store)->setting.codec, BALE_CODEC_LZ4);
    CHECK_EQ_U(bale_store_config(store)->extent, 1 << 20);
    CHECK_EQ_STR(bale_store_config(store)->match[0], "*.log zstd:9");
    CHECK_EQ_STR(bale_store_config(store)->match[1], "[ab]* lz4");
    CHECK(!bale_store_config(store)->match[2]);
    CHECK_EQ(bale_store_set_config(store, bale_store_config(store), &why), BALE_E_RDONLY);
    CHECK_EQ_STR(why.text, text_of("%s/keys: is open for reading only"));
    bale_store_close(store, true, NULL);
}

/* What a mount left is read as it is, and nothing else in its place. */
static void last_unmount(void)
{
    json_t *last;

    store_make("last");
    CHECK(!bale_store_last_unmount(at("last")));
    bale_store_close(store_open("last", BALE_STORE_WRITE), true, "all well");
    last = bale_store_last_unmount(at("last"));
    CHECK_EQ_STR(json_string_value(json_object_get(last, "result")), "all well");
    json_decref(last);
    if (geteuid() == 0) {
        REQUIRE(chown(at("last/.balefs/last-unmount.json"), NOBODY, NOBODY) == 0);
        CHECK(!bale_store_last_unmount(at("last")));
    }
    REQUIRE(rename(at("last/.balefs/last-unmount.json"), at("elsewhere.json")) == 0);
    REQUIRE(symlink(at("elsewhere.json"), at("last/.balefs/last-unmount.json")) == 0);
    CHECK(!bale_store_last_unmount(at("last")));
    REQUIRE(unlink(at("last/.balefs/last-unmount.json")) == 0);
    REQUIRE(mkfifo(at("last/.balefs/last-unmount.json"), 0644) == 0);
    CHECK(!bale_store_last_unmount(at("last"))); /* and does not wait for a writer */
    CHECK(!bale_store_last_unmount(at("nothing")));
}

static void as_ordinary_user(void)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                             .extent = 131072};
    struct bale_store *store;
    struct bale_container_attr attr;

    CHECK_EQ(bale_store_init(at("user/own"), &config, &why), 0);
    store = store_open("user/own", BALE_STORE_WRITE);
    CHECK(bale_store_config(store)->modes_in_container);
    bale_store_defaults(store, &attr);
    CHECK_EQ_U(attr.mode, BALE_ROOT_MODE_IN_CONTAINER | 0600);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);

    bale_store_close(store_open("root", BALE_STORE_UNLOCKED), true, NULL);
    refused("root", BALE_STORE_READONLY, BALE_E_PERM,
            "%s/root/.balefs/lock: cannot be opened: Permission denied for user 65534");
    refused("closed", BALE_STORE_UNLOCKED, BALE_E_PERM,
            "%s/closed: is closed to user 65534: use its mount, or let the store's owner do it");
    refused("root", BALE_STORE_WRITE, BALE_E_PERM,
            "%s/root/.balefs/lock: cannot be opened: Permission denied for user 65534");
    CHECK_EQ(bale_store_init(at("x"), &config, &why), BALE_E_PERM);
    CHECK_EQ_STR(why.text, text_of("%s/x: cannot be made: Permission denied for user 65534"));
}

static void user_goes_on(void)
{
    bale_store_close(store_open("user/own", BALE_STORE_WRITE), true, NULL);
}

static void ordinary_user(void)
{
    struct stat st;

    if (geteuid() != 0)
        return; /* then the other tests are the ordinary user's */
    REQUIRE(chmod(scratch, 0755) == 0);
    store_make("closed");
    store_make("root");
    REQUIRE(chmod(at("root"), 0755) == 0);
    bale_store_close(store_open("root", BALE_STORE_WRITE), true, NULL);
    REQUIRE(mkdir(at("user"), 0755) == 0 && chown(at("user"), NOBODY, NOBODY) == 0);
    in_child(NOBODY, as_ordinary_user);
    /* Root was there; the user can go on. */
    REQUIRE(unlink(at("user/own/.balefs/lock")) == 0);
    bale_store_close(store_open("user/own", BALE_STORE_WRITE), true, "x");
    CHECK(stat(at("user/own/.balefs/lock"), &st) == 0 && st.st_uid == NOBODY);
    CHECK(stat(at("user/own/.balefs/sessions.json"), &st) == 0 && st.st_uid == NOBODY);
    in_child(NOBODY, user_goes_on);
}

int main(void)
{
    scratch_make();
    init_makes_a_store();
    relative_and_linked_paths();
    init_refusals();
    volume_refusals();
    other_things_refused();
    unknown_keys_are_kept();
    last_unmount();
    ordinary_user();
    scratch_remove();
    return check_result();
}
