/* The codecs, and one thread's working memory for all of them. */
#ifndef BALE_KERNELS_FRAME_REGISTRY_H
#define BALE_KERNELS_FRAME_REGISTRY_H

#include "format/limits.h"
#include "kernels/codec/codec.h"

/* The codec of an id, or NULL; auto is no codec. store and zero have no callbacks: the frame layer
 * does them. */
const struct bale_codec *bale_codec_find(uint8_t id);

/* Working memory for every codec and for whole frames. One thread at a time uses it. It is
 * allocated once, except the tables of frames with many chunks; about 1.5 MiB after the first use
 * of zstd. */
struct bale_scratch;
int bale_scratch_create(struct bale_scratch **scratch);
void bale_scratch_destroy(struct bale_scratch *scratch);

/* Memory for the caller, which no function here uses: of BALE_SCRATCH_ROOM bytes each, for what is
 * read of a frame and for a chunk that is decoded. The largest chunks of float fit; those of cusz,
 * of up to 1 MiB, may not. Pages that were never written take no memory. */
enum { BALE_SCRATCH_ROOM = 1 << 18 };
uint8_t *bale_scratch_stored_room(struct bale_scratch *scratch);
uint8_t *bale_scratch_raw_room(struct bale_scratch *scratch);

/* What the codec of this id, auto included, made with its create. The scratch keeps it. */
void *bale_scratch_work(const struct bale_scratch *scratch, uint8_t id);

#endif
