/* Converts a file or pipe to a stream (FORMAT.md section 11) and back, in bounded memory, with
 * several frames at a time. */
#ifndef BALE_TOOLS_STREAM_PACK_H
#define BALE_TOOLS_STREAM_PACK_H

#include <sys/stat.h>
#include <sys/types.h>

#include "kernels/engine/ring.h"
#include "kernels/engine/staging.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"

enum { BALE_PACK_TOGETHER = 64 }; /* entries that are submitted together */

/* The parameters and the engine of a conversion. */
struct bale_pack {
    struct bale_engine *engine;
    unsigned threads; /* of the engine */
    /* memory for entries if a GPU may be used, or NULL */
    struct bale_staging *staging;
    bool lost;          /* the GPU does not answer and may still write to the staging memory */
    uint64_t gpu_after; /* raw bytes until a GPU is opened; 0: it was opened, or none is wanted */
    struct bale_setting setting;
    uint32_t extent;
    uint8_t chunk_log2;
    struct bale_progress progress;
};

struct bale_source {
    int fd;
    const char *name; /* for messages */
    struct stat st;
    bool is_file; /* opened by name, so that it can seek */
};

/* What was converted. */
struct bale_packed {
    uint64_t raw; /* bytes */
    uint64_t stored;
    double bound; /* elements were rounded within this error; 0: everything is as it was */
};

/* Compresses source to one stream. False after a message. */
bool bale_pack(struct bale_pack *pack, const struct bale_source *source, struct bale_output *output,
               struct bale_packed *packed);

/* Decompresses source, to nowhere if output is NULL. After a failure everything before the damage
 * has been written. */
bool bale_unpack(struct bale_pack *pack, const struct bale_source *source,
                 struct bale_output *output, struct bale_packed *packed);

/* Creates a ring with as many entries as the memory, and the threads or a GPU, can use. */
int bale_pack_lanes(struct bale_pack *pack, size_t raw, size_t stored, struct bale_ring **ring);

/* True, after a message, if a GPU may still write to the item's memory. The staging memory is then
 * not used again. */
bool bale_pack_is_lost(struct bale_pack *pack, const struct bale_source *source,
                       const struct bale_item *item);

/* Counts converted bytes, and opens a GPU when enough have been converted. */
void bale_pack_count(struct bale_pack *pack, uint64_t raw);

/* Reads until length bytes are there or the input ends. Returns the count, or -1 after a message.
 */
ssize_t bale_source_read(const struct bale_source *source, void *bytes, size_t length);

/* Updates the progress line: how much of the source has been read. */
void bale_pack_progress(struct bale_pack *pack, const struct bale_source *source, uint64_t read,
                        const struct bale_packed *packed);

#endif
