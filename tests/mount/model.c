/* See model.h and model.sh.
 *
 * usage: model round [--seed N] [--threads N] [--operations N] MNT PLAIN
 *        model compare MNT PLAIN */
#include "tests/mount/model.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/content.h"

enum { THREADS_MAX = 16 };

atomic_bool model_failed;
struct model_shared model_shared[MODEL_SHARED];

static unsigned operations = 2000;
static unsigned threads = 4;
static uint64_t seed = 1;
static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t model_random(struct model_actor *actor, uint64_t below)
{
    actor->random++;
    return below ? content_mix(actor->random) % below : 0;
}

bool model_chance(struct model_actor *actor, unsigned percent)
{
    return model_random(actor, 100) < percent;
}

void model_note(struct model_actor *actor, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(actor->lines[actor->line++ % MODEL_LINES], MODEL_LINE, format, arguments);
    va_end(arguments);
}

void model_fail(struct model_actor *actor, const char *format, ...)
{
    va_list arguments;

    if (atomic_exchange(&model_failed, true))
        return; /* the first says most */
    pthread_mutex_lock(&report_lock);
    fprintf(stderr, "model: seed %ju: thread %u, operation %ju: ", (uintmax_t)seed, actor->number,
            (uintmax_t)actor->line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\nmodel: what it did last:\n", stderr);
    uint64_t first = actor->line > MODEL_LINES ? actor->line - MODEL_LINES : 0;
    for (uint64_t i = first; i < actor->line; i++)
        fprintf(stderr, "  %ju %s\n", (uintmax_t)i, actor->lines[i % MODEL_LINES]);
    pthread_mutex_unlock(&report_lock);
}

static void share(struct model_actor *actor)
{
    struct model_shared *file = &model_shared[model_random(actor, MODEL_SHARED)];
    struct model_handle handle = {.fd = {-1, -1}};
    bool whole = model_chance(actor, 30);

    if (whole) {
        pthread_rwlock_wrlock(&file->lock);
        if (model_handle_open(actor, &handle, file->name, O_RDWR | O_CREAT))
            model_data(actor, &handle);
    } else {
        size_t region = (size_t)model_random(actor, MODEL_REGIONS);
        pthread_rwlock_rdlock(&file->lock);
        pthread_mutex_lock(&file->regions[region]);
        if (model_handle_open(actor, &handle, file->name, O_RDWR | O_CREAT))
            model_region(actor, &handle, region * (uint64_t)MODEL_REGION, MODEL_REGION);
        pthread_mutex_unlock(&file->regions[region]);
    }
    model_handle_close(actor, &handle);
    pthread_rwlock_unlock(&file->lock);
}

static void *act(void *arg)
{
    struct model_actor *actor = arg;

    for (unsigned i = 0; i < operations && !atomic_load(&model_failed); i++) {
        struct model_handle *handle = &actor->handles[model_random(actor, MODEL_HANDLES)];
        unsigned kind = (unsigned)model_random(actor, 100);
        if (kind < 20)
            share(actor);
        else if (kind < 40 || handle->fd[MOUNT] < 0)
            model_names(actor);
        else
            model_data(actor, handle);
    }
    for (unsigned i = 0; i < MODEL_HANDLES; i++)
        model_handle_close(actor, &actor->handles[i]);
    return NULL;
}

static struct model_actor *make_actor(unsigned number, const int *roots)
{
    struct model_actor *actor = calloc(1, sizeof *actor);

    if (!actor)
        abort();
    actor->number = number;
    actor->random = content_mix(seed * 1000 + number);
    for (unsigned side = 0; side < SIDES; side++) {
        char name[32];
        snprintf(name, sizeof name, "t%u", number);
        actor->root[side] = roots[side];
        actor->buffer[side] = aligned_alloc(4096, MODEL_BUFFER);
        if (!actor->buffer[side])
            abort();
        if (mkdirat(roots[side], name, 0755) != 0 && errno != EEXIST)
            model_fail(actor, "mkdir %s: %s", name, strerror(errno));
    }
    for (unsigned i = 0; i < MODEL_NAMES; i++)
        snprintf(actor->names[i], sizeof actor->names[i], i < 6 ? "t%u/f%u" : "mix/t%u-%u", number,
                 i);
    for (unsigned i = 0; i < MODEL_HANDLES; i++)
        actor->handles[i].fd[MOUNT] = actor->handles[i].fd[PLAIN] = -1;
    return actor;
}

static int round_of_all(const int *roots)
{
    struct model_actor *actors[THREADS_MAX];
    pthread_t ids[THREADS_MAX];

    for (unsigned i = 0; i < MODEL_SHARED; i++) {
        pthread_rwlock_init(&model_shared[i].lock, NULL);
        for (unsigned j = 0; j < MODEL_REGIONS; j++)
            pthread_mutex_init(&model_shared[i].regions[j], NULL);
        snprintf(model_shared[i].name, sizeof model_shared[i].name, "mix/shared%u", i);
    }
    for (unsigned side = 0; side < SIDES; side++)
        (void)mkdirat(roots[side], "mix", 0755);
    for (unsigned i = 0; i < threads; i++) {
        actors[i] = make_actor(i, roots);
        if (pthread_create(&ids[i], NULL, act, actors[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        free(actors[i]->buffer[MOUNT]);
        free(actors[i]->buffer[PLAIN]);
        free(actors[i]);
    }
    if (atomic_load(&model_failed))
        return EXIT_FAILURE;
    return model_compare(roots[MOUNT], roots[PLAIN], false) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int usage(void)
{
    fputs("usage: model round [--seed N] [--threads N] [--operations N] MNT PLAIN\n"
          "       model compare MNT PLAIN\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"seed", required_argument, NULL, 's'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"operations", required_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    int option, roots[SIDES];

    umask(022);
    while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (option) {
        case 's':
            seed = strtoull(optarg, NULL, 10);
            break;
        case 't':
            threads = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'o':
            operations = (unsigned)strtoul(optarg, NULL, 10);
            break;
        default:
            return usage();
        }
    }
    if (argc - optind != 3 || threads < 1 || threads > THREADS_MAX)
        return usage();
    for (unsigned side = 0; side < SIDES; side++) {
        roots[side] = open(argv[optind + 1 + (int)side], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (roots[side] < 0) {
            fprintf(stderr, "model: %s: %s\n", argv[optind + 1 + (int)side], strerror(errno));
            return 2;
        }
    }
    if (strcmp(argv[optind], "round") == 0)
        return round_of_all(roots);
    if (strcmp(argv[optind], "compare") == 0)
        return model_compare(roots[MOUNT], roots[PLAIN], true) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    return usage();
}
