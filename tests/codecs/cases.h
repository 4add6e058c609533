/* The cases of the codecs: what a codec gives to the tests that go through all codecs of
 * format/codecs.h. tests/codecs/NAME.c defines codec_case_NAME; the build takes the list of these
 * files from the list of codecs. */
#ifndef BALE_TESTS_CODECS_CASES_H
#define BALE_TESTS_CODECS_CASES_H

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

/* What a setting is tested with. */
enum {
    SETTINGS_FRAMES = 1,      /* whole frames of all lengths and kinds of data */
    SETTINGS_CHUNK_SIZES = 2, /* chunks of up to 64 MiB: not for what is slow */
    SETTINGS_DAMAGE = 4,   /* frames of a codec's own that are damaged: no built-in one but store */
    SETTINGS_API = 8,      /* the library on the CPU */
    SETTINGS_GPU_API = 16, /* the library with a GPU */
    SETTINGS_RANDOM = 32,  /* items at random, through each engine */
    SETTINGS_END = 64,

    SETTINGS_MOST = SETTINGS_FRAMES | SETTINGS_CHUNK_SIZES | SETTINGS_API,
    SETTINGS_ALL = SETTINGS_END - 1,
};

/* A setting as a user writes it, and the sets that it is in. */
struct codec_setting {
    const char *text;
    unsigned sets;
};

/* A frame that the codec makes: the vector good-CODEC-NAME. */
struct codec_sample {
    const char *name;
    const char *setting;
    uint32_t raw_length; /* SAMPLE_MAX at most */
    uint8_t chunk_log2;
    void (*fill)(uint8_t *raw, size_t length);
    const char *what; /* is special about it */
};
enum { SAMPLE_MAX = 70000 };

/* The stream of one chunk of 64 KiB or less, made by hand. A reader decodes a good one to raw, and
 * refuses a bad one: it breaks one rule of the codec's specification. */
struct codec_stream {
    const char *name; /* of the vector, good-CODEC-NAME or bad-CODEC-NAME; NULL: it is none */
    const char *what; /* is special about it, or the rule that it breaks */
    bool good;
    uint16_t parameter;  /* of the frame */
    const uint8_t *part; /* of a codec with an extent part */
    uint32_t part_length;
    const uint8_t *stored;
    uint32_t length;
    const uint8_t
        *raw; /* also of a bad one: what the raw checksum covers; a byte more may be read */
    uint32_t raw_length;
};
typedef void codec_stream_visit(void *arg, const struct codec_stream *stream);

/* A NULL member means that the codec does not need it. */
struct codec_case {
    uint8_t id;
    bool defined; /* its specification defines every byte: all engines make the same stream */
    const struct codec_setting *settings; /* up to a text that is NULL */
    unsigned setting_parameters;          /* how many parameters a setting may have */
    unsigned frame_parameters;            /* and how many a frame */

    /* The rest is that of codecs with a directory. */

    uint32_t least; /* bytes of a chunk that the codec makes shorter; 0: 40 */
    /* Fills out with data that the codec makes shorter, from those on. NULL: text does. */
    void (*fill)(uint64_t seed, uint8_t *out, size_t length);
    /* Data that strains the codec, besides the kinds of tests/codecs/data.h: shape_fill fills out
     * with kind DATA_KINDS and up, shapes of them. */
    unsigned shapes;
    void (*shape_fill)(unsigned kind, uint8_t *out, size_t length);
    const struct codec_sample *samples; /* up to a name that is NULL */
    /* Calls visit with each stream that is made by hand: good ones, and a bad one for each rule of
     * the decoder. */
    void (*streams)(codec_stream_visit *visit, void *arg);
};

/* auto's, then those of the list in its order: i from 0 until NULL. */
const struct codec_case *codec_case_at(size_t i);
const struct codec_case *codec_case_of(uint8_t id);

/* Kinds of data for the codec: data.h's and its own. */
unsigned codec_case_kinds(const struct codec_case *c);
void codec_case_fill(const struct codec_case *c, unsigned kind, uint8_t *out, size_t length);

/* Visits the codec's streams and, behind each good one, those that are cut, have a byte more, or
 * another raw length: these are bad. */
void codec_case_streams(const struct codec_case *c, codec_stream_visit *visit, void *arg);

/* What the codec's first setting says about an array; nothing, if it knows none. */
struct bale_field codec_case_field(uint8_t id);

enum { CODEC_PART_MAX = 4096 }; /* bytes of an extent part of 4096 raw bytes or more */

/* The extent part that the codec makes of a frame's raw bytes at offset 0, with that field, in
 * room; nothing for one that has none. */
struct bale_extent_part codec_case_part(const struct bale_codec *codec, void *work,
                                        int16_t parameter, const uint8_t *raw, uint32_t raw_length,
                                        uint8_t room[static CODEC_PART_MAX]);

/* The next setting of the set, from 0 on; *i becomes the one behind it. NULL: there is none. */
const char *codec_settings_next(unsigned set, size_t *i);

struct bale_setting codec_setting_parse(const char *text);

/* One of the settings of the set. */
struct bale_setting codec_settings_pick(unsigned set, uint64_t random);

/* Settings with every combination of the codec's options at their limits and between, as far as
 * frames may have them: n from 0 on. False: there are no more. */
bool codec_grid(uint8_t id, unsigned n, struct bale_setting *setting);

/* One with any values that frames may have. */
struct bale_setting codec_setting_random(uint8_t id, uint64_t *state);

#endif
