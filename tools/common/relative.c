#include "tools/common/relative.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/frame/setting.h"
#include "kernels/round/piece.h"
#include "kernels/round/range.h"

/* Bytes that are looked at together, and those behind them that an element may begin before. */
enum { PIECE = 1 << 20, BEHIND = 8 };

/* A file, and what it shows. */
struct look {
    int fd;
    off_t begin, size; /* the array's file is what lies between */
    bool (*is_over)(void);
    uint8_t *piece; /* room for PIECE + BEHIND bytes */
    struct bale_range range;
    const char *what; /* why there is no array, or NULL */
};

/* The length, or -1 and errno. */
static ssize_t read_piece(const struct look *look, uint64_t at)
{
    size_t have = 0;

    while (have < PIECE + BEHIND) {
        const ssize_t got = pread(look->fd, look->piece + have, PIECE + BEHIND - have,
                                  look->begin + (off_t)(at + have));
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        have += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)have;
}

/* The piece to look at after the one at this place: of more than two that are a hole, the last, since
 * the first has been, and the others are as these. */
static uint64_t next_piece(const struct look *look, uint64_t at)
{
    off_t data = lseek(look->fd, look->begin + (off_t)at, SEEK_DATA);
    uint64_t last;

    if (data < 0 && errno == ENXIO)
        data = look->size;
    last = data > look->begin ? (uint64_t)(data - look->begin) / PIECE * PIECE : 0;
    return last > at + 2 * PIECE ? last - PIECE : at + PIECE;
}

/* False and errno: it cannot be read to the end. */
static bool find_range(struct look *look, const struct bale_field *said)
{
    struct bale_field field;
    ssize_t got = PIECE + BEHIND;

    look->range = (struct bale_range){INFINITY, -INFINITY};
    for (uint64_t at = 0; !look->what && got == PIECE + BEHIND; at = next_piece(look, at)) {
        struct bale_range part;
        if (look->is_over && look->is_over()) {
            errno = ECANCELED;
            return false;
        }
        got = read_piece(look, at);
        if (got < 0)
            return false;
        if (at == 0)
            look->what = bale_round_resolve(
                said, look->piece, (size_t)got < BALE_ROUND_BEGIN ? (size_t)got : BALE_ROUND_BEGIN,
                &field);
        if (!look->what)
            look->what = bale_round_resolve_piece(said, at, look->piece, (size_t)got);
        part = bale_range_of_piece(&field, at, look->piece, (size_t)got);
        bale_range_widen(&look->range, &part);
    }
    return true;
}

/* What the range means for the setting. */
static enum bale_relative apply(const struct look *look, double relative,
                                struct bale_setting *setting, struct bale_reason *why)
{
    const struct bale_range *range = &look->range;
    struct bale_reason reason;

    if (!look->what && range->low < range->high) {
        if (bale_setting_set_range(setting, relative, range->low, range->high, &reason) == 0)
            return BALE_RELATIVE_BOUND;
        bale_reason_set(why, "its values are from %.9g to %.9g: %s", range->low, range->high,
                        reason.text);
        return BALE_RELATIVE_FAILED;
    }
    *setting = (struct bale_setting){.codec = BALE_CODEC_AUTO};
    if (look->what)
        bale_reason_set(why, "it is %s", look->what);
    else if (range->low == range->high)
        bale_reason_set(why, "a relative bound needs a range, and its finite values are all %.9g",
                        range->low);
    else
        bale_reason_set(why,
                        "a relative bound needs a range, and there are no finite values in it");
    return BALE_RELATIVE_EXACT;
}

enum bale_relative bale_relative_setting(int fd, double relative, bool (*is_over)(void),
                                         struct bale_setting *setting, struct bale_reason *why)
{
    struct look look = {.fd = fd, .is_over = is_over};
    struct stat st;
    bool good;

    look.begin = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (look.begin < 0) {
        bale_reason_set(why, "cannot be read twice, to find the range first: give range=LOW:HIGH "
                             "with rel=E, or name a regular file");
        return BALE_RELATIVE_FAILED;
    }
    look.size = st.st_size;
    look.piece = malloc(PIECE + BEHIND);
    if (!look.piece)
        errno = ENOMEM;
    good = look.piece && find_range(&look, &setting->field) &&
           lseek(fd, look.begin, SEEK_SET) == look.begin;
    if (!good)
        bale_reason_set(why, "cannot be read: %s", strerror(errno));
    free(look.piece);
    return good ? apply(&look, relative, setting, why) : BALE_RELATIVE_FAILED;
}
