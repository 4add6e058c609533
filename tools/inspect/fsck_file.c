/* fsck of one container. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/inspect/fsck.h"
#include "tools/inspect/repair.h"

enum { QUEUED = 4 }; /* files for each thread */

/* One container that is checked. */
struct fsck_file {
    struct bale_job job;
    struct bale_fsck *fsck;
    bool damaged;
    enum bale_recovery recovery;
    char below[]; /* relative to the store */
};

static void report_fault(void *arg, const struct bale_fault *fault)
{
    struct fsck_file *file = arg;

    file->damaged = true;
    bale_fsck_problem(file->fsck, file->below, fault);
}

/* For administrators who look for such files with find -perm, which sees the backing file's mode
 * alone. */
static void note_set_id(const struct fsck_file *file, struct bale_container *container,
                        uint16_t mode)
{
    char text[BALE_REASON_SIZE];
    struct stat st;

    if (!(mode & (S_ISUID | S_ISGID)) || !file->fsck->reader.config.modes_in_container ||
        fstat(bale_io_fd(bale_container_io(container)), &st) != 0)
        return;
    mode &= 07777;
    if (bale_root_permissions(mode, st.st_mode) == mode)
        snprintf(text, sizeof text, "note: mode %04o, of user %u and group %u", mode,
                 (unsigned)st.st_uid, (unsigned)st.st_gid);
    else
        snprintf(text, sizeof text,
                 "note: mode %04o is in the container, and the backing file has %04o: only what "
                 "both have counts",
                 mode, st.st_mode & 07777);
    bale_fsck_note(file->fsck, file->below, text);
}

/* The root that serves, in words; NULL: it is not in doubt. */
static const char *serving(enum bale_recovery recovery)
{
    switch (recovery) {
    case BALE_RECOVERY_MISSING:
        return "older";
    case BALE_RECOVERY_DAMAGE:
        return "newest";
    case BALE_RECOVERY_BLANK:
        return "none";
    default:
        return NULL;
    }
}

static void report_recovery(struct fsck_file *file, enum bale_recovery recovery)
{
    struct bale_fsck *fsck = file->fsck;
    const char *what = bale_recovery_text(recovery), *serves = serving(recovery);
    char text[BALE_REASON_SIZE];

    file->recovery = recovery;
    if (recovery == BALE_RECOVERY_CUT_OFF) {
        snprintf(text, sizeof text, "note: %s", what);
        bale_fsck_note(fsck, file->below, text);
    }
    if (serves)
        bale_fsck_doubt(fsck, file->below, what, serves);
}

/* Settles what the check has found. Nothing else has the container open. */
static void repair_container(struct fsck_file *file)
{
    struct bale_fsck *fsck = file->fsck;
    bool doubt = serving(file->recovery);
    struct bale_reason why;

    if (doubt && fsck->repair && !fsck->keep_doubts) {
        if (bale_repair_container(&fsck->reader, file->below, fsck->pick, &why) == BALE_OK) {
            bale_fsck_repaired(fsck, file->below, "its root is settled");
            doubt = false;
        } else {
            bale_fsck_unreadable(fsck, file->below, why.text);
        }
    }
    pthread_mutex_lock(&fsck->lock);
    fsck->doubts += doubt;
    pthread_mutex_unlock(&fsck->lock);
}

static uint64_t check_container(struct fsck_file *file, struct bale_container *container,
                                struct bale_scratch *scratch)
{
    struct bale_fsck *fsck = file->fsck;
    struct bale_container_attr attr;
    char text[BALE_REASON_SIZE];

    report_recovery(file, bale_container_recovery(container));
    bale_container_attr(container, &attr);
    note_set_id(file, container, attr.mode);
    int err = bale_container_check(container, scratch, fsck->data, report_fault, file);
    if (err != BALE_OK && err != BALE_E_CORRUPT) {
        snprintf(text, sizeof text, "cannot be checked: %s", bale_err_text(err));
        bale_fsck_unreadable(fsck, file->below, text);
    }
    return attr.stored;
}

/* Before the check, which then finds only what cannot be restored. A container without a valid root
 * is the check's to report. */
static void restore_file(struct fsck_file *file)
{
    struct bale_fsck *fsck = file->fsck;
    struct bale_reason why;
    char text[BALE_REASON_SIZE];
    int done = bale_repair_index(&fsck->reader, file->below, &why);

    if (done > 0) {
        snprintf(text, sizeof text, "%d lost page%s of its index: restored from its frames", done,
                 done > 1 ? "s" : "");
        bale_fsck_repaired(fsck, file->below, text);
    }
    if (done >= 0)
        done = bale_repair_slot(&fsck->reader, file->below, &why);
    if (done > 0)
        bale_fsck_repaired(fsck, file->below, "a lost root slot: written again");
    if (done < 0 && done != BALE_E_CORRUPT)
        bale_fsck_unreadable(fsck, file->below, why.text);
}

static void fsck_file_check(struct bale_job *job, struct bale_scratch *scratch)
{
    static const struct bale_fault no_root = {.what = "no root is whole"};
    struct fsck_file *file = (struct fsck_file *)job;
    struct bale_fsck *fsck = file->fsck;
    struct bale_container *container;
    struct bale_reason why;
    uint64_t stored = 0;

    if (fsck->repair)
        restore_file(file);
    int err = bale_reader_open_container_at(&fsck->reader, file->below, &container, &why);

    if (err == BALE_OK) {
        stored = check_container(file, container, scratch);
        bale_container_close(container);
        repair_container(file);
    } else if (err == BALE_E_CORRUPT) {
        report_fault(file, &no_root);
    } else {
        bale_fsck_unreadable(fsck, file->below, why.text);
    }
    pthread_mutex_lock(&fsck->lock);
    fsck->files++;
    fsck->bytes += stored;
    fsck->damaged += file->damaged;
    fsck->flying--;
    bale_progress_show(&fsck->progress, fsck->files, fsck->bytes);
    pthread_cond_signal(&fsck->less);
    pthread_mutex_unlock(&fsck->lock);
    free(file);
}

void bale_fsck_submit(struct bale_fsck *fsck, const char *below)
{
    size_t length = strlen(below) + 1;
    struct fsck_file *file = calloc(1, sizeof *file + length);

    if (!file) {
        bale_fsck_unreadable(fsck, below, "out of memory");
        return;
    }
    file->job.run = fsck_file_check;
    file->fsck = fsck;
    memcpy(file->below, below, length);
    pthread_mutex_lock(&fsck->lock);
    while (fsck->flying >= QUEUED * fsck->threads)
        pthread_cond_wait(&fsck->less, &fsck->lock);
    fsck->flying++;
    pthread_mutex_unlock(&fsck->lock);
    bale_pool_submit(fsck->pool, &file->job);
}
