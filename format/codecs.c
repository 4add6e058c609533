#include "format/codecs.h"

#include "format/gpulz.h"

#define IN_FRAME_BUILT_IN(name, NAME, id, frame)                                                   \
    static bool name##_in_frame(uint16_t p)                                                        \
    {                                                                                              \
        (void)p;                                                                                   \
        return frame;                                                                              \
    }
#define IN_FRAME(name, NAME, id, frame, ...) IN_FRAME_BUILT_IN(name, NAME, id, frame)
BALE_CODEC_LIST(IN_FRAME_BUILT_IN, IN_FRAME)

static bool auto_in_frame(uint16_t p)
{
    (void)p;
    return false;
}

static unsigned zstd_level_speed(int16_t level)
{
    return level <= 1 ? 0 : level <= 4 ? 1 : level <= 9 ? 2 : 3;
}

#define SPEED(name, NAME, id, frame, rank, closed, most, speed, chunk)                             \
    static unsigned name##_speed(uint16_t p)                                                       \
    {                                                                                              \
        (void)p;                                                                                   \
        return speed;                                                                              \
    }
BALE_CODEC_LIST(BALE_CODEC_SKIP, SPEED)

static unsigned built_in_speed(uint16_t p)
{
    (void)p;
    return 0;
}

#define ABOUT_BUILT_IN(name, NAME, id, frame)                                                      \
    {#name, id, true, false, true, INT16_MAX, name##_in_frame, built_in_speed, BALE_CHUNK_LOG2_MAX},
#define ABOUT(name, NAME, id, frame, rank, closed, most, speed, chunk)                             \
    {#name, id, false, closed, (rank) > 0, most, name##_in_frame, name##_speed, chunk},
static const struct bale_codec_about codecs[] = {{"auto", BALE_CODEC_AUTO, true, false, true,
                                                  INT16_MAX, auto_in_frame, built_in_speed,
                                                  BALE_CHUNK_LOG2_MAX},
                                                 BALE_CODEC_LIST(ABOUT_BUILT_IN, ABOUT)};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define VALUES(array) .values = (array), .value_count = COUNT(array)

static const struct bale_option_value goals[] = {
    {.word = "ratio", .field = BALE_AUTO_FOR_RATIO},
    {.word = "speed", .field = BALE_AUTO_FOR_SPEED},
};
static const struct bale_option_value symbols[] = {{.number = 1, .field = 0},
                                                   {.number = 2, .field = 1},
                                                   {.number = 4, .field = 2},
                                                   {.number = 8, .field = 3},
                                                   {.number = 0, .field = 4}};
static const struct bale_option_value pieces[] = {
    {.number = 2048, .field = 0},  {.number = 4096, .field = 1},  {.number = 8192, .field = 2},
    {.number = 16384, .field = 3}, {.number = 32768, .field = 4}, {.number = 65536, .field = 5}};
static const struct bale_option_value windows[] = {{.number = 1, .field = 32},
                                                   {.number = 2, .field = 64},
                                                   {.number = 3, .field = 128},
                                                   {.number = 4, .field = 255}};

/* Those of a codec lie together. One that is not here has no options. */
static const struct bale_option options[] = {
    {.codec = BALE_CODEC_AUTO,
     .bits = 16,
     .key = "for",
     .without = BALE_AUTO_FOR_RATIO,
     VALUES(goals),
     .range = "ratio or speed"},
    {.codec = BALE_CODEC_ZSTD, .bits = 16, .key = "level", .min = -7, .max = 19, .without = 1},
    {.codec = BALE_CODEC_GPULZ,
     .at = BALE_GPULZ_WINDOW_AT,
     .bits = 8,
     .alias = true,
     .key = "level",
     VALUES(windows),
     .range = "1 to 4"},
    {.codec = BALE_CODEC_GPULZ,
     .at = BALE_GPULZ_SYMBOL_AT,
     .bits = 3,
     .key = "s",
     .without = 4,
     VALUES(symbols),
     .range = "1, 2, 4, 8, or 0 for the best of these"},
    {.codec = BALE_CODEC_GPULZ,
     .at = BALE_GPULZ_WINDOW_AT,
     .bits = 8,
     .key = "w",
     .min = BALE_GPULZ_WINDOW_MIN,
     .max = BALE_GPULZ_WINDOW_MAX,
     .without = BALE_GPULZ_WINDOW_MAX},
    {.codec = BALE_CODEC_GPULZ,
     .at = BALE_GPULZ_PIECE_AT,
     .bits = 3,
     .key = "c",
     .without = 1,
     VALUES(pieces),
     .range = "a power of two from 2048 to 65536"},
    {.codec = BALE_CODEC_CULZSS, .bits = 16, .key = "v", .min = 1, .max = 2, .without = 2},
    {.codec = BALE_CODEC_LZR, .bits = 16, .key = "level", .min = 1, .max = 2, .without = 1},
};

const struct bale_codec_about *bale_codec_about(uint8_t id)
{
    for (size_t i = 0; i < COUNT(codecs); i++)
        if (codecs[i].id == id)
            return &codecs[i];
    return NULL;
}

const struct bale_codec_about *bale_codec_at(size_t i)
{
    return i < COUNT(codecs) ? &codecs[i] : NULL;
}

size_t bale_codec_order(uint8_t id)
{
    const struct bale_codec_about *about;
    size_t order = 0;

    for (size_t i = 0; (about = bale_codec_at(i)); i++)
        order += !about->built_in && about->id < id;
    return order;
}

const char *bale_codec_name(uint8_t id)
{
    const struct bale_codec_about *about = bale_codec_about(id);

    return about ? about->name : NULL;
}

const struct bale_option *bale_codec_options(uint8_t id, size_t *count)
{
    const struct bale_option *first = options;
    const struct bale_option *end = options + COUNT(options);

    while (first < end && first->codec != id)
        first++;
    for (*count = 0; first + *count < end && first[*count].codec == id; ++*count)
        ;
    return first;
}

bool bale_option_has(const struct bale_option *option, int field)
{
    if (!option->values)
        return field >= option->min && field <= option->max && (option->min >= 0 || field != 0);
    for (size_t i = 0; i < option->value_count; i++)
        if (option->values[i].field == field)
            return true;
    return false;
}

bool bale_codec_takes_chunks(uint8_t id, unsigned chunk_log2)
{
    return bale_codec_about(id) && chunk_log2 <= bale_codec_chunk_most(id);
}

unsigned bale_codec_chunk_most(uint8_t id)
{
    return bale_codec_has_cells(id) ? BALE_CHUNK_LOG2_DEFAULT : bale_codec_about(id)->chunk_log2;
}

/* Bytes of a plane, or of a row in two dimensions; 0: the field has neither. It does not wrap. */
static uint64_t plane_of(const struct bale_field *field)
{
    const uint64_t *dims = field->dims;
    uint64_t plane = dims[2] > 0 ? dims[0] * dims[1] : dims[1] > 0 ? dims[0] : 0;

    return plane * bale_field_element(field);
}

uint8_t bale_codec_chunk_log2(const struct bale_setting *setting, uint8_t asked)
{
    uint64_t plane = plane_of(&setting->field);
    uint8_t log2 = BALE_CHUNK_LOG2_DEFAULT;

    if (!bale_codec_has_cells(setting->codec))
        return asked;
    while (log2 < bale_codec_about(setting->codec)->chunk_log2 && UINT64_C(1) << log2 < 4 * plane)
        log2++;
    return log2;
}

static uint16_t mask_of(const struct bale_option *option)
{
    return (uint16_t)(((1u << option->bits) - 1) << option->at);
}

int bale_option_field(const struct bale_option *option, uint16_t parameter)
{
    uint16_t field = (uint16_t)((parameter & mask_of(option)) >> option->at);

    return option->bits == 16 ? (int16_t)field : field;
}

uint16_t bale_option_set(const struct bale_option *option, uint16_t parameter, int field)
{
    return (uint16_t)((parameter & ~mask_of(option)) | (uint16_t)field << option->at);
}

bool bale_parameter_valid(uint8_t id, int16_t parameter)
{
    size_t count;
    const struct bale_option *its = bale_codec_options(id, &count);
    uint16_t rest = (uint16_t)parameter;

    if (!bale_codec_about(id))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (its[i].alias)
            continue;
        if (!bale_option_has(&its[i], bale_option_field(&its[i], (uint16_t)parameter)))
            return false;
        rest &= (uint16_t)~mask_of(&its[i]);
    }
    return rest == 0;
}

bool bale_setting_valid(struct bale_setting setting)
{
    return bale_parameter_valid(setting.codec, setting.parameter) &&
           bale_field_valid(setting.codec, &setting.field);
}

bool bale_setting_is_open(struct bale_setting setting)
{
    return bale_setting_valid(setting) &&
           !bale_codec_about(setting.codec)->in_frame((uint16_t)setting.parameter);
}

bool bale_setting_may_have_part(struct bale_setting setting)
{
    return bale_codec_has_part(setting.codec) || setting.codec == BALE_CODEC_AUTO;
}
