#include "format/field.h"

#include "format/codecs.h"
#include "format/limits.h"

/* Exponents of 2 that the step may have, and where binary64 has them: half of it and its reciprocal
 * are normal, too. */
enum { STEP_MIN = -1021, STEP_MAX = 1021, BIAS = 1023, MANTISSA = 52 };

bool bale_field_equal(const struct bale_field *a, const struct bale_field *b)
{
    return a->dims[0] == b->dims[0] && a->dims[1] == b->dims[1] && a->dims[2] == b->dims[2] &&
           a->offset == b->offset && a->end == b->end && a->step == b->step && a->type == b->type &&
           a->pipeline == b->pipeline && a->big_endian == b->big_endian;
}

bool bale_step_valid(uint64_t step)
{
    return step >= (uint64_t)(BIAS + STEP_MIN) << MANTISSA && step <= (uint64_t)(BIAS + STEP_MAX)
                                                                          << MANTISSA;
}

static bool is_empty(const struct bale_field *field)
{
    static const struct bale_field empty;

    return bale_field_equal(field, &empty);
}

static bool dims_are_valid(const struct bale_field *field)
{
    uint64_t length = bale_field_element(field);
    bool ended = false;

    for (int i = 0; i < BALE_FIELD_DIMS; i++) {
        ended |= field->dims[i] == 0;
        if (ended ? field->dims[i] != 0
                  : __builtin_mul_overflow(length, field->dims[i], &length) ||
                        length > (uint64_t)BALE_SIZE_MAX)
            return false;
    }
    return true;
}

/* The header says the rest. */
static bool is_npy(const struct bale_field *field)
{
    return field->type == BALE_FIELD_NPY && field->dims[0] == 0 && field->dims[1] == 0 &&
           field->dims[2] == 0 && field->offset == 0 && !field->big_endian;
}

static bool lossy_is_valid(const struct bale_field *field)
{
    bool typed = field->type == BALE_FIELD_F32 || field->type == BALE_FIELD_F64;

    return (typed || is_npy(field)) && bale_step_valid(field->step) &&
           field->pipeline < BALE_PIPELINES;
}

static bool lossless_is_valid(const struct bale_field *field)
{
    return bale_field_element(field) > 0 && field->step == 0 &&
           field->pipeline == BALE_PIPELINE_AUTO;
}

bool bale_field_valid(uint8_t codec, const struct bale_field *field)
{
    if (!bale_codec_has_field(codec) || (!bale_codec_is_lossy(codec) && is_empty(field)))
        return is_empty(field);
    return (bale_codec_is_lossy(codec) ? lossy_is_valid(field) : lossless_is_valid(field)) &&
           dims_are_valid(field) && field->offset <= (uint64_t)BALE_SIZE_MAX;
}
