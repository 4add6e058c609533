/* One file of the tree that is moved, with all its names; a directory or a special file as well. */
#ifndef BALE_TOOLS_TRANSFER_ORIGIN_H
#define BALE_TOOLS_TRANSFER_ORIGIN_H

#include <stdbool.h>
#include <sys/stat.h>

struct bale_scratch;
struct bale_transfer;
struct bale_tree_dir;

struct bale_origin_name {
    struct bale_origin_name *next;
    struct bale_tree_dir *dir; /* a reference */
    char name[];
};

/* One thread at a time. */
struct bale_origin {
    struct bale_origin *next;
    struct stat st; /* before it was copied */
    struct bale_origin_name *names;
    unsigned count;
};

struct bale_origin *bale_origin_create(const struct stat *st); /* NULL: no memory */
bool bale_origin_add(struct bale_origin *origin, struct bale_tree_dir *dir, const char *name);
/* Gives up the names' references, which may end directories (bale_tree_walk.leave). */
void bale_origin_free(struct bale_origin *origin);

/* Removes all its names if it is as it was before it was copied, nobody else has it open, and its
 * copy has the same contents; else prints why not. The copy is durable. Any thread. */
void bale_origin_remove(struct bale_transfer *transfer, struct bale_origin *origin,
                        struct bale_scratch *scratch);

/* Gives a file its name again that a killed move had hidden before it would have removed it.
 * Returns the name that the file has. */
const char *bale_origin_unhide(int dir, const char *name);

#endif
