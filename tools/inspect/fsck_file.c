/* fsck of one container. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/common/size.h"
#include "tools/inspect/fsck.h"
#include "tools/inspect/repair_file.h"

enum { QUEUED = 4 }; /* files for each thread */

/* One container that is checked. */
struct fsck_file {
    struct bale_job job;
    struct bale_fsck *fsck;
    bool damaged;
    bool doubt;    /* its root is */
    bool reported; /* that it is, or was before the repair */
    char below[];  /* relative to the store */
};

static void report_fault(void *arg, const struct bale_fault *fault)
{
    struct fsck_file *file = arg;

    file->damaged = true;
    bale_fsck_problem(file->fsck, file->below, fault);
}

/* Reports set-id bits for administrators who look for such files with find -perm, which sees only
 * the mode of the backing file. */
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

static void report_doubt(struct fsck_file *file, enum bale_recovery recovery)
{
    if (serving(recovery) && !file->reported)
        bale_fsck_doubt(file->fsck, file->below, bale_recovery_text(recovery), serving(recovery));
    file->reported = true;
}

static void report_recovery(struct fsck_file *file, enum bale_recovery recovery)
{
    char text[BALE_REASON_SIZE];

    file->doubt = serving(recovery);
    if (recovery == BALE_RECOVERY_CUT_OFF) {
        snprintf(text, sizeof text, "note: %s", bale_recovery_text(recovery));
        bale_fsck_note(file->fsck, file->below, text);
    }
    report_doubt(file, recovery);
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

static void count_fault(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    (void)fault;
}

/* Whether a repair can do something for a container that was opened by the rules. */
static bool needs_repair(struct fsck_file *file, int err, struct bale_container *container)
{
    if (err != BALE_OK)
        return err == BALE_E_CORRUPT;
    if (bale_container_recovery(container) != BALE_RECOVERY_NONE)
        return true;
    return bale_container_check(container, NULL, false, count_fault, file) == BALE_E_CORRUPT;
}

static void report_found(void *arg, const struct bale_segment *segment)
{
    struct fsck_file *file = arg;

    bale_fsck_unplaced(file->fsck, file->below, segment);
}

static void report_repair(struct fsck_file *file, const struct bale_repair *done)
{
    struct bale_fsck *fsck = file->fsck;
    const struct bale_salvage *salvaged = &done->salvaged;
    char text[BALE_REASON_SIZE], placed[BALE_TEXT], lost[BALE_TEXT];

    if (done->pages > 0) {
        snprintf(text, sizeof text, "%u lost page%s of its index: restored from its frames",
                 done->pages, done->pages > 1 ? "s" : "");
        bale_fsck_repaired(fsck, file->below, text);
    }
    if (done->slot)
        bale_fsck_repaired(fsck, file->below, "a lost root slot: written again");
    if (done->settled)
        bale_fsck_repaired(fsck, file->below, "its root is settled");
    if (salvaged->ranges > 0 && done->salvage) {
        snprintf(text, sizeof text, "its index: made again with %s of frames, and %s stay lost",
                 bale_size_text(salvaged->placed, placed), bale_size_text(salvaged->lost, lost));
        bale_fsck_repaired(fsck, file->below, text);
    }
}

/* Repairs the container before the check, which then finds only what cannot be repaired. recovery:
 * of opening the container by the rules. Sets file->doubt. */
static void repair_file(struct fsck_file *file, int err, enum bale_recovery recovery)
{
    struct bale_fsck *fsck = file->fsck;
    bool doubt = err == BALE_OK && serving(recovery);
    struct bale_reason why;
    struct bale_repair repair = {
        .write = fsck->repair && !fsck->plan,
        .settle = doubt && !fsck->keep_doubts,
        .salvage = fsck->salvage && !(doubt && fsck->keep_doubts),
        .stuck = err != BALE_OK,
        .found = report_found,
        .arg = file,
    };
    int done =
        bale_repair_file(&fsck->reader, file->below, err, recovery, fsck->pick, &repair, &why);

    if (done == BALE_E_INVALID && repair.settle) { /* there is no such root, so the doubt stays */
        bale_fsck_unreadable(fsck, file->below, why.text);
        repair.settle = repair.salvage = false;
        done = bale_repair_file(&fsck->reader, file->below, err, recovery, BALE_PICK_BY_RULES,
                                &repair, &why);
    }
    if (done > 0)
        report_repair(file, &repair);
    else if (done < 0)
        bale_fsck_unreadable(fsck, file->below, why.text);
}

/* Opens the container; with --repair, repairs it, if need be, and opens it again. */
static int open_file(struct fsck_file *file, struct bale_container **container,
                     struct bale_reason *why)
{
    const struct bale_reader *reader = &file->fsck->reader;
    int err = bale_reader_open_container_at(reader, file->below, container, why);

    if (!file->fsck->repair || !needs_repair(file, err, *container))
        return err;
    enum bale_recovery recovery =
        err == BALE_OK ? bale_container_recovery(*container) : BALE_RECOVERY_NONE;
    report_doubt(file, recovery);
    bale_container_close(*container);
    repair_file(file, err, recovery);
    return bale_reader_open_container_at(reader, file->below, container, why);
}

static void fsck_file_check(struct bale_job *job, struct bale_scratch *scratch)
{
    static const struct bale_fault no_root = {.what = "no root is whole"};
    struct fsck_file *file = (struct fsck_file *)job;
    struct bale_fsck *fsck = file->fsck;
    struct bale_container *container;
    struct bale_reason why;
    uint64_t stored = 0;
    int err = open_file(file, &container, &why);

    if (err == BALE_OK) {
        stored = check_container(file, container, scratch);
        bale_container_close(container);
    } else if (err == BALE_E_CORRUPT) {
        report_fault(file, &no_root);
    } else {
        bale_fsck_unreadable(fsck, file->below, why.text);
    }
    pthread_mutex_lock(&fsck->lock);
    fsck->files++;
    fsck->bytes += stored;
    fsck->damaged += file->damaged;
    fsck->doubts += file->doubt;
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
