/* The codecs and their parameters (FORMAT.md section 7). The list below is the only one: the frame
 * and root checks, the registry, the settings, the CUDA engine, the build and the tests read it. */
#ifndef BALE_FORMAT_CODECS_H
#define BALE_FORMAT_CODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/field.h"
#include "format/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line for each codec, in the order in which messages name them: those that a device does too,
 * and all.
 *
 *     BUILT_IN(name, NAME, id, frame)                  the frame layer does it
 *     CODEC(name, NAME, id, frame, rank, closed, most, speed, chunk) kernels/name/ has its code
 *
 * frame   the parameters p (a uint16_t) that a frame may have. A setting may have those that its
 *         options in codecs.c can spell; one that no frame may have is open: what it leaves open is
 *         chosen from an extent's bytes.
 * rank    the order by device memory needed, from 1 without gaps: where memory is short, the CUDA
 *         engine leaves out the codec of the greatest rank first. 0: no device does it.
 * closed  whether the device's code is nvCOMP's instead of ours. It is missing without nvCOMP, and
 *         it does not decode frames of strangers.
 * most    the greatest parameter, as an int16_t, that is encoded on the device; if no device does
 *         it, less than all.
 * speed   the class of p, below BALE_SPEEDS: parameters of one class take about as long, on the CPU
 *         and on a device. The engines learn the cost of each class.
 * chunk   the greatest log2 of the size of chunks in frames. */
#define BALE_DEVICE_CODEC_LIST(CODEC)                                                              \
    CODEC(lz4, LZ4, 2, p == 0, 4, true, INT16_MAX, 0, BALE_CHUNK_LOG2_MAX)                         \
    CODEC(zstd, ZSTD, 3, true, 8, true, 3, /* nvCOMP's matches libzstd's lowest levels */          \
          zstd_level_speed((int16_t)p), BALE_CHUNK_LOG2_MAX)                                       \
    CODEC(gpulz, GPULZ, 17, bale_gpulz_is_definite(p), 7, false, INT16_MAX,                        \
          bale_gpulz_symbol_log2(p), BALE_CHUNK_LOG2_MAX)                                          \
    CODEC(culzss, CULZSS, 16, p == 1 || p == 2, 6, false, INT16_MAX, p == 1, BALE_CHUNK_LOG2_MAX)  \
    CODEC(lzr, LZR, 20, p >= 1 && p <= 9, 5, false, INT16_MAX, p > 1, 16)                          \
    CODEC(fsst, FSST, 18, p == 0, 1, false, INT16_MAX, 0, BALE_CHUNK_LOG2_MAX)                     \
    CODEC(float, FLOAT, 21, p == 0, 2, false, INT16_MAX, 0, 18)                                    \
    CODEC(cusz, CUSZ, 19, p == 0, 3, false, INT16_MAX, 0, 20)
#define BALE_CODEC_LIST(BUILT_IN, CODEC)                                                           \
    BUILT_IN(store, STORE, 0, p == 0)                                                              \
    BUILT_IN(zero, ZERO, 1, p <= UINT8_MAX)                                                        \
    BALE_DEVICE_CODEC_LIST(CODEC)

enum { BALE_SPEEDS = 4 };

#define BALE_CODEC_ID_BUILT_IN(name, NAME, id, frame) BALE_CODEC_##NAME = (id),
#define BALE_CODEC_ID(name, NAME, id, ...) BALE_CODEC_##NAME = (id),
enum {
    BALE_CODEC_LIST(BALE_CODEC_ID_BUILT_IN, BALE_CODEC_ID) BALE_CODEC_AUTO =
        255, /* only a setting */
};
#undef BALE_CODEC_ID_BUILT_IN
#undef BALE_CODEC_ID

/* For uses of the list that need one kind of line only. */
#define BALE_CODEC_SKIP(...)

/* What matters to a setting of BALE_CODEC_AUTO: its parameter. */
enum {
    BALE_AUTO_FOR_RATIO = 0,
    BALE_AUTO_FOR_SPEED = 1,
};

/* A line of the list, or auto. */
struct bale_codec_about {
    const char *name;
    uint8_t id;
    bool built_in;
    bool closed;
    bool device; /* a device does it; of a built-in one, finds equal bytes and copies */
    int16_t most;
    bool (*in_frame)(uint16_t parameter);
    unsigned (*speed)(uint16_t parameter); /* of any parameter */
    uint8_t chunk_log2;                    /* of the largest chunks */
};

/* Whether frames of the codec have an extent part, also of ids that only a later program knows: the
 * length of a frame's head follows from it. */
static inline bool bale_codec_has_part(uint8_t id)
{
    return id == BALE_CODEC_FSST || id == BALE_CODEC_CUSZ || id == BALE_CODEC_FLOAT;
}

/* Whether settings of the codec may have a field, also of ids that only a later program knows. */
static inline bool bale_codec_has_field(uint8_t id)
{
    return id == BALE_CODEC_CUSZ || id == BALE_CODEC_FLOAT;
}

/* Whether a setting of the codec has values rounded before they are stored. */
static inline bool bale_codec_is_lossy(uint8_t id)
{
    return id == BALE_CODEC_CUSZ;
}

/* Whether chunks of the codec consist of cells of 64 KiB, which may be worked on side by side: the
 * codec chooses how large chunks are, and the checksum of a longer one is that of its parts
 * (FORMAT.md section 6). Also of ids that only a later program knows. */
static inline bool bale_codec_has_cells(uint8_t id)
{
    return bale_codec_has_field(id);
}

/* NULL for an id that is not in the list, nor auto. */
const struct bale_codec_about *bale_codec_about(uint8_t id);

/* auto and then the list, in its order: i from 0 until NULL. */
const struct bale_codec_about *bale_codec_at(size_t i);

/* How many codecs that are not built in have a lower id: pictures give each codec a colour by
 * it. */
size_t bale_codec_order(uint8_t id);

/* The codec's name, "auto" included; NULL for an unknown id. */
const char *bale_codec_name(uint8_t id);

/* One value of an option that has a list of values: its text, and the field that it means. */
struct bale_option_value {
    const char *word; /* NULL: the number is written */
    int number;
    int16_t field;
};

/* One key of a codec's settings. Its value becomes a field of the parameter: `bits` bits from bit
 * `at` on, a signed number if they are all sixteen. */
struct bale_option {
    uint8_t codec;
    uint8_t at;
    uint8_t bits;
    bool alias; /* another option sets the same field; settings are printed with that one */
    const char *key;
    int16_t without; /* the field when the setting does not give it */
    int16_t min;     /* numbers from min to max, which are the field; a range from below 0 is */
    int16_t max;     /* without 0 */
    const struct bale_option_value *values; /* instead of a range, so many values */
    uint8_t value_count;
    const char *range; /* the values in words, for messages; NULL for a range */
};

/* The options of a codec or auto, in the order in which settings are printed; *count may be 0. */
const struct bale_option *bale_codec_options(uint8_t id, size_t *count);

/* Whether the option's field may have this value. */
bool bale_option_has(const struct bale_option *option, int field);

/* The option's field in a parameter, and the parameter with that field replaced. A field of 16 bits
 * is signed. */
int bale_option_field(const struct bale_option *option, uint16_t parameter);
uint16_t bale_option_set(const struct bale_option *option, uint16_t parameter, int field);

/* What a file, directory or volume asks for; a root has it. codec may be BALE_CODEC_AUTO. */
struct bale_setting {
    uint8_t codec;
    int16_t parameter;
    struct bale_field field; /* all zero: none */
};

/* Whether a user may ask for chunks of this size with the codec or setting. Those of a codec with
 * cells may become larger: see bale_codec_chunk_log2. */
bool bale_codec_takes_chunks(uint8_t id, unsigned chunk_log2);

/* The greatest log2 that it takes, of a codec that is known. */
unsigned bale_codec_chunk_most(uint8_t id);

/* The log2 of the chunk size of a frame with this setting, which is not open, where log2 was asked
 * for. With a codec that has cells, chunks hold four planes of the array (in two dimensions, four
 * rows), as far as they may be so large; a frame that is stored raw or as zero has chunks of the
 * size that was asked for. */
uint8_t bale_codec_chunk_log2(const struct bale_setting *setting, uint8_t asked);

/* Whether the codec is known and its options can spell the parameter. */
bool bale_parameter_valid(uint8_t id, int16_t parameter);

/* Whether the parameter is valid, and the codec may have the field. */
bool bale_setting_valid(struct bale_setting setting);

/* Whether a valid setting leaves something to be chosen from the raw bytes. */
bool bale_setting_is_open(struct bale_setting setting);

/* Whether frames of a setting may have an extent part: its codec has one, or it may choose one. */
bool bale_setting_may_have_part(struct bale_setting setting);

#ifdef __cplusplus
}
#endif

#endif
