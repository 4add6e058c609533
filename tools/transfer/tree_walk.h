/* A walk down a tree by descriptors: no name is followed out of it. */
#ifndef BALE_TOOLS_TRANSFER_TREE_WALK_H
#define BALE_TOOLS_TRANSFER_TREE_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

struct bale_tree_walk;

/* A directory, counted: what is done in it by other threads may take longer than the walk. */
struct bale_tree_dir {
    struct bale_tree_walk *walk;
    struct bale_tree_dir *parent;
    atomic_uint refs;
    int from;       /* the directory, open for reading */
    int to;         /* the walker's own, or -1; closed at the end */
    struct stat st; /* of from */
    char path[];    /* below the top; "" for the top itself */
};

struct bale_tree_walk {
    /* A directory that was found; name is "" for the top. False: it is passed over. */
    bool (*enter)(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name);
    /* Anything else. */
    void (*entry)(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name,
                  const struct stat *st);
    /* Everything in it is done: at the last reference, from any thread. */
    void (*leave)(struct bale_tree_walk *walk, struct bale_tree_dir *dir);
    /* path below the top cannot be read. */
    void (*fail)(struct bale_tree_walk *walk, const char *path, int e);
    bool one_device;    /* other file systems are passed over */
    const char *hidden; /* a name that is passed over at the top, or NULL */
    const atomic_bool *stop;
};

/* from: open for reading; both are taken over. Names come in byte order. */
void bale_tree_walk_tree(struct bale_tree_walk *walk, int from, int to, const char *path);

struct bale_tree_dir *bale_tree_dir_ref(struct bale_tree_dir *dir);
void bale_tree_dir_unref(struct bale_tree_dir *dir);

/* "PATH/NAME" below the top, to be freed; NULL: no memory. */
char *bale_tree_dir_path(const struct bale_tree_dir *dir, const char *name);

#endif
