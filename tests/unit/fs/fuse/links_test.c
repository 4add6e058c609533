/* However long the removal of one of several names takes, the kernel does not get the new number of
 * links from another request before it gets the reply to the removal. */
#include "fs/fuse/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/fuse/names.h"
#include "kernels/base/clock.h"
#include "tests/check.h"

#define LONG_AGO_NS (10 * BALE_SECOND_NS)

static struct bale_mount mount;
static struct bale_node *node; /* of a symbolic link, which needs no volume */

/* Whether the kernel may store the attributes that a request gets now. */
static bool kernel_stores(void)
{
    struct stat st;
    double timeout;
    int fd;

    REQUIRE(bale_node_pin(mount.nodes, node, &fd) == 0);
    CHECK_EQ(bale_attr_get(&mount, node, fd, NULL, &st, &timeout), 0);
    bale_node_unpin(mount.nodes, node);
    return !(node->marks & BALE_MARK_FEWER);
}

/* The removal has begun long ago, and the reply is still to come. */
int unlinkat(int dir, const char *name, int flags)
{
    int rc = (int)syscall(SYS_unlinkat, dir, name, flags), e = errno;

    atomic_store(&mount.fewer_ns, bale_clock_ns() - LONG_AGO_NS);
    CHECK(!kernel_stores());
    errno = e;
    return rc;
}

/* e: the result. Afterwards the mark lasts for a while, and no longer. */
static void remove_name(int flags, int e)
{
    CHECK_EQ(bale_name_remove(&mount, bale_nodes_root(mount.nodes), "b", flags), e);
    CHECK(!kernel_stores());
    atomic_store(&mount.fewer_ns, bale_clock_ns() - LONG_AGO_NS);
    CHECK(kernel_stores());
}

int main(void)
{
    char directory[] = "/tmp/bale-links-test-XXXXXX";
    struct stat st;
    int fd;

    REQUIRE(mkdtemp(directory));
    int root = open(directory, O_PATH | O_DIRECTORY);
    REQUIRE(root >= 0 && symlinkat("nowhere", root, "a") == 0 &&
            linkat(root, "a", root, "b", 0) == 0);
    pthread_mutex_init(&mount.opened_lock, NULL);
    REQUIRE(bale_nodes_create(root, NULL, 16, &mount.nodes) == 0);
    REQUIRE(bale_node_lookup(mount.nodes, bale_nodes_root(mount.nodes), "a", &node, &fd, &st) == 0);
    bale_node_remember(mount.nodes, node);
    bale_node_unpin(mount.nodes, node);
    CHECK(kernel_stores());
    remove_name(AT_REMOVEDIR, ENOTDIR);
    remove_name(0, 0);
    bale_nodes_destroy(mount.nodes);
    syscall(SYS_unlinkat, root, "a", 0);
    close(root);
    rmdir(directory);
    return check_result();
}
