/* From a file or pipe to a stream (FORMAT.md section 11) and back, in bounded memory, compressed
 * side by side. */
#ifndef BALE_TOOLS_PACK_H
#define BALE_TOOLS_PACK_H

#include <sys/stat.h>
#include <sys/types.h>

#include "kernels/engine.h"
#include "tools/progress.h"
#include "tools/target.h"

/* How and with what. */
struct bale_pack {
    struct bale_engine *engine;
    unsigned threads; /* of the engine */
    struct bale_setting setting;
    uint32_t extent;
    uint8_t chunk_log2;
    struct bale_progress progress;
};

struct bale_source {
    int fd;
    const char *name; /* for messages */
    struct stat st;
    bool is_file; /* opened by name, so that we may move about in it */
};

/* What went through. */
struct bale_packed {
    uint64_t raw;
    uint64_t stored;
};

/* Compresses source to one stream. False, after a message, if that failed. */
bool bale_pack(struct bale_pack *pack, const struct bale_source *source, struct bale_target *target,
               struct bale_packed *packed);

/* Decompresses source, to nowhere if target is NULL. After a failure what came before the damage
 * has been written. */
bool bale_unpack(struct bale_pack *pack, const struct bale_source *source,
                 struct bale_target *target, struct bale_packed *packed);

/* Reads until length bytes are there or the input ends; the count, or -1 after a message. */
ssize_t bale_source_read(const struct bale_source *source, void *bytes, size_t length);

/* The line on the terminal: how much of the source has been read. */
void bale_pack_progress(struct bale_pack *pack, const struct bale_source *source, uint64_t read,
                        const struct bale_packed *packed);

#endif
