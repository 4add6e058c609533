/* An inode table with room for few descriptors, of a new directory in which the program works. */
#ifndef BALE_TESTS_UNIT_FS_INODE_NODES_H
#define BALE_TESTS_UNIT_FS_INODE_NODES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/inode/node.h"
#include "tests/check.h"

#define BUDGET 4

static char top[32];
static struct bale_nodes *nodes;

static inline int make(const char *name)
{
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);

    return fd < 0 ? -1 : close(fd);
}

/* The node of name in dir, referenced and known to nobody else. */
static inline struct bale_node *find(struct bale_node *dir, const char *name)
{
    struct bale_node *node;
    struct stat st;
    int fd;

    if (bale_node_lookup(nodes, dir, name, &node, &fd, &st) != 0)
        return NULL;
    bale_node_remember(nodes, node);
    bale_node_unpin(nodes, node);
    return node;
}

/* Whether the node can be reached, and is that inode. */
static inline int reach(struct bale_node *node, ino_t ino)
{
    struct stat st;
    int fd;
    int err = bale_node_pin(nodes, node, &fd);

    if (err)
        return err;
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ_U(st.st_ino, ino);
    bale_node_unpin(nodes, node);
    return 0;
}

static inline unsigned open_descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static inline ino_t ino_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static inline void evict_all(void)
{
    while (bale_nodes_evict(nodes)) {
    }
}

/* Makes the directory and the table; handles: of numbers that last. False: there are none here, and
 * the table was not made. */
static inline bool nodes_begin(bool handles)
{
    static const uint8_t key[BALE_HANDLE_KEY] = {1, 2, 3};

    snprintf(top, sizeof top, "/tmp/bale-node-test.XXXXXX");
    REQUIRE(mkdtemp(top) != NULL);
    REQUIRE(chdir(top) == 0);
    CHECK_EQ(mkdir(".balefs", 0700), 0);
    int fd = open(".", O_PATH | O_DIRECTORY);
    REQUIRE(bale_nodes_create(fd, NULL, BUDGET, &nodes) == 0);
    close(fd);
    return !handles || bale_nodes_use_handles(nodes, key);
}

static inline void nodes_end(void)
{
    bale_nodes_destroy(nodes);
    CHECK_EQ(rmdir(".balefs"), 0);
    CHECK_EQ(chdir("/"), 0);
    CHECK_EQ(rmdir(top), 0);
}

#endif
