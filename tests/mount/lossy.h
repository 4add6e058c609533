/* A file system that loses what was not synced when it is killed: the one below for the tests of
 * what a store on a network file system is promised.
 *
 * Contents are kept in memory until an fsync of the file, names until an fsync of their directory,
 * and attributes until an fsync of the inode; syncfs(2) reaches no file system in user space. What
 * is durable lies in an ordinary directory: the contents of inode N in the file N, names and
 * attributes in the file "journal". A rename is durable in both directories or in none. Space
 * cannot be reserved (no fallocate), as on MooseFS; a file that was made with O_TMPFILE is removed
 * when it is closed, even if it has got a name, as on JuiceFS 1.4. One thread. */
#ifndef BALE_TESTS_MOUNT_LOSSY_H
#define BALE_TESTS_MOUNT_LOSSY_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { LOSSY_PAGE = 4096, LOSSY_ROOT = 1 };

struct lossy_xattr {
    char *name;
    uint8_t *value;
    size_t size;
    struct lossy_xattr *next;
};

/* Contents: the pages here cover those of the durable file, of which only the beginning counts. */
struct lossy_data {
    int fd; /* the durable file; -1: there is none */
    uint64_t size, durable;
    uint8_t **pages; /* NULL: as in the durable file */
    size_t count;
};

struct lossy_entry {
    char *name;
    struct lossy_node *node;
    struct lossy_entry *next;
};

struct lossy_node {
    uint64_t id;
    struct stat st; /* without number, links, size and blocks */
    char *target;
    struct lossy_xattr *xattrs;
    struct lossy_data data;
    struct lossy_entry *entries; /* of a directory */
    struct lossy_node *parent;   /* of a directory */
    unsigned links;              /* names in memory */
    uint64_t lookups;
    bool nameless; /* made by O_TMPFILE and not closed since */
    bool known;    /* the journal has its attributes */
    bool changed;  /* a directory's entries are not as in the journal */
    struct lossy_node *next;
};

/* ---- lossy.c ---- */

extern struct fuse_session *lossy_session;
extern struct lossy_node *lossy_nodes; /* all of them */
struct lossy_node *lossy_node_of(fuse_ino_t ino);
struct lossy_node *lossy_node_make(uint64_t id, mode_t mode);
void lossy_node_free(struct lossy_node *node); /* also takes it off the list */
void lossy_stat(const struct lossy_node *node, struct stat *st);
/* Counts a lookup, and replies. fi: also opened; or NULL. */
void lossy_reply_entry(fuse_req_t req, struct lossy_node *node, struct fuse_file_info *fi);
void lossy_touch(struct lossy_node *node, bool modified);
/* Whether the last change becomes durable at once, without a sync. */
bool lossy_keeps(void);

/* ---- lossy_disk.c: what is durable. A failure ends the program. ---- */

/* Reads the journal, and removes what no name leads to. */
void lossy_disk_open(const char *path);
void lossy_disk_attributes(struct lossy_node *node);
/* Writes a directory's entries; after a rename between directories, those of all changed
 * directories. */
void lossy_disk_entries(struct lossy_node *dir);
void lossy_disk_renamed(void);
/* A descriptor for the contents of a node. If there are none: with make, a new file; else -1. */
int lossy_disk_contents(uint64_t id, bool make);

/* ---- lossy_data.c ---- */

void lossy_data_read(const struct lossy_node *node, uint8_t *to, uint64_t at, size_t length);
void lossy_data_write(struct lossy_node *node, const uint8_t *from, uint64_t at, size_t length);
void lossy_data_truncate(struct lossy_node *node, uint64_t size);
void lossy_data_sync(struct lossy_node *node);
void lossy_data_free(struct lossy_data *data);
void lossy_release(void); /* replies to the fsync that is held, if one is */
void lossy_data_ops(struct fuse_lowlevel_ops *ops);

/* ---- lossy_names.c, lossy_inodes.c ---- */

void lossy_entry_add(struct lossy_node *dir, const char *name, struct lossy_node *node);
struct lossy_entry **lossy_entry_find(struct lossy_node *dir, const char *name);
void lossy_entry_remove(struct lossy_node *dir, struct lossy_entry **slot);
/* Whether the node has the name in LOSSY_VANISH, a variable of the environment. Then another
 * machine removes it just now, and the fsync fails as on GlusterFS. */
bool lossy_vanish(struct lossy_node *node);
/* Whether the node has the name in LOSSY_HOLD, and no name "release" has been made yet. Then its
 * fsync waits until that is made, after the word "held" on standard output. */
bool lossy_is_held(const struct lossy_node *node);
void lossy_names_ops(struct fuse_lowlevel_ops *ops);
void lossy_inodes_ops(struct fuse_lowlevel_ops *ops);
void lossy_xattr_set(struct lossy_node *node, const char *name, const void *value, size_t size);

#endif
