/* Reads the containers of a store without a mount. */
#ifndef BALE_TOOLS_COMMON_READER_H
#define BALE_TOOLS_COMMON_READER_H

#include "format/reason.h"
#include "fs/container/container.h"
#include "fs/store/store.h"
#include "tools/balefs.h"

struct bale_reader {
    struct bale_store *store;
    struct bale_container_config config;
    struct bale_container_attr defaults;
};

/* Parses the argument of the option --root of a command. 0, or the exit code. */
int bale_root_take(const struct bale_command *command, enum bale_root_pick *pick);

/* Opens the store top; why is set as by bale_store_open. Warns of damage to the store's own files
 * that does not matter for reading (bale_store_notice). */
int bale_reader_open(const char *top, enum bale_store_access how, struct bale_reader *reader,
                     struct bale_reason *why);
/* The same without these warnings. */
int bale_reader_open_silently(const char *top, enum bale_store_access how,
                              struct bale_reader *reader, struct bale_reason *why);
void bale_reader_close(struct bale_reader *reader); /* a zeroed struct is allowed */

/* Opens the regular file below, a path relative to the store, for reading; also for writing if
 * reader->config.writable is set, which only repairs do. Never follows a link, never crosses to
 * another file system, and keeps the access time if possible. why: "WHAT: WHAT TO DO". Any thread
 * may call it. */
int bale_reader_open_file(const struct bale_reader *reader, const char *below, int *fd,
                          struct bale_reason *why);

/* The same for a path below the directory dir. */
int bale_reader_open_below(int dir, const char *path_below, int *fd, struct bale_reason *why);

/* Opens the container in fd, which it takes over, also on failure. If it looks damaged while
 * somebody writes to it, opens it at its newer root. why as above. Any thread may call it. */
int bale_reader_open_container(const struct bale_reader *reader, int fd,
                               struct bale_container **container, struct bale_reason *why);

/* The generation of the newest root of the container in fd, as the file system's server has it now;
 * 0: there is none. False: it cannot be read. */
bool bale_reader_newest(int fd, uint64_t *generation);

/* Opens the file and the container in it. */
int bale_reader_open_container_at(const struct bale_reader *reader, const char *below,
                                  struct bale_container **container, struct bale_reason *why);

#endif
