#include "tools/quality/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"

enum { PIECE = 1 << 20 };

double bale_quality_element(const struct bale_field *field, const uint8_t *bytes)
{
    const bool swap = field->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    uint64_t wide;
    uint32_t narrow;
    double x;
    float y;

    if (bale_quality_width(field) == sizeof wide) {
        memcpy(&wide, bytes, sizeof wide);
        wide = swap ? __builtin_bswap64(wide) : wide;
        memcpy(&x, &wide, sizeof x);
        return x;
    }
    memcpy(&narrow, bytes, sizeof narrow);
    narrow = swap ? __builtin_bswap32(narrow) : narrow;
    memcpy(&y, &narrow, sizeof y);
    return y;
}

bool bale_quality_read(const struct bale_quality_pair *pair, bool copy, uint64_t first,
                       uint8_t *bytes, size_t length)
{
    const char *name = copy ? pair->copy_name : pair->original_name;
    uint64_t at = pair->field.offset + first * bale_quality_width(&pair->field);

    while (length > 0) {
        const ssize_t n = pread(copy ? pair->copy : pair->original, bytes, length, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            bale_message("%s: cannot be read: %s", name,
                         n < 0 ? strerror(errno) : "it became shorter");
            return false;
        }
        bytes += n;
        at += (uint64_t)n;
        length -= (size_t)n;
    }
    return true;
}

/* Whether |x - y| <= bound, exactly. If the rounded difference equals the bound, the sign of the
 * rounding error decides. */
static bool is_within(double x, double y, double bound)
{
    const double difference = x - y, back = x - difference;
    const double lost = (x - (difference + back)) + (back - y);

    if (fabs(difference) != bound)
        return fabs(difference) < bound;
    return difference > 0 ? lost <= 0 : lost >= 0;
}

typedef void element_visit(const struct bale_quality_pair *pair, struct bale_quality *quality,
                           uint64_t element, const uint8_t *original, const uint8_t *copy);

static void measure_error(const struct bale_quality_pair *pair, struct bale_quality *q,
                          uint64_t element, const uint8_t *original, const uint8_t *copy)
{
    const bool different = memcmp(original, copy, bale_quality_width(&pair->field)) != 0;
    const double x = bale_quality_element(&pair->field, original);
    const double y = bale_quality_element(&pair->field, copy);
    const long double error = fabsl(bale_quality_error(x, y));

    q->different += different;
    if (isfinite(x)) {
        q->low = x < q->low ? x : q->low;
        q->high = x > q->high ? x : q->high;
    }
    if (!isfinite(x) || !isfinite(y)) {
        q->beyond += different;
        return;
    }
    q->numbers++;
    q->squares += error * error;
    q->beyond += pair->bound > 0 && !is_within(x, y, pair->bound);
    if (error > q->worst) {
        q->worst = error;
        q->worst_at = element;
    }
}

static void sort_error(const struct bale_quality_pair *pair, struct bale_quality *q,
                       uint64_t element, const uint8_t *original, const uint8_t *copy)
{
    const long double error = bale_quality_error(bale_quality_element(&pair->field, original),
                                                 bale_quality_element(&pair->field, copy));
    const double share = bale_quality_share(q, error);

    (void)element;
    if (!isfinite(error))
        return;
    if (fabs(share) <= 1)
        q->histogram[(size_t)fmin((share + 1) / 2 * BALE_QUALITY_BINS, BALE_QUALITY_BINS - 1)]++;
    else
        q->outside++;
}

static bool visit_all(const struct bale_quality_pair *pair, struct bale_quality *quality,
                      element_visit *visit)
{
    const size_t width = bale_quality_width(&pair->field), most = PIECE / width;
    uint8_t *original = malloc(PIECE), *copy = malloc(PIECE);
    bool good = original && copy;

    if (!good)
        bale_message("no memory");
    for (uint64_t first = 0; good && first < pair->elements; first += most) {
        const uint64_t left = pair->elements - first;
        const size_t count = left < most ? (size_t)left : most;
        good = bale_quality_read(pair, false, first, original, count * width) &&
               bale_quality_read(pair, true, first, copy, count * width);
        for (size_t i = 0; good && i < count; i++)
            visit(pair, quality, first + i, original + i * width, copy + i * width);
    }
    free(original);
    free(copy);
    return good;
}

bool bale_quality_compare(const struct bale_quality_pair *pair, struct bale_quality *quality)
{
    *quality = (struct bale_quality){.low = INFINITY, .high = -INFINITY};
    if (!visit_all(pair, quality, measure_error))
        return false;
    quality->reach = pair->bound > 0 ? pair->bound : quality->worst;
    return visit_all(pair, quality, sort_error);
}

long double bale_quality_nrmse(const struct bale_quality *quality)
{
    const long double range = (long double)quality->high - quality->low;

    if (quality->numbers == 0 || quality->squares <= 0)
        return 0;
    return sqrtl(quality->squares / (long double)quality->numbers) / range;
}
