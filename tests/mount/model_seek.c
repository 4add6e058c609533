/* SEEK_DATA and SEEK_HOLE: file systems differ in what they call a hole. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/mount/model.h"

/* Bytes that SEEK_DATA skips must be zeros; SEEK_HOLE must find a hole or the end. */
void model_seek(struct model_actor *actor, struct model_handle *handle)
{
    uint64_t size = model_size(handle), from = model_random(actor, size + 1000);
    off_t data = lseek(handle->fd[MOUNT], (off_t)from, SEEK_DATA);
    int error = data < 0 ? errno : 0;
    off_t hole = lseek(handle->fd[MOUNT], (off_t)from, SEEK_HOLE);

    model_note(actor, "seek from %ju: data %jd, hole %jd", (uintmax_t)from, (intmax_t)data,
               (intmax_t)hole);
    if (data < 0 && error != ENXIO)
        model_fail(actor, "SEEK_DATA: %s", strerror(error));
    else if (from >= size ? data >= 0 || hole >= 0
                          : hole < (off_t)from || hole > (off_t)size ||
                                (data >= 0 && (data < (off_t)from || data >= (off_t)size)))
        model_fail(actor, "seek from %ju, size %ju: data %jd, hole %jd", (uintmax_t)from,
                   (uintmax_t)size, (intmax_t)data, (intmax_t)hole);
    uint64_t end = data < 0 ? size : (uint64_t)data;
    for (uint64_t at = from; at < end;) {
        off_t next = lseek(handle->fd[PLAIN], (off_t)at, SEEK_DATA);
        if (next < 0 || (uint64_t)next >= end)
            break;
        size_t step =
            end - (uint64_t)next < MODEL_BUFFER ? (size_t)(end - (uint64_t)next) : MODEL_BUFFER;
        ssize_t got = pread(handle->fd[PLAIN], actor->buffer[PLAIN], step, next);
        for (ssize_t i = 0; i < got; i++) {
            if (actor->buffer[PLAIN][i]) {
                model_fail(actor, "SEEK_DATA from %ju skips data at %jd", (uintmax_t)from,
                           (intmax_t)(next + i));
                return;
            }
        }
        at = (uint64_t)next + step;
    }
}
