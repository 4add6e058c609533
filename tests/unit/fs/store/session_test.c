/* Sessions over clean and unclean ends, other boots, and failed syncs. */
#include <errno.h>

#include "tests/unit/fs/store/sessions.h"

static void clean_end(void)
{
    struct bale_store *store = begin();

    CHECK_EQ_STR(sessions_now(), "10 10=boot-a");
    CHECK_EQ(syncs, 0);
    CHECK_EQ_U(*view(store).session, 10);
    CHECK(view(store).writable);
    CHECK(certain(store, 10) && certain(store, 9) && certain(store, 0));
    CHECK(!certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ(syncs, 1);
    CHECK_EQ_STR(sessions_in(during), "10 10=boot-a"); /* it leaves the list after the sync */
    CHECK_EQ_STR(sessions_now(), "10");
    scratch_remove();
}

static void first_of_all(void)
{
    struct bale_store *store;
    uint32_t first;

    scratch_make();
    store_make("s");
    store = store_open("s", BALE_STORE_READONLY);
    CHECK(!certain(store, 5) && !certain(store, 0));
    CHECK_EQ_U(*view(store).session, 0);
    CHECK(!view(store).writable);
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_INVALID);
    CHECK_EQ(bale_store_taint(store), BALE_E_INVALID);
    bale_store_close(store, true, NULL);
    CHECK(access(at("s/.balefs/sessions.json"), F_OK) < 0);

    store = store_open("s", BALE_STORE_WRITE);
    first = *view(store).session;
    CHECK(first >= 1u << 16 && first < 1u << 31);
    CHECK(certain(store, first));
    CHECK(!certain(store, first - 1) && !certain(store, first + 1) && !certain(store, 0));
    CHECK_EQ(state_of(store, 0), BALE_SESSION_UNKNOWN);
    bale_store_close(store, true, NULL);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, first + 1);
    CHECK(certain(store, first) && certain(store, first + 1) && certain(store, 0));
    /* Those before it were of another store, or of this one before its list was lost. */
    CHECK_EQ(state_of(store, first - 1), BALE_SESSION_UNKNOWN);
    CHECK_EQ(state_of(store, 1), BALE_SESSION_UNKNOWN);
    CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNKNOWN);
    bale_store_checkpoint(store);
    CHECK_EQ(state_of(store, 1), BALE_SESSION_UNKNOWN);
    bale_store_close(store, true, NULL);
    scratch_remove();
}

/* sessions.json of an earlier time: the numbers that follow may be in containers that are newer. */
static void restored(void)
{
    struct bale_store *store = begin();
    char old[1 << 12];
    uint32_t first;

    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    snprintf(old, sizeof old, "%s", get_file("s/.balefs/sessions.json"));
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, 11);
    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    put_file("s/.balefs/sessions.json", old);
    store = store_open("s", BALE_STORE_WRITE);
    first = *view(store).session;
    CHECK(first >= 1u << 16 && first < 1u << 31);
    CHECK(certain(store, 10) && certain(store, first));
    CHECK_EQ(state_of(store, 11), BALE_SESSION_UNKNOWN);
    bale_store_checkpoint(store);
    CHECK_EQ_U(*view(store).session, first + 1);
    CHECK_EQ(state_of(store, 11), BALE_SESSION_UNKNOWN);
    CHECK_EQ(bale_store_close(store, true, "well"), 0);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_U(*view(store).session, first + 2);
    die(store);
    /* After a crash nobody knows either. What it left stays listed, though its number is greater or
     * less than those that follow. */
    for (int i = 0; i < 100; i++) {
        char boot[24];

        snprintf(boot, sizeof boot, "boot-%d", i);
        bale_store_platform.boot = boot;
        store = store_open("s", BALE_STORE_WRITE);
        CHECK(certain(store, 10));
        CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNCERTAIN);
        bale_store_checkpoint(store);
        CHECK_EQ(state_of(store, first + 2), BALE_SESSION_UNCERTAIN);
        CHECK_EQ(bale_store_close(store, true, i % 2 == 0 ? "well" : NULL), 0);
    }
    scratch_remove();
}

/* Own sessions everywhere: there are no numbers left, and the search ends. */
static void no_room(void)
{
    bale_store_close(begin(), true, "well");
    put_file("s/.balefs/sessions.json",
             "{\"first\": 4294967290, \"last\": 4294967290, \"uncertain\": [],"
             " \"earlier\": [[1, 4294967289]]}");
    refused("s", BALE_STORE_WRITE, BALE_E_TOOBIG,
            "%s/s: has no session numbers left: copy its files to a new store");
    scratch_remove();
}

static void killed_in_this_boot(void)
{
    struct bale_store *store = begin();

    die(store);
    CHECK_EQ_STR(sessions_now(), "10 10=boot-a");
    store = store_open("s", BALE_STORE_READONLY);
    CHECK(certain(store, 10) && certain(store, 0)); /* the page cache has it all */
    bale_store_close(store, true, NULL);
    CHECK_EQ(syncs, 0);
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ(syncs, 1);
    CHECK_EQ_STR(sessions_in(during), "10 10=boot-a"); /* synced before anything is written */
    CHECK_EQ_STR(sessions_now(), "11 11=boot-a");
    CHECK(certain(store, 10));
    die(store);
    scratch_remove();
}

static void killed_and_the_sync_fails(void)
{
    struct bale_store *store = begin();

    die(store);
    sync_error = EIO;
    store = store_open("s", BALE_STORE_WRITE);
    sync_error = 0;
    CHECK_EQ_STR(sessions_now(), "11 10= 11=boot-a");
    CHECK(!certain(store, 10) && certain(store, 11) && !certain(store, 0));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10="); /* for good */
    scratch_remove();
}

static void another_boot(void)
{
    struct bale_store *store = begin();

    die(store);
    bale_store_platform.boot = "boot-b";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ(syncs, 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a 11=boot-b");
    CHECK(!certain(store, 10) && certain(store, 11) && !certain(store, 0));
    CHECK_EQ(state_of(store, 10), BALE_SESSION_UNCERTAIN);
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a");
    store = store_open("s", BALE_STORE_UNLOCKED);
    CHECK(!certain(store, 10) && certain(store, 11));
    bale_store_close(store, true, NULL);
    scratch_remove();
}

static void another_mount_is_another_cache(void)
{
    struct bale_store *store;

    scratch_make();
    store_make("s");
    put_file("s/.balefs/sessions.json",
             "{\"last\": 9, \"uncertain\": [{\"session\": 9, \"boot\": \"boot-a:0\"}]}");
    bale_store_platform.boot = "boot-a";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_STR(sessions_now(), "10 9=boot-a 10=boot-a");
    CHECK(!certain(store, 9));
    die(store);
    scratch_remove();
}

static void unknown_boot_is_never_ours(void)
{
    struct bale_store *store = begin();

    die(store);
    bale_store_platform.boot = "";
    store = store_open("s", BALE_STORE_WRITE);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a 11=");
    CHECK(certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=boot-a");
    scratch_remove();
}

static void tainted(void)
{
    struct bale_store *store = begin();

    CHECK_EQ(bale_store_taint(store), 0);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK(!certain(store, 10) && certain(store, 9));
    CHECK_EQ(bale_store_checkpoint(store), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK_EQ(bale_store_close(store, true, NULL), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    store = store_open("s", BALE_STORE_WRITE);
    CHECK(!certain(store, 10) && certain(store, 11));
    CHECK_EQ(bale_store_close(store, true, NULL), 0);
    CHECK_EQ_STR(sessions_now(), "11 10=");
    scratch_remove();
}

static void close_fails_to_sync(void)
{
    struct bale_store *store = begin();

    sync_error = EIO;
    CHECK_EQ(bale_store_close(store, true, "done"), BALE_E_IO);
    CHECK_EQ_STR(sessions_now(), "10 10=");
    CHECK(strstr(get_file("s/.balefs/last-unmount.json"), "\"clean\": false"));
    scratch_remove();
}

static void hostile(const char *text)
{
    put_file("s/.balefs/sessions.json", text);
    for (int i = 0; i < 2; i++) {
        refused("s", i ? BALE_STORE_WRITE : BALE_STORE_READONLY, BALE_E_CORRUPT,
                "%s/s/.balefs/sessions.json: is damaged: it lists no sessions: see "
                "balefs fsck --repair");
        CHECK_EQ_STR(get_file("s/.balefs/sessions.json"), text);
    }
}

static void hostile_lists(void)
{
    struct bale_store *store;

    scratch_make();
    store_make("s");
    hostile("{}");
    hostile("{\"last\": -1, \"uncertain\": []}");
    hostile("{\"last\": 4294967296, \"uncertain\": []}");
    hostile("{\"last\": 7, \"uncertain\": {}}");
    hostile("{\"first\": \"1\", \"last\": 7, \"uncertain\": []}");
    hostile("{\"first\": -1, \"last\": 7, \"uncertain\": []}");
    hostile("{\"last\": 7, \"uncertain\": [3]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [3]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3, 2]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[3, 5]]}");
    hostile("{\"first\": 5, \"last\": 7, \"uncertain\": [], \"earlier\": [[1, 2], [2, 3]]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 8, \"boot\": \"\"}]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 7}]}");
    hostile("{\"last\": 7, \"uncertain\": [{\"session\": 7, \"boot\": \""
            "0123456789012345678901234567890123456789012345678901234567890123456789"
            "0123456789012345678901234567890123456789\"}]}");
    store = store_open("s", BALE_STORE_UNLOCKED); /* can be looked at; nothing is certain */
    CHECK(!certain(store, 7) && !certain(store, 1));
    bale_store_close(store, true, NULL);
    put_file("s/.balefs/sessions.json", "{\"last\": 4294967295, \"uncertain\": []}");
    refused("s", BALE_STORE_WRITE, BALE_E_TOOBIG,
            "%s/s: has no session numbers left: copy its files to a new store");
    scratch_remove();
}

int main(void)
{
    sessions_begin();
    clean_end();
    first_of_all();
    restored();
    no_room();
    killed_in_this_boot();
    killed_and_the_sync_fails();
    another_boot();
    another_mount_is_another_cache();
    unknown_boot_is_never_ours();
    tainted();
    close_fails_to_sync();
    hostile_lists();
    return check_result();
}
