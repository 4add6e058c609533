/* Codec settings: their text, and the choice that an open one leaves to the bytes. format/codecs.h
 * has the struct, and which settings are valid. */
#ifndef BALE_KERNELS_FRAME_SETTING_H
#define BALE_KERNELS_FRAME_SETTING_H

#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/reason.h"

struct bale_scratch;

/* Reads "NAME", "NAME:key=value,..." or "zstd:3". BALE_E_INVALID: why (a full sentence without a
 * newline, may be NULL) says what is wrong and what would be right. */
int bale_setting_parse(const char *text, struct bale_setting *setting, struct bale_reason *why);

/* The same for callers that see whole arrays: also takes a lossy one's rel=E without range=. Then
 * *relative is E, else 0, and the setting is valid after bale_setting_set_range, which sets what
 * range=LOW:HIGH does. BALE_E_INVALID of that: no array can have such a bound. */
int bale_setting_parse_relative(const char *text, struct bale_setting *setting, double *relative,
                                struct bale_reason *why);
int bale_setting_set_range(struct bale_setting *setting, double relative, double low, double high,
                           struct bale_reason *why);

/* Writes the shortest text that parses to the same setting ("zstd:1", "auto"); size at least
 * BALE_SETTING_TEXT. */
#define BALE_SETTING_TEXT 192
void bale_setting_print(struct bale_setting setting, char *text, size_t size);

/* The option's values in words, as "-7 to 19 without 0" or "ratio or speed"; size at least
 * 2 x BALE_SETTING_TEXT. */
void bale_option_explain(const struct bale_option *option, char *text, size_t size);

/* The codec with its options in short: "lz4", "zstd[:level=N]", "auto[:for=ratio|speed]",
 * "gpulz[:OPTIONS]"; size at least BALE_SETTING_TEXT. */
void bale_codec_explain(const struct bale_codec_about *codec, char *text, size_t size);

/* Chooses what an open setting leaves open: a pure function of the raw bytes and of the size of the
 * frame's chunks. The result is not open, and its codec takes such chunks. A setting that is not
 * open comes back unchanged. */
struct bale_setting bale_setting_choose(struct bale_scratch *scratch, struct bale_setting setting,
                                        const uint8_t *raw, uint32_t raw_length,
                                        uint8_t chunk_log2);

#endif
