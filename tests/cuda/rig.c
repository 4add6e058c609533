#include "tests/cuda/rig.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "tests/check.h"

static atomic_uint complaints;

unsigned rig_complaints(void)
{
    return atomic_load(&complaints);
}

void rig_note_quarantine(void *arg, bool may)
{
    struct rig_quarantine *late = arg;

    pthread_mutex_lock(&late->mutex);
    atomic_fetch_add(&late->calls, 1);
    atomic_store(&late->may, may);
    pthread_cond_broadcast(&late->over);
    pthread_mutex_unlock(&late->mutex);
}

void rig_quarantine_wait(struct rig_quarantine *late)
{
    pthread_mutex_lock(&late->mutex);
    while (atomic_load(&late->may))
        pthread_cond_wait(&late->over, &late->mutex);
    pthread_mutex_unlock(&late->mutex);
}

void rig_wait_for(sem_t *sem, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        while (sem_wait(sem) != 0)
            ;
}

static void print_log(int level, const char *text)
{
    if (level <= BALE_GPU_WARNING)
        atomic_fetch_add(&complaints, 1);
    fprintf(stderr, "log %d: %s\n", level, text);
}

/* Says why and ends the program where there is no device; any other failure is one. */
static void skip_without_device(struct rig *rig)
{
    struct bale_gpu_options options = {.log = print_log};
    struct bale_reason why = {0};
    char text[BALE_REASON_SIZE + 32];
    int err = rig->gpu->open(&options, &rig->engine, &why);

    if (err == BALE_E_DEVICE) {
        CHECK(why.text[0] != '\0');
        snprintf(text, sizeof text, "no GPU: %s", why.text);
        check_skip(text);
    }
    if (!CHECK_EQ(err, BALE_OK))
        fprintf(stderr, "open: %s\n", why.text);
    REQUIRE(err == BALE_OK);
    bale_engine_destroy(rig->engine);
}

void rig_load(struct rig *rig, const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct bale_reason why = {0};

    *rig = (struct rig){.file = file};
    pthread_mutex_init(&rig->mutex, NULL);
    pthread_cond_init(&rig->all_done, NULL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    REQUIRE(library);
    rig->gpu = dlsym(library, "bale_gpu_plugin");
    REQUIRE(rig->gpu && rig->gpu->abi == BALE_GPU_ABI);
    *(void **)&rig->fault = dlsym(library, "bale_cuda_fault_set");
    skip_without_device(rig);
    (void)rig->gpu->find(&rig->found, &why); /* with an error, too, it says which codecs */
}

bool rig_has(const struct rig *rig, uint8_t codec)
{
    return rig->found.codecs >> codec & 1;
}

void rig_say_missing(const struct rig *rig)
{
    if (rig->found.missing.text[0])
        printf("skipped: no nvCOMP: %s: zstd and lz4 are not checked\n", rig->found.missing.text);
}

void rig_reserve(struct rig *rig, size_t size)
{
    if (rig->memory)
        munmap(rig->memory, rig->size);
    rig->size = (size + RIG_STEP - 1) / RIG_STEP * RIG_STEP;
    rig->memory = mmap(NULL, rig->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    REQUIRE(rig->memory != MAP_FAILED);
}

void rig_open(struct rig *rig, const struct bale_gpu_options *options)
{
    struct bale_gpu_options with_log = *options;
    struct bale_reason why = {0};

    with_log.log = print_log;
    if (!CHECK_EQ(rig->gpu->open(&with_log, &rig->engine, &why), BALE_OK)) {
        fprintf(stderr, "open: %s\n", why.text);
        exit(EXIT_FAILURE);
    }
    for (size_t at = 0; at < rig->size; at += RIG_STEP)
        REQUIRE(rig->gpu->pin(rig->engine, rig->memory + at, RIG_STEP) == BALE_OK);
}

void rig_close(struct rig *rig)
{
    bale_engine_destroy(rig->engine);
}

static void note_done(struct bale_item *item)
{
    struct rig *rig = item->owner;

    pthread_mutex_lock(&rig->mutex);
    if (--rig->waiting == 0)
        pthread_cond_signal(&rig->all_done);
    pthread_mutex_unlock(&rig->mutex);
}

void rig_run(struct rig *rig, struct bale_item *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        items[i].done = note_done;
        items[i].owner = rig;
        items[i].status = 1;
        items[i].next = i + 1 < count ? &items[i + 1] : NULL;
    }
    rig->waiting = count;
    bale_engine_submit(rig->engine, items);
    pthread_mutex_lock(&rig->mutex);
    while (rig->waiting > 0)
        pthread_cond_wait(&rig->all_done, &rig->mutex);
    pthread_mutex_unlock(&rig->mutex);
}

bool rig_all(const uint8_t *begin, const uint8_t *end, uint8_t value)
{
    size_t length = (size_t)(end - begin);

    return length == 0 || (begin[0] == value && memcmp(begin, begin + 1, length - 1) == 0);
}

struct bale_gpu_stats rig_stats(struct rig *rig)
{
    struct bale_gpu_stats stats;

    rig->gpu->stats(rig->engine, &stats);
    return stats;
}

void rig_wait(struct rig *rig, bool open)
{
    while (rig_stats(rig).open != open)
        usleep(1000);
}
