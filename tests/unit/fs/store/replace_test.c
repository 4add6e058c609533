/* Replacing a store's small files, and reading them meanwhile. */
#include "tests/unit/fs/store/scratch.h"

#include "fs/store/file.h"

/* A replacement is made in the file that the one before has left, so it needs no space. */
static void replaced_in_place(void)
{
    ino_t first, second;
    struct stat st;
    int dir;

    REQUIRE(mkdir(at("files"), 0700) == 0);
    dir = open(at("files"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(dir >= 0);
    CHECK_EQ(bale_store_file_replace(dir, "a", "one", 3, true), 0);
    REQUIRE(stat(at("files/a"), &st) == 0);
    first = st.st_ino;
    REQUIRE(stat(at("files/a.new"), &st) == 0);
    second = st.st_ino;
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(bale_store_file_replace(dir, "a", i % 2 ? "two" : "three", i % 2 ? 3 : 5, true),
                 0);
        CHECK_EQ_STR(get_file("files/a"), i % 2 ? "two" : "three");
        REQUIRE(stat(at("files/a"), &st) == 0);
        CHECK(st.st_ino == (i % 2 ? first : second) && (st.st_mode & 0777) == 0644);
    }
    /* What has another name may be anybody's. */
    REQUIRE(link(at("files/a.new"), at("files/b")) == 0);
    CHECK_EQ(bale_store_file_replace(dir, "a", "four", 4, true), 0);
    CHECK_EQ_STR(get_file("files/a"), "four");
    CHECK_EQ_STR(get_file("files/b"), "three");
    CHECK_EQ(bale_store_file_replace(dir, "c", "one", 3, false), 0);
    CHECK(access(at("files/c.new"), F_OK) < 0);
    close(dir);
}

static int replaced; /* the directory of read_while_replaced */

static void replace_often(void)
{
    char text[3000];

    for (int i = 0; i < 10000; i++) {
        int length = snprintf(text, sizeof text, "{\"a\": %d, \"pad\": \"%*d\", \"b\": %d}", i,
                              100 + i / 2 % 2 * 2000, i, i); /* two files take turns */

        if (!CHECK_EQ(bale_store_file_replace(replaced, "d", text, (size_t)length, true), 0))
            break;
    }
    CHECK_EQ(bale_store_file_replace(replaced, "d", "{\"end\": true}", 13, true), 0);
}

static void read_often(void)
{
    bool end = false;

    while (!end) {
        json_t *json;
        int err = bale_store_file_read_json(replaced, "", "d", &json, &why);

        if (err == BALE_E_NOENT)
            continue;
        if (!CHECK_EQ(err, 0)) {
            fprintf(stderr, "%s\n", why.text);
            break;
        }
        end = json_object_get(json, "end") != NULL;
        CHECK_EQ(json_integer_value(json_object_get(json, "a")),
                 json_integer_value(json_object_get(json, "b")));
        json_decref(json);
    }
}

/* The file that a reader has opened may be the place of the next contents before it is read. */
static void read_while_replaced(void)
{
    static void (*const parts[])(void) = {replace_often, read_often, read_often, read_often};
    char path[] = "/dev/shm/balefs-store-XXXXXX"; /* where a sync takes no time */
    pid_t pids[4];

    replaced = open(mkdtemp(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(replaced >= 0);
    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        REQUIRE(pids[i] >= 0);
        if (pids[i] == 0) {
            in_child(0, parts[i]);
            _exit(atomic_load(&check_failures) ? EXIT_FAILURE : EXIT_SUCCESS);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status = 0;

        CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    }
    close(replaced);
    nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file with fewer bytes than its attributes said has others than were looked at. Those of sysfs
 * always have fewer. */
static void read_short(void)
{
    int dir = open("/sys/kernel", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t length;
    char *text;

    if (dir >= 0 && faccessat(dir, "uevent_seqnum", R_OK, 0) == 0) {
        CHECK(bale_store_file_read(dir, "uevent_seqnum", 1 << 16, &text, &length) != 0);
        CHECK_EQ(errno, EAGAIN);
        CHECK(!text);
    }
    if (dir >= 0)
        close(dir);
}

int main(void)
{
    scratch_make();
    replaced_in_place();
    read_short();
    read_while_replaced();
    scratch_remove();
    return check_result();
}
