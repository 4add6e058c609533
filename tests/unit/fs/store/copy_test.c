/* volume.json and its copy: which one serves, and who makes the other again. */
#include "tests/unit/fs/store/scratch.h"

#define MAIN "s/.balefs/volume.json"
#define COPY "s/.balefs/volume-copy.json"

static char both[4096]; /* what the two files contain */

static void both_are_there(void)
{
    CHECK_EQ_STR(get_file(MAIN), both);
    CHECK_EQ_STR(get_file(COPY), both);
}

/* Opens, and expects a notice with that text; NULL: none. */
static void opens(enum bale_store_access how, const char *text, bool repaired)
{
    struct bale_store *store = store_open("s", how);
    const struct bale_store_notice *notice = bale_store_notice(store, 0);

    CHECK_EQ_U(bale_store_config(store)->setting.codec, BALE_CODEC_ZSTD);
    if (text && CHECK(notice)) {
        CHECK_EQ_STR(notice->below, ".balefs/volume.json");
        CHECK_EQ_STR(notice->text, text);
        CHECK_EQ(notice->repaired, repaired);
    }
    CHECK(text || !notice);
    CHECK(!bale_store_notice(store, 1));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
}

#define USED "its copy is used: balefs fsck --repair makes it again"

static void missing(void)
{
    REQUIRE(unlink(at(MAIN)) == 0);
    CHECK(bale_store_exists(at("s"), NULL));
    opens(BALE_STORE_UNLOCKED, "is missing: " USED, false);
    opens(BALE_STORE_READONLY, "is missing: " USED, false);
    CHECK(access(at(MAIN), F_OK) < 0); /* readers write nothing */
    opens(BALE_STORE_WRITE, "was missing: it was made again from its copy", true);
    both_are_there();
    opens(BALE_STORE_WRITE, NULL, false);

    REQUIRE(unlink(at(COPY)) == 0); /* as in a store of an older program */
    opens(BALE_STORE_READONLY, NULL, false);
    opens(BALE_STORE_WRITE, NULL, false);
    both_are_there();
}

static void damaged(void)
{
    put_file(MAIN, "{");
    opens(BALE_STORE_READONLY, "is damaged: " USED, false);
    opens(BALE_STORE_WRITE, "is damaged: " USED, false);
    CHECK_EQ_STR(get_file(MAIN), "{"); /* may be an edit that went wrong */
    CHECK_EQ_STR(get_file(COPY), both);
    opens(BALE_STORE_REPAIR, "was damaged: it was made again from its copy", true);
    both_are_there();

    put_file(COPY, "{");
    opens(BALE_STORE_READONLY, NULL, false);
    opens(BALE_STORE_WRITE, NULL, false);
    both_are_there();

    /* A newer volume.json is no damage. */
    put_file(MAIN, "{\"format\": 2}");
    refused("s", BALE_STORE_WRITE, BALE_E_UNSUPPORTED,
            "%s/s: is of format 2 and this program knows 1: use a newer one");
    CHECK_EQ_STR(get_file(COPY), both);
    put_file(MAIN, both);
}

static void settings_go_to_both(void)
{
    struct bale_store *store = store_open("s", BALE_STORE_WRITE);
    struct bale_store_config config = *bale_store_config(store);

    config.extent = 65536;
    CHECK_EQ(bale_store_set_config(store, &config, &why), 0);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK(strstr(get_file(MAIN), "65536"));
    CHECK(strstr(get_file(COPY), "65536"));

    /* An older program changes volume.json alone: that decides. */
    put_file(MAIN, both);
    opens(BALE_STORE_WRITE, NULL, false);
    both_are_there();
}

static void both_lost(void)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 5},
                                             .extent = 65536,
                                             .modes_in_container = true};
    struct bale_store *store;

    REQUIRE(unlink(at(MAIN)) == 0 && unlink(at(COPY)) == 0);
    refused("s", BALE_STORE_WRITE, BALE_E_CORRUPT,
            "%s/s: has lost .balefs/volume.json and its copy: balefs fsck --repair makes it again");
    CHECK_EQ(bale_store_init(at("s"), &config, &why), BALE_E_INVALID);
    CHECK_EQ(bale_store_check_volume(at("s"), &why), BALE_E_CORRUPT);
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), 0);
    CHECK_EQ(bale_store_check_volume(at("s"), &why), 0);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(bale_store_config(store)->extent, 65536);
    CHECK(bale_store_config(store)->modes_in_container);
    /* Where it is valid, it is not made again; nor beside a writer. */
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), BALE_E_BUSY);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    snprintf(both, sizeof both, "%s", get_file(MAIN));
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), 0);
    both_are_there();

    /* All of .balefs. */
    REQUIRE(nftw(at("s/.balefs"), scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
    CHECK(!bale_store_exists(at("s"), NULL));
    CHECK_EQ(bale_store_check_volume(at("s"), &why), BALE_E_CORRUPT);
    CHECK_EQ(bale_store_remake(at("s"), &config, &why), 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
    CHECK_EQ(bale_store_check_volume(at("nothing"), &why), BALE_E_NOENT);
}

static void sessions_damaged(void)
{
    struct bale_store *store;
    const struct bale_store_notice *notice;

    put_file("s/.balefs/sessions.json", "{");
    CHECK_EQ(bale_store_open(at("s"), BALE_STORE_WRITE, &store, &why), BALE_E_CORRUPT);
    store = store_open("s", BALE_STORE_REPAIR);
    notice = bale_store_notice(store, 0);
    CHECK(notice && notice->repaired && strcmp(notice->below, ".balefs/sessions.json") == 0);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ(bale_store_close(store_open("s", BALE_STORE_WRITE), true, NULL), 0);
}

int main(void)
{
    bale_store_platform.await_ms = 1;
    scratch_make();
    store_make("s");
    snprintf(both, sizeof both, "%s", get_file(MAIN));
    both_are_there();
    missing();
    damaged();
    settings_go_to_both();
    both_lost();
    sessions_damaged();
    scratch_remove();
    return check_result();
}
