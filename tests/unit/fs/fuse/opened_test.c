/* A request that waits for a close and then changes the store does not hold up the close. */
#include "fs/fuse/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/shares.h"
#include "tests/support/volume.h"
#include "tests/unit/fs/fuse/stalled_xattr.h"

#define PATIENCE_MS 100000

static struct bale_mount mount;
static struct bale_node *node;

/* ---- The store, in which putting a capability back waits until it is let go ---- */

int setxattr(const char *path, const char *name, const void *in, size_t size, int flags)
{
    (void)path;
    (void)name;
    (void)in;
    (void)size;
    (void)flags;
    return 0;
}

/* ---- Requests ---- */

struct request {
    struct bale_use use;
    uint64_t files; /* open in the volume, when the request is called and the close has ended */
    int e;
    sem_t done;
};

/* Changes the store until the file that was closed is gone. */
static void change(struct bale_use *use, int e)
{
    struct request *request = (struct request *)use;
    struct bale_volume_stats stats;

    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        bale_volume_stats(mount.volume, &stats);
        if (stats.files == request->files)
            break;
        usleep(1000);
    }
    CHECK_EQ_U(stats.files, request->files);
    CHECK_EQ(e, request->e);
    if (!e)
        bale_use_end(&mount, node);
    sem_post(&request->done);
}

static void opened(struct bale_use *use, int e)
{
    CHECK_EQ(e, 0);
    sem_post(&((struct request *)use)->done);
}

static void begin(struct request *request)
{
    request->use.mount = &mount;
    request->use.node = node;
    sem_init(&request->done, 0, 0);
    bale_use_begin(&request->use);
}

/* Opens the file and closes it, with a capability to put back; meanwhile the request comes. */
static void close_beside(struct request *request)
{
    struct request first = {.use.ready = opened};

    begin(&first);
    sem_wait(&first.done);
    node->opened->capability = strdup("value");
    node->opened->capability_size = sizeof "value";
    bale_use_end(&mount, node);
    sem_wait(&entered);
    begin(request);
    sem_post(&go);
    sem_wait(&request->done);
}

/* ---- The mount ---- */

static void mount_begin(int root)
{
    struct bale_volume_options options = volume_options(64 << 20, 1);
    struct stat st;
    int fd;

    mount.defaults =
        (struct bale_container_attr){.extent = 16384, .setting = {.codec = BALE_CODEC_LZ4}};
    options.age_ms = VOLUME_NEVER_MS;
    pthread_mutex_init(&mount.opened_lock, NULL);
    pthread_cond_init(&mount.closed, NULL);
    pthread_cond_init(&mount.restored, NULL);
    REQUIRE(bale_volume_create(&options, &mount.volume) == BALE_OK);
    REQUIRE(bale_nodes_create(root, NULL, 16, &mount.nodes) == 0);
    REQUIRE(bale_shares_create(16, 0, getuid(), &mount.files) == BALE_OK);
    REQUIRE(bale_node_lookup(mount.nodes, bale_nodes_root(mount.nodes), "file", &node, &fd, &st) ==
            0);
    bale_node_remember(mount.nodes, node);
    bale_node_unpin(mount.nodes, node);
}

static void mount_end(void)
{
    bale_opened_close_all(&mount);
    CHECK_EQ_U(mount.after_close, 0);
    CHECK_EQ(bale_volume_destroy(mount.volume), BALE_OK);
    bale_nodes_destroy(mount.nodes);
    bale_shares_destroy(mount.files);
}

int main(void)
{
    char directory[] = "/tmp/bale-opened-test-XXXXXX";
    struct request absent = {
        .use = {.only_open = true, .changes = true, .ready = change}, .files = 0, .e = ENOENT};
    struct request again = {.use = {.changes = true, .ready = change}, .files = 1};

    REQUIRE(mkdtemp(directory));
    int root = open(directory, O_PATH | O_DIRECTORY);
    REQUIRE(root >= 0);
    int fd = openat(root, "file", O_CREAT | O_RDWR, 0600);
    REQUIRE(fd >= 0 && close(fd) == 0);
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    mount_begin(root);
    close_beside(&absent);
    close_beside(&again);
    mount_end();
    unlinkat(root, "file", 0);
    close(root);
    rmdir(directory);
    return check_result();
}
