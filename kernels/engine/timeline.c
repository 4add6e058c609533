#include "kernels/engine/timeline.h"

#include <stdarg.h>
#include <stdio.h>

#include "kernels/base/clock.h"

static const char *const phase_names[BALE_GPU_PHASES] = {
    [BALE_GPU_PLUGIN] = "plug-in",     [BALE_GPU_DRIVER] = "driver", [BALE_GPU_NVCOMP] = "nvCOMP",
    [BALE_GPU_CONTEXT] = "context",    [BALE_GPU_CODECS] = "codecs", [BALE_GPU_SLOTS] = "slots",
    [BALE_GPU_PINS] = "pinned memory",
};

struct timeline_text {
    char *text;
    size_t used;
};

static void __attribute__((format(printf, 2, 3)))
append(struct timeline_text *out, const char *format, ...)
{
    size_t room = BALE_TIMELINE_TEXT - out->used;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(out->text + out->used, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        out->used += (size_t)length < room ? (size_t)length : room - 1;
}

static double milliseconds(uint64_t ns)
{
    return (double)ns / (double)BALE_MILLISECOND_NS;
}

const char *bale_timeline_text(const struct bale_gpu_timeline *timeline,
                               char text[static BALE_TIMELINE_TEXT])
{
    const struct {
        const char *what;
        uint64_t ns;
    } events[] = {{"first range pinned", timeline->pinned_ns},
                  {"first batch taken", timeline->taken_ns},
                  {"first batch done", timeline->done_ns}};
    struct timeline_text out = {.text = text};
    const char *before = ": ";

    append(&out, "open after %.1f ms", milliseconds(timeline->open_ns));
    for (int i = 0; i < BALE_GPU_PHASES; i++)
        if (timeline->phase_ns[i] > 0) {
            append(&out, "%s%s %.1f", before, phase_names[i], milliseconds(timeline->phase_ns[i]));
            before = ", ";
        }
    before = "; ";
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i].ns > 0) {
            append(&out, "%s%s after %.1f ms", before, events[i].what, milliseconds(events[i].ns));
            before = ", ";
        }
    return text;
}
