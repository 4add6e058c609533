/* What a lossy setting means for an input: which elements are rounded, and with which bound. */
#include <math.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/api/context.h"
#include "kernels/frame/setting.h"
#include "kernels/round/piece.h"
#include "kernels/round/range.h"

/* Bytes of a device that are copied to look for the range, and those behind them that an element
 * may begin before. */
enum { PIECE = 1 << 20, BEHIND = 8 };

struct look {
    struct bale_context *context;
    const uint8_t *in;
    size_t length;
    bool on_device;
};

static int find_range(const struct look *look, const struct bale_field *field,
                      struct bale_range *range)
{
    const size_t step = look->on_device ? PIECE : look->length;

    *range = (struct bale_range){INFINITY, -INFINITY};
    for (size_t at = 0; at < look->length; at += step) {
        const size_t left = look->length - at;
        const size_t length = left < step + BEHIND ? left : step + BEHIND;
        struct bale_range part;
        uint8_t *copy = NULL;
        int err;
        if (look->on_device) {
            err = bale_api_fetch(look->context, look->in + at, length, &copy);
            if (err < 0)
                return err;
        }
        part = bale_range_of_piece(field, at, copy ? copy : look->in, length);
        bale_range_widen(range, &part);
        free(copy);
    }
    return BALE_OK;
}

/* The bound of a relative one. Without two different finite elements nothing is rounded. */
static int take_range(const struct look *look, struct bale_api_setup *setup, size_t *rounded)
{
    struct bale_range range;
    int err = find_range(look, &setup->setting.field, &range);

    if (err < 0)
        return err;
    if (range.low < range.high)
        return bale_setting_set_range(&setup->setting, setup->relative, range.low, range.high,
                                      &look->context->message);
    *rounded = 0;
    return BALE_OK;
}

/* Whether in's first bytes show an array, and what its elements are. */
static int look_at_begin(const struct look *look, const struct bale_field *said,
                         struct bale_field *field, bool *is_array)
{
    const size_t length = look->length < BALE_ROUND_BEGIN ? look->length : BALE_ROUND_BEGIN;
    uint8_t begin[BALE_ROUND_BEGIN];
    int err;

    bale_api_move(look->context, begin, look->in, length, look->on_device);
    err = bale_api_run_moves(look->context);
    if (err == BALE_OK)
        *is_array = !bale_round_resolve(said, begin, length, field);
    return err;
}

/* Where the first signature of another format begins behind in's first bytes; length: there is
 * none. */
static int look_behind(const struct look *look, const struct bale_field *said, size_t *end)
{
    uint8_t found[BALE_ROUND_PLACES][BALE_ROUND_SIGNATURE];
    size_t places[BALE_ROUND_PLACES], count = 0;
    int err;

    for (uint64_t at = bale_round_place(0);
         look->length >= BALE_ROUND_SIGNATURE && at <= look->length - BALE_ROUND_SIGNATURE;
         at = bale_round_place(at + 1)) {
        bale_api_move(look->context, found[count], look->in + at, BALE_ROUND_SIGNATURE,
                      look->on_device);
        places[count++] = (size_t)at;
    }
    err = bale_api_run_moves(look->context);
    *end = look->length;
    for (size_t i = 0; err == BALE_OK && i < count && *end == look->length; i++)
        if (bale_round_resolve_piece(said, places[i], found[i], BALE_ROUND_SIGNATURE))
            *end = places[i];
    return err;
}

int bale_api_look(struct bale_context *context, const uint8_t *in, size_t length, bool on_device,
                  struct bale_api_setup *setup, size_t *rounded)
{
    const struct look look = {context, in, length, on_device};
    const bool relative = setup->relative > 0;
    struct bale_field field;
    bool is_array = false;
    size_t end = 0;
    int err;

    *rounded = 0;
    if (!bale_codec_is_lossy(setup->setting.codec))
        return BALE_OK;
    err = look_at_begin(&look, &setup->setting.field, &field, &is_array);
    if (err == BALE_OK && is_array)
        err = look_behind(&look, &setup->setting.field, &end);
    /* A bound that is a part of the range is one of arrays that are an array as a whole. */
    if (is_array && end < length)
        end = relative ? 0 : end / setup->extent * setup->extent;
    if (err == BALE_OK && is_array)
        setup->setting.field = field;
    *rounded = end;
    if (err == BALE_OK && end > 0 && relative)
        err = take_range(&look, setup, rounded);
    if (err == BALE_OK && *rounded == 0 && relative)
        setup->setting = (struct bale_setting){.codec = BALE_CODEC_AUTO};
    return err;
}
