/* The program with another default, for the tests: linked with -Wl,--wrap for the functions below.
 * A mount that does not say which engine it wants has engine=gpu, and can be used only when the GPU
 * engine is open or given up. The GPU gets also what somebody waits for, or short tests would not
 * reach it. BALE_TEST_CODEC: what an engine encodes is encoded with this codec, whatever the file's
 * setting is. What the GPU did goes to the file that BALE_GPU_REPORT names, for
 * tests/support/gpu_report: lines on the way, for mounts that are killed, and one at the end. */
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/cache/volume.h"
#include "fs/daemon/daemon.h"
#include "kernels/engine/dispatch.h"
#include "kernels/frame/setting.h"

int __real_bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                             void (*ready)(void *arg), void *arg);
int __wrap_bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                             void (*ready)(void *arg), void *arg);
int __real_bale_dispatch_create(const struct bale_dispatch_options *options,
                                struct bale_engine **engine);
int __wrap_bale_dispatch_create(const struct bale_dispatch_options *options,
                                struct bale_engine **engine);
int __real_bale_volume_create(const struct bale_volume_options *options,
                              struct bale_volume **volume);
int __wrap_bale_volume_create(const struct bale_volume_options *options,
                              struct bale_volume **volume);
void __real_bale_dispatch_open(struct bale_engine *engine);
void __wrap_bale_dispatch_open(struct bale_engine *engine);
void __real_bale_engine_destroy(struct bale_engine *engine);
void __wrap_bale_engine_destroy(struct bale_engine *engine);

/* A process serves one mount. */
static struct {
    bool wanted;                /* that mount is to have the GPU */
    struct bale_engine *engine; /* and this is its dispatcher */
    struct bale_engine_ops ops; /* with these */
    const struct bale_engine_ops *dispatch;
    struct bale_dispatch_options asked; /* what it was made with */
    sem_t decided;                      /* the GPU engine is open or given up */
    atomic_uint_fast64_t submits;
    bool forced; /* everything is encoded with: */
    struct bale_setting setting;
} on_gpu;

static void force_codec(void)
{
    const char *codec = getenv("BALE_TEST_CODEC");
    struct bale_reason why = {0};

    if (!codec)
        return;
    if (bale_setting_parse(codec, &on_gpu.setting, &why) != BALE_OK) {
        fprintf(stderr, "BALE_TEST_CODEC=%s: %s\n", codec, why.text);
        abort();
    }
    on_gpu.forced = true;
}

int __wrap_bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                             void (*ready)(void *arg), void *arg)
{
    struct bale_mount_options changed = *options;

    force_codec();
    on_gpu.wanted = options->engine.choice != BALE_ENGINE_CPU;
    if (on_gpu.wanted)
        changed.engine.choice = BALE_ENGINE_GPU;
    /* As little as all codecs need: many mounts are there at a time. */
    if (on_gpu.wanted && changed.engine.gpu.memory == 0)
        changed.engine.gpu.memory = (uint64_t)2304 << 20;
    return __real_bale_daemon_serve(&changed, why, ready, arg);
}

static void hear(int level, const char *text)
{
    on_gpu.asked.gpu.log(level, text);
    if (strstr(text, ": the CPU does everything"))
        sem_post(&on_gpu.decided);
}

static void note_opened(void *arg)
{
    on_gpu.asked.opened(arg);
    sem_post(&on_gpu.decided);
}

/* TEST PID ITEMS BATCHES ENCODED DECODED REDONE MISMATCHES USED DEVICE */
static void report(void)
{
    const char *file = getenv("BALE_GPU_REPORT");
    const char *test = getenv("BALE_TEST");
    struct bale_dispatch_stats stats;
    int fd = file ? open(file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    bale_dispatch_stats(on_gpu.engine, &stats);
    dprintf(
        fd,
        "%s %ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s\n",
        test ? test : "-", (long)getpid(), stats.gpu.items, stats.batches, stats.gpu.encoded,
        stats.gpu.decoded, stats.redone, stats.device.mismatches, stats.used, stats.device.device);
    close(fd);
}

static void change(struct bale_item *item)
{
    if (item->priority == BALE_PRIORITY_HIGH)
        item->priority = BALE_PRIORITY_NORMAL;
    if (on_gpu.forced && item->kind == BALE_ITEM_ENCODE)
        item->setting = on_gpu.setting;
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    for (struct bale_item *item = list; item; item = item->next)
        change(item);
    on_gpu.dispatch->submit(engine, list);
    uint64_t count = atomic_fetch_add(&on_gpu.submits, 1) + 1;
    if ((count & (count - 1)) == 0)
        report();
}

static bool run_inline(struct bale_engine *engine, struct bale_item *item,
                       struct bale_scratch *scratch)
{
    change(item);
    return on_gpu.dispatch->run_inline(engine, item, scratch);
}

static void take(struct bale_engine *engine)
{
    on_gpu.engine = engine;
    on_gpu.dispatch = engine->ops;
    on_gpu.ops = *engine->ops;
    on_gpu.ops.submit = submit;
    on_gpu.ops.run_inline = run_inline;
    engine->ops = &on_gpu.ops;
}

int __wrap_bale_dispatch_create(const struct bale_dispatch_options *options,
                                struct bale_engine **engine)
{
    struct bale_dispatch_options changed = *options;

    if (on_gpu.wanted) {
        on_gpu.asked = *options;
        changed.gpu.log = hear;
        changed.opened = note_opened;
        sem_init(&on_gpu.decided, 0, 0);
    }
    int err = __real_bale_dispatch_create(&changed, engine);
    if (on_gpu.wanted && err == 0)
        take(*engine);
    return err;
}

/* What the GPU's opening changes is all there now. */
int __wrap_bale_volume_create(const struct bale_volume_options *options,
                              struct bale_volume **volume)
{
    int err = __real_bale_volume_create(options, volume);

    if (err == 0 && on_gpu.engine) {
        __real_bale_dispatch_open(on_gpu.engine);
        while (sem_wait(&on_gpu.decided) != 0)
            ;
    }
    return err;
}

void __wrap_bale_dispatch_open(struct bale_engine *engine)
{
    if (engine != on_gpu.engine)
        __real_bale_dispatch_open(engine);
}

void __wrap_bale_engine_destroy(struct bale_engine *engine)
{
    if (engine && engine == on_gpu.engine)
        report();
    __real_bale_engine_destroy(engine);
}
