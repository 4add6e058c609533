#include "tools/mount/run_mounted.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/size.h"
#include "tools/mount/namespace.h"
#include "tools/mount/place.h"

#define GPU_IDLE_MS 30000 /* short, so that what follows the job finds the GPU free */

/* ---- Before ---- */

/* The daemon's process id, or 0. log gets the file that has its log; empty: there is none. */
static int daemon_process(const char *mnt, char log[static BALE_LOG_PATH])
{
    struct bale_control_status status = {0};
    bool answers = bale_control_status_at(mnt, &status);

    snprintf(log, BALE_LOG_PATH, "%s", status.log);
    return answers ? status.pid : 0;
}

/* Mounts in a child, so that the daemon inherits none of our descriptors. */
static bool mount_store(struct bale_run *run)
{
    int state;

    if (bale_namespace_needed() && bale_namespace_enter() != BALE_OK)
        return false;
    pid_t child = bale_signals_fork(&run->signals);
    if (child == 0) {
        bale_join_forget(&run->join);
        run->words.options.lifeline = run->join.reader;
        if (run->words.options.engine.gpu.release_ms == 0)
            run->words.options.engine.gpu.release_ms = GPU_IDLE_MS;
        _exit(bale_mount_store(&run->words.options, run->log));
    }
    if (child < 0) {
        bale_message("cannot fork: %s", strerror(errno));
        return false;
    }
    (void)bale_signals_wait(&run->signals, child, false, -1, &state);
    if (bale_signals_status(state) != BALE_EXIT_DONE)
        return false;
    run->daemon = daemon_process(run->mnt, run->daemon_log);
    bale_join_mounted(&run->join, run->daemon);
    return true;
}

/* Enters the mount that another task made. */
static bool enter_mount(struct bale_run *run)
{
    if (bale_namespace_join(run->daemon) != BALE_OK)
        return false;
    if (daemon_process(run->mnt, run->daemon_log) == run->daemon)
        return true;
    bale_message("%s: the mount of the other tasks does not answer: see its daemon's log",
                 run->mnt);
    return false;
}

static bool begin_run(struct bale_run *run)
{
    bool first = true;
    int err = run->shared ? bale_join_begin(&run->join, run->store, run->mnt, &run->signals, &first,
                                            &run->daemon)
                          : bale_join_alone(&run->join);

    if (err != BALE_OK || !(first ? mount_store(run) : enter_mount(run)))
        return false;
    run->daemon_fd = (int)syscall(SYS_pidfd_open, run->daemon, 0);
    return true;
}

/* ---- The command ---- */

static void __attribute__((noreturn)) be_command(const struct bale_run *run, pid_t parent)
{
    /* The command must not go on when its files are about to vanish. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(BALE_EXIT_RUN);
    if (run->inside && !bale_place_enter(run->mnt, run->inside))
        _exit(BALE_EXIT_RUN);
    bale_signals_become(run->command);
}

static int run_command(struct bale_run *run)
{
    pid_t parent = getpid(), child;
    int state;

    if (run->signals.end)
        return 128 + run->signals.end;
    child = bale_signals_fork(&run->signals);
    if (child == 0)
        be_command(run, parent);
    if (child < 0) {
        bale_message("%s: cannot be run: %s", run->command[0], strerror(errno));
        return BALE_EXIT_RUN;
    }
    (void)bale_signals_wait(&run->signals, child, true, -1, &state);
    return bale_signals_status(state);
}

/* ---- After ---- */

static int sync_store(struct bale_run *run)
{
    return bale_sync_mount(run->mnt) ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}

static bool still_mounted(const char *mnt)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(mnt, &mount))
        return false;
    bale_mount_line_free(&mount);
    return true;
}

/* Gives up data that cannot be stored, and detaches a busy mount lazily, because the job ends here.
 */
static int unmount_store(struct bale_run *run)
{
    int status = bale_umount_all(1, &run->mnt, (struct bale_umount_how){.run = true});

    if (status != BALE_EXIT_DONE && still_mounted(run->mnt))
        (void)bale_umount_all(1, &run->mnt,
                              (struct bale_umount_how){.force = true, .lazy = true, .run = true});
    return status;
}

static int give_up_store(struct bale_run *run)
{
    int status =
        bale_umount_all(1, &run->mnt, (struct bale_umount_how){.force = true, .run = true});

    if (still_mounted(run->mnt))
        (void)bale_umount_all(1, &run->mnt,
                              (struct bale_umount_how){.force = true, .lazy = true, .run = true});
    return status == BALE_EXIT_DONE ? BALE_EXIT_FAILED : status;
}

/* Runs a step in a child that no signal ends; only the grace time does. */
static bool run_in_time(struct bale_run *run, int (*part)(struct bale_run *run))
{
    int state;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(part(run));
    if (child < 0)
        return false;
    if (bale_signals_wait(&run->signals, child, false, run->grace, &state))
        return bale_signals_status(state) == BALE_EXIT_DONE;
    kill(child, SIGKILL);
    bale_message("%s: not all was stored within %d s after a signal: its daemon continues alone; "
                 "--grace sets a longer time",
                 run->mnt, run->grace / 1000);
    return false;
}

/* A daemon whose mount is busy, or that is late, goes on without us. */
static bool daemon_goes_on(const struct bale_run *run)
{
    struct pollfd end = {.fd = run->daemon_fd, .events = POLLIN};

    return run->daemon_fd >= 0 && poll(&end, 1, 0) == 0;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void sum_up(struct bale_run *run, uint64_t read, uint64_t compressed, uint64_t stored)
{
    char texts[3][BALE_TEXT], text[128];

    if (compressed > 0)
        snprintf(text, sizeof text, "%s stored as %s, ratio %s",
                 bale_size_text(compressed, texts[0]), bale_size_text(stored, texts[1]),
                 bale_ratio_text(compressed, stored, texts[2]));
    else if (read > 0)
        snprintf(text, sizeof text, "%s read, nothing written", bale_size_text(read, texts[0]));
    else
        snprintf(text, sizeof text, "nothing read or written");
    if (!bale_join_said(&run->join, text))
        bale_message("%s: %s", run->store, text);
}

/* Reports the result that the daemon wrote when it ended. False: it did not write one. */
static bool report_end(struct bale_run *run)
{
    json_t *last = bale_store_last_unmount(run->store);
    bool ended = run->daemon != 0 && (int)count_of(last, "process") == run->daemon;

    if (ended)
        sum_up(run, count_of(last, "read"), count_of(last, "compressed"), count_of(last, "stored"));
    else
        bale_message("%s: its daemon did not end cleanly: what was written last may be lost: "
                     "check with balefs fsck %s",
                     run->mnt, run->store);
    json_decref(last);
    return ended;
}

/* True: everything is stored and durable. */
static bool end_run(struct bale_run *run)
{
    struct bale_control_status status = {0};

    (void)!chdir("/"); /* the working directory may be in the mount */
    bool synced = run_in_time(run, sync_store);
    if (!bale_join_leave(&run->join))
        return synced;
    /* A read-only mount leaves nothing in the store that would say so. */
    bool asked =
        synced && run->words.options.read_only && bale_control_status_at(run->mnt, &status);
    bool unmounted = run_in_time(run, synced ? unmount_store : give_up_store);
    if (asked)
        sum_up(run, status.read, 0, 0);
    bool ended = run->words.options.read_only || daemon_goes_on(run) || report_end(run);
    return synced && unmounted && ended;
}

int bale_run_mounted(struct bale_run *run)
{
    int status = BALE_EXIT_RUN;

    if (!still_mounted(run->mnt) && !bale_place_is_free(run->mnt))
        return status;
    bale_signals_block(&run->signals);
    if (begin_run(run)) {
        status = run_command(run);
        if (!end_run(run)) {
            status = BALE_EXIT_RUN;
            if (run->daemon_log[0])
                bale_message("%s: its daemon's log is %s", run->mnt, run->daemon_log);
        }
    } else if (run->signals.end) {
        status = 128 + run->signals.end;
    }
    bale_join_close(&run->join);
    if (run->daemon_fd >= 0)
        close(run->daemon_fd);
    return status;
}
