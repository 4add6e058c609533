/* A GPU engine's plug-in without a GPU: a thread that does batches with the CPU's codecs, and does
 * as much wrong as it is told to. BALE_FAKE_GPU says what, in words separated by commas:
 *
 *   open      opening fails
 *   environment
 *             opening fails and says what CUDA would see in it
 *   batch     all batches fail       batch=N   each Nth does
 *   first=N   the first N batches fail
 *   item=N    each Nth item fails, with some of its output and its frame spoiled
 *   again=N   each Nth item is refused for now
 *   corrupt   what is decoded is always said to be corrupt
 *   hang=US   each batch ends after so long, the time of its watchdog, and fails
 *   late=N    the first batch of a direction and each Nth after it are given up while their items are
 *             written. The outputs become rubbish then, and again with each of the three batches
 *             that come next, which are refused for now and do not count
 *   late-hangs
 *             and with all batches after it: the device is never back
 *   lost=N    after N batches the device is lost
 *   pin=N     only N ranges can be pinned
 *   delay=US  a batch takes so long
 *   slow=US   and so long to open
 *   open-hangs, pin-hangs, end-hangs
 *             opening, pinning or destroying never comes back
 *   find, find-hangs, find-dies
 *             looking for devices fails, never comes back, ends the process
 *   exclusive what is found is somebody else's alone
 *   lacks     and has no codecs
 *   measure   measuring fails
 *   spoils    what was measured comes back with other bytes
 *   cells=N   no more than N chunks are measured
 *   any       memory need not be pinned
 *   cold      each batch has to open the device first
 *   copy=N    the Nth copy fails
 *
 * Items are taken where they lie, from memory that was pinned, or that is the device's: BALE_FAKE_MEMORY
 * says "START SIZE REAL", three numbers: what lies at START, where nobody may look, is REAL's. A stream
 * is a function that waiting for it calls. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/gpu.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/fake_late.h"

enum { RANGES = 64, DEVICE = 1 };

struct fake {
    struct bale_engine engine; /* first */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct batch *first, **end;
    bool stop;
    struct bale_scratch *scratch;
    struct bale_gpu_stats stats;
    struct fake_range ranges[RANGES];
    unsigned range_count;
    struct bale_gpu_options options;
    /* The thread's. */
    uint64_t items;
    unsigned batches_of[2]; /* that encode, and that decode */
    struct fake_late late;
    uintptr_t memory, real; /* the device's */
    size_t memory_size;
    uint64_t copies;
};

struct batch {
    struct batch *next;
    struct bale_item *list;
};

unsigned told(const char *word)
{
    const char *at = getenv("BALE_FAKE_GPU");
    size_t length = strlen(word);

    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && strchr("=,", at[length]))
            return at[length] == '=' ? (unsigned)strtoul(at + length + 1, NULL, 10) : 1;
    return 0;
}

static void pause_us(unsigned us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L};

    nanosleep(&time, NULL);
}

static void hang_if(const char *word)
{
    while (told(word))
        pause();
}

static bool is_device(const struct fake *fake, const void *memory)
{
    return (uintptr_t)memory - fake->memory < fake->memory_size;
}

/* Where the bytes are indeed. */
static uint8_t *real(const struct fake *fake, const void *memory)
{
    uintptr_t at = (uintptr_t)memory;

    return (uint8_t *)(is_device(fake, memory) ? at - fake->memory + fake->real : at);
}

static int run(struct fake *fake, struct bale_item *item)
{
    uint8_t *raw = real(fake, item->raw);

    if (item->kind == BALE_ITEM_ENCODE)
        return item->capacity < bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2)
                   ? BALE_E_INVALID
                   : bale_frame_encode(fake->scratch, item->setting, raw, &item->frame,
                                       item->stored, &item->stored_length);
    return bale_frame_decode(fake->scratch, item->stored, item->stored_length, raw,
                             item->frame.raw_length, &item->frame);
}

static int spoil(struct fake *fake, struct bale_item *item, int status)
{
    if (item->kind == BALE_ITEM_ENCODE)
        memset(item->stored, 0xa5, item->capacity / 2);
    else
        memset(real(fake, item->raw), 0xa5, item->frame.raw_length / 2);
    memset(&item->frame, 0xa5, sizeof item->frame);
    item->setting.codec = BALE_CODEC_AUTO;
    item->stored_length = 1;
    return status;
}

static void end_item(struct fake *fake, struct bale_item *item, int fails)
{
    unsigned nth = told("item");
    unsigned again = told("again");
    uint64_t length = item->frame.raw_length;
    bool encode = item->kind == BALE_ITEM_ENCODE;

    fake->items++;
    if (again && fake->items % again == 0)
        item->status = BALE_E_AGAIN;
    else if (fails)
        item->status = spoil(fake, item, fails);
    else if (!encode && told("corrupt"))
        item->status = spoil(fake, item, BALE_E_CORRUPT);
    else if (nth && fake->items % nth == 0)
        item->status = spoil(fake, item, BALE_E_DEVICE);
    else
        item->status = run(fake, item);
    pthread_mutex_lock(&fake->lock);
    fake->stats.items++;
    if (item->status != BALE_OK)
        fake->stats.failed++;
    else if (encode)
        fake->stats.raw_bytes_encoded += length;
    else
        fake->stats.raw_bytes_decoded += length;
    pthread_mutex_unlock(&fake->lock);
    item->done(item);
}

static void run_batch(struct fake *fake, struct bale_item *list)
{
    unsigned late = told("late");
    int fails = BALE_OK;

    pthread_mutex_lock(&fake->lock);
    unsigned batch = told("batch");
    fake->stats.batches++;
    fake->stats.lost = told("lost") && fake->stats.batches > told("lost");
    if (fake->stats.lost || fake->stats.batches <= told("first") ||
        (batch && fake->stats.batches % batch == 0))
        fails = BALE_E_ENGINE;
    pthread_mutex_unlock(&fake->lock);
    if (told("hang")) {
        pause_us(told("hang"));
        fails = BALE_E_ENGINE;
    }
    if (fake_late_refuses(&fake->late, !told("late-hangs"))) {
        fails = BALE_E_AGAIN;
    } else if (late && fake->batches_of[list->kind == BALE_ITEM_DECODE]++ % late == 0) {
        fake_late_begin(&fake->late, &fake->options, list);
        fails = BALE_E_TAKEN;
    }
    pause_us(told("delay"));
    while (list) {
        struct bale_item *next = list->next;
        end_item(fake, list, fails);
        list = next;
    }
    fake_late_write(&fake->late);
}

static void *work(void *argument)
{
    struct fake *fake = argument;

    pthread_mutex_lock(&fake->lock);
    for (;;) {
        struct batch *batch = fake->first;
        if (batch) {
            fake->first = batch->next;
            if (!fake->first)
                fake->end = &fake->first;
            pthread_mutex_unlock(&fake->lock);
            run_batch(fake, batch->list);
            free(batch);
            pthread_mutex_lock(&fake->lock);
        } else if (fake->stop) {
            break;
        } else {
            pthread_cond_wait(&fake->wake, &fake->lock);
        }
    }
    pthread_mutex_unlock(&fake->lock);
    return NULL;
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    struct fake *fake = (struct fake *)engine;
    struct batch *batch = malloc(sizeof *batch);

    if (!batch)
        abort();
    *batch = (struct batch){.list = list};
    pthread_mutex_lock(&fake->lock);
    *fake->end = batch;
    fake->end = &batch->next;
    pthread_cond_signal(&fake->wake);
    pthread_mutex_unlock(&fake->lock);
}

static bool here(struct bale_engine *engine, struct bale_item *item, struct bale_scratch *scratch)
{
    (void)engine;
    (void)item;
    (void)scratch;
    return false;
}

static void destroy(struct bale_engine *engine)
{
    struct fake *fake = (struct fake *)engine;

    hang_if("end-hangs");
    pthread_mutex_lock(&fake->lock);
    fake->stop = true;
    pthread_cond_signal(&fake->wake);
    pthread_mutex_unlock(&fake->lock);
    pthread_join(fake->thread, NULL);
    if (!told("late-hangs"))
        fake_late_end(&fake->late);
    pthread_cond_destroy(&fake->wake);
    pthread_mutex_destroy(&fake->lock);
    bale_scratch_destroy(fake->scratch);
    free(fake);
}

static const struct bale_engine_ops ops = {
    .name = "fake", .submit = submit, .here = here, .destroy = destroy};

uint32_t fake_codecs(void)
{
    uint32_t lacking = 1u << BALE_CODEC_LZ4 | 1u << BALE_CODEC_ZSTD;
    uint32_t all = 0;

    for (uint8_t id = 0; id < 32; id++)
        if (bale_codec_find(id))
            all |= 1u << id;
    return told("lacks") ? all & ~lacking : all;
}

static int say_environment(char *why)
{
    const char *cache = getenv("CUDA_CACHE_DISABLE");
    const char *priority = getenv("CUDA_MPS_CLIENT_PRIORITY");

    snprintf(why, BALE_GPU_WHY, "cache disabled %s, priority %s", cache ? cache : "no",
             priority ? priority : "no");
    return BALE_E_ENGINE;
}

static int open_fake(const struct bale_gpu_options *options, struct bale_engine **engine,
                     char why[BALE_GPU_WHY])
{
    struct fake *fake = calloc(1, sizeof *fake);

    pause_us(told("slow"));
    hang_if("open-hangs");
    if (told("environment")) {
        free(fake);
        return say_environment(why);
    }
    if (told("open") || !fake || bale_scratch_create(&fake->scratch) != BALE_OK) {
        free(fake);
        snprintf(why, BALE_GPU_WHY, "no device: it was told that there is none");
        return BALE_E_ENGINE;
    }
    fake->engine.ops = &ops;
    fake->options = *options;
    if (getenv("BALE_FAKE_MEMORY"))
        (void)sscanf(getenv("BALE_FAKE_MEMORY"), "%" SCNuPTR " %zu %" SCNuPTR, &fake->memory,
                     &fake->memory_size, &fake->real);
    fake->end = &fake->first;
    snprintf(fake->stats.device, sizeof fake->stats.device, "Fake GPU");
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->wake, NULL);
    if (pthread_create(&fake->thread, NULL, work, fake) != 0)
        abort();
    *engine = &fake->engine;
    return BALE_OK;
}

static int find(struct bale_gpu_found *found, char why[BALE_GPU_WHY])
{
    *found = (struct bale_gpu_found){0};
    hang_if("find-hangs");
    if (told("find-dies"))
        abort();
    if (told("find")) {
        snprintf(why, BALE_GPU_WHY, "no driver: it was told that there is none");
        return BALE_E_DEVICE;
    }
    found->device_count = 2;
    found->codecs = fake_codecs();
    found->chosen = 1;
    for (unsigned i = 0; i < found->device_count; i++) {
        struct bale_gpu_device *device = &found->devices[i];
        snprintf(device->name, sizeof device->name, "Fake GPU");
        device->memory = (uint64_t)80 << 30;
        device->free = i == 0 ? UINT64_MAX : (uint64_t)60 << 30;
        device->mode = told("exclusive") ? BALE_GPU_EXCLUSIVE : BALE_GPU_SHARED;
    }
    found->devices[0].mode = BALE_GPU_PROHIBITED;
    if (told("lacks"))
        snprintf(found->missing, sizeof found->missing, "libfake.so.1 is not found");
    if (told("exclusive"))
        snprintf(why, BALE_GPU_WHY, "Fake GPU: its compute mode is exclusive");
    return told("exclusive") ? BALE_E_DEVICE : BALE_OK;
}

static bool is_pinned(struct fake *fake, const uint8_t *start, size_t size)
{
    for (unsigned i = 0; i < fake->range_count; i++) {
        const uint8_t *from = fake->ranges[i].start;
        size_t part = fake->ranges[i].size;
        if (start >= from && start < from + part) {
            size_t inside = (size_t)(from + part - start);
            return size <= inside || is_pinned(fake, from + part, size - inside);
        }
    }
    return false;
}

static bool takes(struct bale_engine *engine, const struct bale_item *item)
{
    struct fake *fake = (struct fake *)engine;
    size_t stored = item->kind == BALE_ITEM_ENCODE ? item->capacity : item->stored_length;

    if (told("any"))
        return true;
    pthread_mutex_lock(&fake->lock);
    bool raw = item->place == BALE_PLACE_DEVICE
                   ? item->device == DEVICE && is_device(fake, item->raw)
                   : is_pinned(fake, item->raw, item->frame.raw_length);
    bool pinned = raw && is_pinned(fake, item->stored, stored);
    pthread_mutex_unlock(&fake->lock);
    return pinned;
}

static int pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct fake *fake = (struct fake *)engine;
    unsigned most = told("pin") ? told("pin") : RANGES;
    int err = BALE_E_NOMEM;

    hang_if("pin-hangs");
    pthread_mutex_lock(&fake->lock);
    if (fake->range_count < most) {
        fake->ranges[fake->range_count].start = memory;
        fake->ranges[fake->range_count++].size = size;
        fake->stats.pinned += size;
        err = BALE_OK;
    }
    pthread_mutex_unlock(&fake->lock);
    return err;
}

static void get_stats(struct bale_engine *engine, struct bale_gpu_stats *stats)
{
    struct fake *fake = (struct fake *)engine;

    pthread_mutex_lock(&fake->lock);
    *stats = fake->stats;
    stats->open = !told("cold");
    stats->codecs = fake_codecs();
    pthread_mutex_unlock(&fake->lock);
}

static int place(struct bale_engine *engine, const void *memory, enum bale_place *place,
                 int *device)
{
    struct fake *fake = (struct fake *)engine;

    *place = is_device(fake, memory) ? BALE_PLACE_DEVICE : BALE_PLACE_HOST;
    *device = DEVICE;
    return BALE_OK;
}

static int wait_stream(struct bale_engine *engine, void *stream)
{
    (void)engine;
    (*(void (**)(void))stream)();
    return BALE_OK;
}

static int copy(struct bale_engine *engine, const struct bale_gpu_copy *copies, size_t count)
{
    struct fake *fake = (struct fake *)engine;

    for (size_t i = 0; i < count; i++) {
        if (++fake->copies == told("copy"))
            return BALE_E_DEVICE;
        if (copies[i].from)
            memcpy(real(fake, copies[i].to), real(fake, copies[i].from), copies[i].length);
        else
            memset(real(fake, copies[i].to), 0, copies[i].length);
    }
    return BALE_OK;
}

extern const struct bale_gpu bale_gpu_plugin;
const struct bale_gpu bale_gpu_plugin = {
    .abi = FAKE_ABI,
    .open = open_fake,
    .find = find,
    .measure = fake_measure,
    .takes = takes,
    .pin = pin,
    .stats = get_stats,
    .place = place,
    .wait = wait_stream,
    .copy = copy,
};
