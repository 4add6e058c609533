/* What a request names and changes, from its bytes as the kernel wrote them. */
#ifndef BALE_FS_FUSE_EFFECTS_H
#define BALE_FS_FUSE_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of nodes, 0: none. */
struct bale_effects {
    uint64_t nodes[2]; /* that its handler uses */
    uint64_t
        within[2]; /* that must be as the requests before it left them: directories of names, or
                             the file that it writes to or whose attributes it changes */
    bool changes;  /* it changes these */
    const char *names[2]; /* in within; NULL: none, or it cannot be read */
    bool files[2];        /* it uses the open files of these nodes */
    uint64_t directory;   /* the handle of the open directory that it uses, or 0 */
};
/* request: at least a header. */
struct bale_effects bale_effects_of(const void *request, size_t size);

/* Whether the request may be answered while its handler goes on. Such a handler needs nothing of
 * the caller's any more but its nodes. When its own reply fails it undoes what it did, unless that
 * was to write data. */
bool bale_effects_may_come_late(const void *request);

#endif
