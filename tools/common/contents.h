/* Reads the contents of a container past the damage in it, for commands that read a store without a
 * mount. */
#ifndef BALE_TOOLS_COMMON_CONTENTS_H
#define BALE_TOOLS_COMMON_CONTENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "fs/base/pool.h"
#include "fs/container/container.h"
#include "tools/common/reader.h"

#define BALE_PIECE (1u << 20) /* the most bytes that are read at once */

/* Ranges of a file that cannot be read. Any thread may add one. */
struct bale_damage {
    pthread_mutex_t lock;
    struct bale_fault *faults;
    size_t count, room;
    bool overflow; /* memory ran out, so that some ranges are not listed */
};

void bale_damage_init(struct bale_damage *damage);
void bale_damage_clear(struct bale_damage *damage);
bool bale_damage_any(struct bale_damage *damage);
/* Prints a message for each range, where ranges that touch are one: "PATH: bytes A to B are damaged
 * (WHAT)END". */
void bale_damage_report(struct bale_damage *damage, const char *path, const char *end);

/* A file of the store, open for reading. If a mount writes to the container meanwhile, it shows the
 * commit that it was opened at. If that commit is overwritten, reading finds damage;
 * bale_contents_moved tells this from true damage. */
struct bale_contents {
    const struct bale_reader *reader;
    struct bale_container *container;
    struct bale_container_attr attr;
};

/* Takes over fd, also on failure. why is set as by bale_reader_open_container. */
int bale_contents_open(const struct bale_reader *reader, int fd, struct bale_contents *contents,
                       struct bale_reason *why);
void bale_contents_close(struct bale_contents *contents); /* a zeroed struct is allowed */

/* A message if the container did not open at a whole newest root, else NULL. *lost: the last commit
 * is not shown, and no crash that the store knows of explains that. */
const char *bale_contents_recovery(const struct bale_contents *contents, bool *lost);

/* True if the container has a newer commit than the one that was opened. */
bool bale_contents_moved(const struct bale_contents *contents);

/* Finds the first data at or after at: [*from, *to), at most BALE_PIECE bytes. False: there is
 * none. If a part of the index is lost, only the first extent of the range that it maps counts as
 * data, because the range may be all of a large sparse file; reading that extent notes the whole
 * range as lost. */
bool bale_contents_next(const struct bale_contents *contents, uint64_t at, uint64_t *from,
                        uint64_t *to);

/* Reads [from, from + length) into raw. Holes become zeros, and so do bytes that cannot be read,
 * which are noted in damage. 0, or BALE_E_NOMEM. Any thread may call it. */
int bale_contents_read(const struct bale_contents *contents, struct bale_scratch *scratch,
                       uint64_t from, size_t length, uint8_t *raw, struct bale_damage *damage);

/* Reads the whole file in order, ahead with the pool's threads, and passes the pieces to take on
 * the caller's thread, without a lock. A hole is a piece whose data is NULL; data is valid only
 * during the call. take returns 0 to go on; any other value ends the reading and is returned. take
 * may be NULL. A thread of the pool must not call this. */
typedef int bale_contents_take(void *arg, uint64_t from, const uint8_t *data, uint64_t length);
int bale_contents_stream(const struct bale_contents *contents, struct bale_pool *pool,
                         unsigned threads, struct bale_damage *damage, bale_contents_take *take,
                         void *arg);

#endif
