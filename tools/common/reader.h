/* Reading a store's containers without a mount: for stat, get, inspect and fsck. */
#ifndef BALE_TOOLS_COMMON_READER_H
#define BALE_TOOLS_COMMON_READER_H

#include "format/reason.h"
#include "fs/container/container.h"
#include "fs/store/store.h"

struct bale_reader {
    struct bale_store *store;
    struct bale_container_config config;
    struct bale_container_attr defaults;
};

/* top: the store. why as bale_store_open. */
int bale_reader_open(const char *top, enum bale_store_access how, struct bale_reader *reader,
                     struct bale_reason *why);
void bale_reader_close(struct bale_reader *reader); /* zeroed is fine */

/* Opens the regular file below, relative to the store, for reading; never follows a link, crosses
 * to another file system, opens what is no regular file, or moves the access time where that can be
 * helped. why: as "WHAT: WHAT TO DO". From any thread. */
int bale_reader_open_file(const struct bale_reader *reader, const char *below, int *fd,
                          struct bale_reason *why);

/* The same for a path below the directory dir. */
int bale_reader_open_below(int dir, const char *path_below, int *fd, struct bale_reason *why);

/* Opens the container in fd (owned from here on, also on failure). why as above. From any
 * thread. */
int bale_reader_open_container(const struct bale_reader *reader, int fd,
                               struct bale_container **container, struct bale_reason *why);

/* Both. */
int bale_reader_open_container_at(const struct bale_reader *reader, const char *below,
                                  struct bale_container **container, struct bale_reason *why);

#endif
