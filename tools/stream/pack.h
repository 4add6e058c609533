/* From a file or pipe to a stream (FORMAT.md section 11) and back, in bounded memory, compressed
 * side by side. */
#ifndef BALE_TOOLS_STREAM_PACK_H
#define BALE_TOOLS_STREAM_PACK_H

#include <sys/stat.h>
#include <sys/types.h>

#include "kernels/engine/ring.h"
#include "kernels/engine/staging.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"

enum { BALE_PACK_TOGETHER = 64 }; /* entries that are submitted at a time */

/* How and with what. */
struct bale_pack {
    struct bale_engine *engine;
    unsigned threads; /* of the engine */
    /* Memory for entries, if there may be a GPU. */
    struct bale_staging *staging;
    bool lost;          /* the GPU does not answer, and may write to the staging yet */
    uint64_t gpu_after; /* raw bytes until a GPU is looked for; 0: one was, or none is to be */
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
bool bale_pack(struct bale_pack *pack, const struct bale_source *source, struct bale_output *output,
               struct bale_packed *packed);

/* Decompresses source, to nowhere if output is NULL. After a failure what came before the damage
 * has been written. */
bool bale_unpack(struct bale_pack *pack, const struct bale_source *source,
                 struct bale_output *output, struct bale_packed *packed);

/* Entries for as many frames as memory, and threads or a GPU, are good for. */
int bale_pack_lanes(struct bale_pack *pack, size_t raw, size_t stored, struct bale_ring **ring);

/* Whether a GPU may still write to the item's memory, after a message. What is staged is not used again. */
bool bale_pack_is_lost(struct bale_pack *pack, const struct bale_source *source,
                       const struct bale_item *item);

/* So many bytes more went through: looks for a GPU when it is time. */
void bale_pack_count(struct bale_pack *pack, uint64_t raw);

/* Reads until length bytes are there or the input ends; the count, or -1 after a message. */
ssize_t bale_source_read(const struct bale_source *source, void *bytes, size_t length);

/* The line on the terminal: how much of the source has been read. */
void bale_pack_progress(struct bale_pack *pack, const struct bale_source *source, uint64_t read,
                        const struct bale_packed *packed);

#endif
