/* Where syncfs() is not believed: what an fsync could not sync is tried again by the next one, and
 * the session is not vouched for any more. */
#include "fs/fuse/unsynced.h"

#include <sys/syscall.h>

#include "tests/unit/fs/store/scratch.h"

static ino_t failing; /* the inode whose fsync fails */
static int failure;

int fsync(int fd)
{
    struct stat st;

    if (failing && fstat(fd, &st) == 0 && st.st_ino == failing) {
        errno = failure;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

/* The node of a new directory, which is to be synced. */
static struct bale_node *make_dir(struct bale_mount *mount, const char *path)
{
    struct bale_node *node;
    struct stat st;
    int fd;

    REQUIRE(mkdir(at(path), 0755) == 0 &&
            bale_node_lookup(mount->nodes, bale_nodes_root(mount->nodes), strrchr(path, '/') + 1,
                             &node, &fd, &st) == 0);
    bale_node_remember(mount->nodes, node);
    bale_node_unpin(mount->nodes, node);
    bale_unsynced_add(mount, node);
    return node;
}

static void mount_begin(struct bale_mount *mount)
{
    scratch_make();
    store_make("s");
    bale_store_platform.believes_syncfs = -1;
    mount->store = store_open("s", BALE_STORE_WRITE);
    REQUIRE(bale_nodes_create(bale_store_root_fd(mount->store), NULL, 16, &mount->nodes) == 0);
    REQUIRE(bale_unsynced_create(mount) == BALE_OK && mount->unsynced);
}

/* result: of closing the store. */
static void mount_end(struct bale_mount *mount, int result)
{
    bale_unsynced_destroy(mount);
    bale_nodes_destroy(mount->nodes);
    CHECK_EQ(bale_store_close(mount->store, true, NULL), result);
    scratch_remove();
}

static void fails_until_synced(void)
{
    struct bale_mount mount = {0};

    mount_begin(&mount);
    make_dir(&mount, "s/good");
    failing = make_dir(&mount, "s/bad")->ino;
    failure = EIO;
    CHECK_EQ(bale_unsynced_sync_directories(&mount), EIO);
    CHECK_EQ(bale_unsynced_sync_directories(&mount), EIO);
    CHECK_EQ(bale_unsynced_sync(&mount), BALE_E_IO);
    failing = 0;
    CHECK_EQ(bale_unsynced_sync_directories(&mount), 0);
    mount_end(&mount, BALE_E_IO);
}

/* Nobody can sync it, so it must not fail the syncs of others for good. */
static void not_permitted(void)
{
    struct bale_mount mount = {0};

    mount_begin(&mount);
    failing = make_dir(&mount, "s/closed")->ino;
    failure = EACCES;
    CHECK_EQ(bale_unsynced_sync_directories(&mount), EACCES);
    CHECK_EQ(bale_unsynced_sync_directories(&mount), 0);
    failing = 0;
    mount_end(&mount, BALE_E_IO);
}

int main(void)
{
    fails_until_synced();
    not_permitted();
    return check_result();
}
