/* Walks down a tree by descriptors, so that no name leads out of it. */
#ifndef BALE_TOOLS_TRANSFER_TREE_WALK_H
#define BALE_TOOLS_TRANSFER_TREE_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

struct bale_tree_walk;

/* A directory, with a reference count: work of other threads in it may outlive the walk. */
struct bale_tree_dir {
    struct bale_tree_walk *walk;
    struct bale_tree_dir *parent;
    atomic_uint refs;
    int from; /* the directory, open for reading */
    int to;   /* set by the callbacks, or -1; closed at the end */
    /* For the callbacks. stays: it, or something in it, could not be copied or removed. synced: the
     * number of the last sync that reached to. */
    atomic_bool stays;
    atomic_uint synced;
    struct stat st; /* attributes of from */
    char path[];    /* below the top; "" for the top itself */
};

struct bale_tree_walk {
    /* Called on the walk's thread, without locks, for a directory that was found; name is "" for
     * the top. dir belongs to the walk; take a reference to keep it. False: skip it. */
    bool (*enter)(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name);
    /* Called in the same way for everything else. */
    void (*entry)(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name,
                  const struct stat *st);
    /* Called when the last reference goes, on any thread: all work in the directory is done. */
    void (*leave)(struct bale_tree_walk *walk, struct bale_tree_dir *dir);
    /* Called when path below the top cannot be read. */
    void (*fail)(struct bale_tree_walk *walk, const char *path, int e);
    bool one_device;    /* skip other file systems */
    const char *hidden; /* a name that is skipped at the top, or NULL */
    const atomic_bool *stop;
};

/* Walks the tree from, which is open for reading; takes over from and to. Names come in byte order.
 */
void bale_tree_walk_tree(struct bale_tree_walk *walk, int from, int to, const char *path);

struct bale_tree_dir *bale_tree_dir_ref(struct bale_tree_dir *dir);
void bale_tree_dir_unref(struct bale_tree_dir *dir);

/* "PATH/NAME" below the top, which the caller frees; NULL: no memory. */
char *bale_tree_dir_path(const struct bale_tree_dir *dir, const char *name);

#endif
