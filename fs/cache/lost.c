#include "fs/cache/lost.h"

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"

#define NAMED_MOST 10000u /* about 1 MB */

struct lost_file {
    uint64_t inode;
    char name[];
};

void bale_lost_init(struct bale_lost_files *lost)
{
    pthread_mutex_init(&lost->lock, NULL);
}

void bale_lost_destroy(struct bale_lost_files *lost)
{
    tdestroy(lost->by_inode, free);
    pthread_mutex_destroy(&lost->lock);
}

static int compare_lost_files(const void *a, const void *b)
{
    uint64_t x = ((const struct lost_file *)a)->inode, y = ((const struct lost_file *)b)->inode;

    return x < y ? -1 : x > y;
}

/* Under lost->lock. False: there is no room. */
static bool remember(struct bale_lost_files *lost, uint64_t inode, const char *name)
{
    size_t size = strlen(name) + 1;
    struct lost_file *file =
        atomic_load(&lost->count) < NAMED_MOST ? malloc(sizeof *file + size) : NULL;

    if (!file)
        return false;
    file->inode = inode;
    memcpy(file->name, name, size);
    struct lost_file **found = tsearch(file, &lost->by_inode, compare_lost_files);
    if (!found || *found != file)
        free(file);
    else
        atomic_fetch_add(&lost->count, 1);
    return found;
}

void bale_lost_add(struct bale_lost_files *lost, uint64_t inode, const char *name, int err)
{
    pthread_mutex_lock(&lost->lock);
    if (lost->error == BALE_OK)
        lost->error = err;
    if (!remember(lost, inode, name))
        lost->unnamed++;
    pthread_mutex_unlock(&lost->lock);
}

void bale_lost_forget(struct bale_lost_files *lost, uint64_t inode)
{
    struct lost_file key = {.inode = inode};

    if (atomic_load(&lost->count) == 0)
        return;
    pthread_mutex_lock(&lost->lock);
    struct lost_file **found = tfind(&key, &lost->by_inode, compare_lost_files);
    if (found) {
        struct lost_file *file = *found;
        (void)tdelete(&key, &lost->by_inode, compare_lost_files);
        free(file);
        if (atomic_fetch_sub(&lost->count, 1) == 1 && lost->unnamed == 0)
            lost->error = BALE_OK;
    }
    pthread_mutex_unlock(&lost->lock);
}

int bale_lost_report(struct bale_lost_files *lost, char *name, size_t size, size_t *count)
{
    pthread_mutex_lock(&lost->lock);
    int err = lost->error;
    *count = atomic_load(&lost->count) + lost->unnamed;
    /* The root of the tree. */
    struct lost_file **any = lost->by_inode;
    snprintf(name, size, "%s", any ? (*any)->name : "");
    pthread_mutex_unlock(&lost->lock);
    return err;
}
