#include "tools/inspect/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/json.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

#define LEAST 0.1
#define MOST 3600.0

struct sample {
    struct bale_control_status status;
    double at; /* seconds */
};

struct watch {
    const char *mnt;
    bool json, terminal;
    struct sample last, now;
};

bool bale_watch_interval(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds >= LEAST && *seconds <= MOST;
}

static bool take_sample(const char *mnt, struct sample *sample)
{
    struct timespec now;
    bool answered = bale_control_status_at(mnt, &sample->status);

    clock_gettime(CLOCK_MONOTONIC, &now);
    sample->at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    return answered;
}

/* The change between two counts, per second. */
static uint64_t rate(const struct watch *watch, uint64_t last, uint64_t now)
{
    double seconds = watch->now.at - watch->last.at;

    return seconds > 0 && now > last ? (uint64_t)((double)(now - last) / seconds + 0.5) : 0;
}

static int64_t saved(const struct bale_control_status *status)
{
    return (int64_t)status->raw_bytes - (int64_t)status->stored_bytes;
}

#define RATE(watch, figure) rate(watch, (watch)->last.status.figure, (watch)->now.status.figure)

static bool print_json(const struct watch *watch)
{
    const struct bale_control_status *now = &watch->now.status, *last = &watch->last.status;
    json_t *object = json_object();

    bale_json_count(object, "time", (uint64_t)time(NULL));
    bale_json_count(object, "written_per_second", RATE(watch, written));
    bale_json_count(object, "read_per_second", RATE(watch, read));
    bale_json_count(object, "compressed_per_second", RATE(watch, raw_bytes));
    bale_json_count(object, "stored_per_second", RATE(watch, stored_bytes));
    bale_json_ratio(object, "ratio", now->raw_bytes - last->raw_bytes,
                    now->stored_bytes - last->stored_bytes);
    bale_json_count(object, "frames_per_second", RATE(watch, items));
    bale_json_count(object, "commits_per_second", RATE(watch, commits));
    bale_json_count(object, "cpu_percent", RATE(watch, cpu_us) / 10000);
    bale_json_count(object, "read", now->read);
    bale_json_count(object, "written", now->written);
    bale_json_count(object, "compressed", now->raw_bytes);
    bale_json_count(object, "stored", now->stored_bytes);
    json_object_set_new(object, "saved", json_integer(saved(now)));
    bale_json_count(object, "cached", now->cached);
    bale_json_count(object, "dirty", now->dirty);
    bale_json_count(object, "throttled", now->throttled);
    bale_json_count(object, "waiting", now->waits_memory + now->waits_thaw + now->waits_store);
    json_object_set_new(object, "frozen", json_boolean(now->frozen));
    bale_json_count(object, "errors", now->errors);
    bool printed = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0;
    json_decref(object);
    return printed && putchar('\n') != EOF;
}

/* "28.3M": narrower than bale_size_text. */
static const char *short_size(uint64_t size, char text[static BALE_TEXT])
{
    size_t length = strcspn(bale_size_text(size, text), " ");

    text[length] = text[length + 1] == 'B' ? '\0' : text[length + 1];
    text[length + 1] = '\0';
    return text;
}

static const char head[] =
    "written/s  stored/s    read/s  ratio     saved     dirty frames/s  waits"
    "    cpu";

/* 76 columns. */
static bool print_line(const struct watch *watch)
{
    const struct bale_control_status *now = &watch->now.status, *last = &watch->last.status;
    uint64_t waits = now->waits_memory + now->waits_thaw + now->waits_store;
    uint64_t waited = now->throttled - last->throttled;
    char texts[6][BALE_TEXT], count[BALE_TEXT];

    snprintf(count, sizeof count, "%llu", (unsigned long long)(waits > waited ? waits : waited));
    return printf("%s%9s %9s %9s %6s %9s %9s %8llu %6s %5llu%%%s",
                  watch->terminal ? "\r\033[K" : "", short_size(RATE(watch, written), texts[0]),
                  short_size(RATE(watch, stored_bytes), texts[1]),
                  short_size(RATE(watch, read), texts[2]),
                  bale_ratio_text(now->raw_bytes - last->raw_bytes,
                                  now->stored_bytes - last->stored_bytes, texts[3]),
                  short_size(saved(now) > 0 ? (uint64_t)saved(now) : 0, texts[4]),
                  short_size(now->dirty, texts[5]), (unsigned long long)RATE(watch, items),
                  now->frozen ? "frozen" : count, (unsigned long long)(RATE(watch, cpu_us) / 10000),
                  watch->terminal ? "" : "\n") >= 0;
}

static int watch_mount(struct watch *watch, double seconds)
{
    const struct timespec pause = {.tv_sec = (time_t)seconds,
                                   .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    if (!take_sample(watch->mnt, &watch->last)) {
        bale_message("%s: its daemon does not report its status: %s", watch->mnt,
                     errno == EPERM ? "only root and the mount's owner may ask" : strerror(errno));
        return BALE_EXIT_FAILED;
    }
    for (bool printed = watch->json || puts(head) != EOF; printed;) {
        nanosleep(&pause, NULL);
        if (!take_sample(watch->mnt, &watch->now) ||
            watch->now.status.pid != watch->last.status.pid)
            break;
        printed = (watch->json ? print_json(watch) : print_line(watch)) && fflush(stdout) == 0;
        watch->last = watch->now;
    }
    if (watch->terminal)
        putchar('\n');
    return BALE_EXIT_DONE;
}

int bale_watch(const char *path, double seconds, bool json)
{
    struct bale_location location;
    int status = BALE_EXIT_FAILED;

    if (bale_location_find(path, &location) != BALE_OK)
        return BALE_EXIT_FAILED;
    if (location.mounted && strcmp(location.real, location.top) == 0) {
        struct watch watch = {
            .mnt = location.top, .json = json, .terminal = !json && isatty(STDOUT_FILENO)};
        status = watch_mount(&watch, seconds);
    } else {
        bale_message("%s: is no mount point: name that of a mounted store", path);
    }
    bale_location_free(&location);
    return status;
}
