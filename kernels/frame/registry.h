/* The codecs, and one thread's working memory for all of them. */
#ifndef BALE_KERNELS_FRAME_REGISTRY_H
#define BALE_KERNELS_FRAME_REGISTRY_H

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

/* What the codec of this id, auto included, made with its create. The scratch keeps it. */
void *bale_scratch_work(const struct bale_scratch *scratch, uint8_t id);

#endif
