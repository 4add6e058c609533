#include "tools/stream/relative.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/reason.h"
#include "kernels/frame/setting.h"
#include "kernels/round/piece.h"
#include "kernels/round/range.h"
#include "tools/common/message.h"

/* Bytes that are looked at together, and those behind them that an element may begin before. */
enum { PIECE = 1 << 20, BEHIND = 8 };

static bool go_to(const struct bale_source *source, off_t at)
{
    if (lseek(source->fd, at, SEEK_SET) == at)
        return true;
    bale_message("%s: cannot be read: %s", source->name, strerror(errno));
    return false;
}

/* The piece to look at after the one at this place: of more than two that are a hole, the last, since
 * the first has been, and the others are as these. */
static uint64_t next_piece(const struct bale_source *source, off_t begin, uint64_t at)
{
    off_t data = lseek(source->fd, begin + (off_t)at, SEEK_DATA);
    uint64_t last;

    if (data < 0 && errno == ENXIO)
        data = source->st.st_size;
    last = data > begin ? (uint64_t)(data - begin) / PIECE * PIECE : 0;
    return last > at + 2 * PIECE ? last - PIECE : at + PIECE;
}

/* The range of the array that the bytes from begin on have. *what: why they have none, or NULL. */
static bool find_range(const struct bale_source *source, off_t begin, const struct bale_field *said,
                       uint8_t *piece, struct bale_range *range, const char **what)
{
    struct bale_field field;
    ssize_t got = PIECE + BEHIND;

    *range = (struct bale_range){INFINITY, -INFINITY};
    *what = NULL;
    for (uint64_t at = 0; !*what && got == PIECE + BEHIND; at = next_piece(source, begin, at)) {
        struct bale_range part;
        if (!go_to(source, begin + (off_t)at))
            return false;
        got = bale_source_read(source, piece, PIECE + BEHIND);
        if (got < 0)
            return false;
        if (at == 0)
            *what = bale_round_resolve(
                said, piece, (size_t)got < BALE_ROUND_BEGIN ? (size_t)got : BALE_ROUND_BEGIN,
                &field);
        if (!*what)
            *what = bale_round_resolve_piece(said, at, piece, (size_t)got);
        part = bale_range_of_piece(&field, at, piece, (size_t)got);
        bale_range_widen(range, &part);
    }
    return true;
}

/* What the range means for the setting. */
static bool apply(const struct bale_source *source, double relative, const struct bale_range *range,
                  const char *what, struct bale_setting *setting)
{
    struct bale_reason why;

    if (!what && range->low < range->high) {
        if (bale_setting_set_range(setting, relative, range->low, range->high, &why) == 0)
            return true;
        bale_message("%s: its values are from %.9g to %.9g: %s", source->name, range->low,
                     range->high, why.text);
        return false;
    }
    *setting = (struct bale_setting){.codec = BALE_CODEC_AUTO};
    if (what)
        bale_message("%s: stored without loss: it is %s", source->name, what);
    else if (range->low == range->high)
        bale_message("%s: stored without loss: a relative bound needs a range, and its finite "
                     "values are all %.9g",
                     source->name, range->low);
    else
        bale_message("%s: stored without loss: a relative bound needs a range, and there are no "
                     "finite values in it",
                     source->name);
    return true;
}

bool bale_relative_setting(const struct bale_source *source, double relative,
                           struct bale_setting *setting)
{
    const off_t begin = S_ISREG(source->st.st_mode) ? lseek(source->fd, 0, SEEK_CUR) : -1;
    struct bale_range range;
    const char *what;
    uint8_t *piece;
    bool good;

    if (begin < 0) {
        bale_message("%s: cannot be read twice, to find the range first: give "
                     "range=LOW:HIGH with rel=E, or name a regular file",
                     source->name);
        return false;
    }
    piece = malloc(PIECE + BEHIND);
    if (!piece)
        bale_message("no memory");
    good = piece && find_range(source, begin, &setting->field, piece, &range, &what) &&
           go_to(source, begin) && apply(source, relative, &range, what, setting);
    free(piece);
    return good;
}
