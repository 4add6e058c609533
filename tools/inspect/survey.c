#include "tools/inspect/survey.h"

#include <errno.h>
#include <fts.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/thread.h"
#include "tools/common/control.h"
#include "tools/common/message.h"

#define TRIES 5 /* of a container that is being written */
#define STAT_MAX (64u << 10)
#define STANDSTILL 4 /* seconds without progress after which the mount's daemon is asked */

/* The walk over one path, on its thread. */
struct survey_task {
    struct bale_survey *survey;
    const char *path;
    struct bale_location location;
    struct bale_inode_set seen;

    /* Under the survey's lock: */
    struct bale_totals sum;
    uint64_t steps; /* entries that were visited */
    bool done;
    int err;
    pthread_cond_t ended;
};

static atomic_bool hangs;

static void say(struct survey_task *task, const char *path, const char *why)
{
    struct bale_survey *survey = task->survey;

    pthread_mutex_lock(&survey->lock);
    bale_progress_end(&survey->progress);
    bale_message("%s: %s", path, why);
    survey->failed = true;
    pthread_mutex_unlock(&survey->lock);
}

static int from_mount(const char *path, const struct stat *st, struct bale_totals *totals,
                      struct bale_reason *why)
{
    static char text[STAT_MAX];
    ssize_t got = getxattr(path, BALE_XATTR_STAT, text, sizeof text);
    int err = got < 0 ? bale_err_from_errno(errno) : bale_totals_parse(totals, text, (size_t)got);

    if (got < 0)
        bale_reason_set(why, "its statistics cannot be read: %s", strerror(errno));
    else if (err != BALE_OK)
        bale_reason_set(why, "its statistics are not valid: does another version serve the mount?");
    totals->space.logical = (uint64_t)st->st_size;
    totals->space.disk = (uint64_t)st->st_blocks * 512;
    return err;
}

static int from_container(const struct bale_reader *reader, const char *below,
                          const struct stat *st, struct bale_totals *totals,
                          struct bale_reason *why)
{
    struct bale_container_usage usage;
    struct bale_container_attr attr;
    struct bale_container *container;
    int err = BALE_E_STALE;

    for (int i = 0; i < TRIES && (err == BALE_E_STALE || err == BALE_E_CORRUPT); i++) {
        err = bale_reader_open_container_at(reader, below, &container, why);
        if (err != BALE_OK)
            continue;
        err = bale_container_usage(container, &usage);
        bale_container_attr(container, &attr);
        bale_container_close(container);
        if (err != BALE_OK)
            bale_reason_set(why, "its index cannot be read: %s: see balefs fsck",
                            bale_err_text(err));
    }
    if (err == BALE_OK)
        bale_totals_file(totals, &attr, (uint64_t)st->st_blocks * 512, &usage);
    return err;
}

/* False: no memory. */
static bool add_file(struct survey_task *task, const FTSENT *entry,
                     const struct bale_totals *totals)
{
    struct bale_survey *survey = task->survey;
    const struct stat *st = entry->fts_statp;
    int err = 1;

    pthread_mutex_lock(&survey->lock);
    bale_totals_add(&task->sum, totals);
    if (survey->once)
        err = bale_inode_set_add(&survey->counted, st->st_dev, st->st_ino);
    if (err == 1) {
        bale_totals_add(&survey->all, totals);
        err = survey->types ? bale_types_add(survey->types, entry->fts_name, totals) : BALE_OK;
    }
    pthread_mutex_unlock(&survey->lock);
    return err == BALE_OK;
}

static void visit_file(struct survey_task *task, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    struct bale_totals totals = {0};
    struct bale_reason why;
    int err;

    if (st->st_nlink > 1 && (err = bale_inode_set_add(&task->seen, st->st_dev, st->st_ino)) <= 0) {
        if (err < 0)
            say(task, entry->fts_path, "out of memory");
        return;
    }
    if (task->location.mounted) {
        err = from_mount(entry->fts_path, st, &totals, &why);
    } else {
        const char *below = entry->fts_path + strlen(task->location.top);
        err = from_container(&task->survey->reader, below + strspn(below, "/"), st, &totals, &why);
    }
    if (err == BALE_E_NOENT)
        return; /* it was removed meanwhile */
    if (err != BALE_OK)
        say(task, entry->fts_path, why.text);
    else if (!add_file(task, entry, &totals))
        say(task, entry->fts_path, "out of memory");
}

static bool is_private(const struct survey_task *task, const FTSENT *entry)
{
    return !task->location.mounted && task->location.below[0] == '\0' && entry->fts_level == 1 &&
           strcmp(entry->fts_name, BALE_STORE_DIR) == 0;
}

static void show_progress(struct survey_task *task)
{
    const struct bale_space *space = &task->sum.space;

    pthread_mutex_lock(&task->survey->lock);
    task->steps++;
    bale_progress_show(&task->survey->progress, space->files, space->logical);
    pthread_mutex_unlock(&task->survey->lock);
}

static void visit(struct survey_task *task, FTS *fts, FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_D:
        if (is_private(task, entry))
            fts_set(fts, entry, FTS_SKIP);
        break;
    case FTS_F:
        visit_file(task, entry);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        if (entry->fts_errno != ENOENT || entry->fts_level == 0)
            say(task, entry->fts_path, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
    show_progress(task);
}

static void close_store(struct bale_survey *survey)
{
    bale_reader_close(&survey->reader);
    free(survey->store_path);
    survey->store_path = NULL;
}

/* Keeps the store open between paths, because a shell's * gives many of them. */
static int use_store(struct bale_survey *survey, const char *top)
{
    struct bale_reason why;

    if (survey->store_path && strcmp(survey->store_path, top) == 0)
        return BALE_OK;
    close_store(survey);
    int err = bale_reader_open(top, BALE_STORE_UNLOCKED, &survey->reader, &why);
    if (err != BALE_OK) {
        bale_message("%s", why.text);
        return err;
    }
    survey->store_path = strdup(top);
    return survey->store_path ? BALE_OK : BALE_E_NOMEM;
}

static int walk(struct survey_task *task)
{
    char *roots[] = {task->location.real, NULL};
    FTSENT *entry;
    int err = task->location.mounted ? BALE_OK : use_store(task->survey, task->location.top);

    if (err != BALE_OK)
        return err;
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (!fts) {
        bale_message("%s: %s", task->path, strerror(errno));
        return BALE_E_NOMEM;
    }
    while (errno = 0, entry = fts_read(fts))
        visit(task, fts, entry);
    if (errno != 0)
        say(task, task->path, strerror(errno));
    fts_close(fts);
    return BALE_OK;
}

static void *survey_thread(void *arg)
{
    struct survey_task *task = arg;
    int err = bale_location_find(task->path, &task->location);

    if (err == BALE_OK)
        err = walk(task);
    pthread_mutex_lock(&task->survey->lock);
    task->err = err;
    task->done = true;
    pthread_cond_signal(&task->ended);
    pthread_mutex_unlock(&task->survey->lock);
    return NULL;
}

/* Whether something waits in the mount that path lies in, so that a walk may have to wait for
 * it. */
static bool requests_wait(const char *path, struct bale_control_status *status)
{
    return bale_control_status_by_name(path, status) &&
           (status->longest_ms >= STANDSTILL * 1000 || status->waits_thaw > 0);
}

/* Waits for a second, or until the walk has ended. Under the lock. */
static void await_progress(struct survey_task *task)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    while (!task->done &&
           pthread_cond_timedwait(&task->ended, &task->survey->lock, &until) != ETIMEDOUT) {
    }
}

/* False: it stands still because of what waits in the mount, of that status. Under the lock. */
static bool await_end(struct survey_task *task, struct bale_control_status *status)
{
    for (unsigned still = 0; !task->done;) {
        uint64_t steps = task->steps;
        await_progress(task);
        still = task->steps == steps ? still + 1 : 0;
        if (task->done || still < STANDSTILL)
            continue;
        pthread_mutex_unlock(&task->survey->lock);
        bool wait = requests_wait(task->path, status);
        pthread_mutex_lock(&task->survey->lock);
        if (wait && !task->done && task->steps == steps)
            return false;
    }
    return true;
}

static struct survey_task *task_create(struct bale_survey *survey, const char *path)
{
    struct survey_task *task = calloc(1, sizeof *task);
    pthread_condattr_t monotonic;

    if (!task)
        return NULL;
    *task = (struct survey_task){.survey = survey, .path = path};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&task->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return task;
}

static void task_destroy(struct survey_task *task)
{
    bale_inode_set_clear(&task->seen);
    bale_location_free(&task->location);
    pthread_cond_destroy(&task->ended);
    free(task);
}

void bale_survey_begin(struct bale_survey *survey)
{
    pthread_mutex_init(&survey->lock, NULL);
}

int bale_survey_path(struct bale_survey *survey, const char *path, struct bale_totals *totals)
{
    struct survey_task *task = task_create(survey, path);
    struct bale_control_status status;
    pthread_t thread;

    *totals = (struct bale_totals){0};
    bale_progress_begin(&survey->progress, "read");
    if (!task || bale_thread_start(&thread, "balefs-survey", survey_thread, task) != 0) {
        bale_message("%s: no thread can be started: end some programs", path);
        if (task)
            task_destroy(task);
        return BALE_E_NOMEM;
    }
    pthread_mutex_lock(&survey->lock);
    bool ended = await_end(task, &status);
    int err = ended ? task->err : BALE_E_BUSY;
    bale_progress_end(&survey->progress);
    *totals = task->sum;
    if (ended) {
        pthread_mutex_unlock(&survey->lock);
        pthread_join(thread, NULL);
        task_destroy(task);
        return err;
    }
    /* The walk keeps its task, and does not get the lock again. */
    pthread_detach(thread);
    atomic_store(&hangs, true);
    bale_message("%s: not everything is counted: something in it waits for %s", path,
                 status.waits_thaw > 0 ? "balefs thaw" : "the store, which stalls");
    return err;
}

void bale_survey_end(struct bale_survey *survey)
{
    if (bale_survey_hangs())
        return;
    close_store(survey);
    bale_inode_set_clear(&survey->counted);
    pthread_mutex_destroy(&survey->lock);
}

bool bale_survey_hangs(void)
{
    return atomic_load(&hangs);
}
