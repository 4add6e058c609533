/* The daemon that serves a mount, as the command balefs mount starts it. */
#ifndef BALE_FS_DAEMON_DAEMON_H
#define BALE_FS_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/store.h"
#include "kernels/engine/dispatch.h"

#define BALE_LOG_PATH 4096u

/* How far the mount relies on what the store says. */
enum bale_mount_trust {
    BALE_TRUST_BY_OWNER, /* as fs/daemon/trust.h says */
    BALE_UNTRUSTED,      /* nosuid, nodev; the CPU decodes */
    BALE_TRUSTED,        /* the GPU decodes everything */
};

struct bale_mount_options {
    const char *store; /* directory */
    /* Directory; or /dev/fd/N, an open /dev/fuse with which another program has mounted. Then the
     * kernel has that program's options, the ones here are ignored, and a signal ends the daemon
     * but not the mount. */
    const char *mountpoint;
    /* Not NULL: a dead mount lies at the mount point, which is then absolute and without symbolic
     * links. This is called when all is ready, right before the new mount is made, and takes the
     * dead one away, so that programs find the directory below for as short as can be. False, after
     * a message: it could not. */
    bool (*clear)(const char *mountpoint);
    /* Further options for the kernel, as in "noatime,nosuid,context=...", or NULL.
     * default_permissions, fsname and subtype are set here. */
    const char *extra;
    bool foreground;
    bool read_only;
    bool direct; /* io=direct: no page cache, parallel writes to one file */
    bool allow_other;
    enum bale_mount_trust trust;
    bool set_id;       /* show set-id bits that containers keep, in a mount of root */
    bool auto_unmount; /* also if this process is killed */
    bool create;       /* first make a store of a new or empty directory */
    char takeover[64]; /* as for bale_store_open_takeover; or empty */
    uint64_t memory;   /* cap in bytes; 0: bale_memory_default_cap() */
    unsigned threads;  /* of the CPU engine; 0: one for each usable processor */
    /* The choice of engine, and the GPU devices and their memory. */
    struct bale_dispatch_options engine;
    bool unverified; /* do not decode again what the GPU encoded */
    unsigned idle;   /* a mount that nobody uses for so many seconds is unmounted; 0: never */
    unsigned age_ms; /* dirty data older than this is committed; 0: as bale_volume_options */
    /* The reading end of a pipe or a fifo, or 0; the caller's. The mount serves the processes that
     * keep the other end open, which the daemon must not inherit: signals do not end it (a batch
     * system sends them to all processes of a job), and when the last of them has closed it, the
     * mount is removed as by umount --lazy: from the tree at once, and completely when the last
     * open file is closed. */
    int lifeline;
    /* Gets the log lines, from any thread (bale_log_to); NULL: leave that as it is. In the
     * background, standard error is closed. */
    void (*log)(enum bale_level level, const char *line);
    enum bale_level log_least;
    bool log_file; /* log calls bale_log_file_put: keep the file */
};

/* Mounts and serves until the file system is unmounted, or SIGTERM, SIGINT or SIGHUP comes (but see
 * lifeline). In the foreground it returns after the end: 0 if everything written is stored.
 * Otherwise it forks: the parent returns when the mount is usable or has failed; the child never
 * returns. The process must have no threads yet. On failure a negative bale_err, and why says
 * "PATH: what happened: what to do". why may also have a warning about the store of a usable mount.
 * log gets the path of the file with options->log_file; it is empty if there is none. */
int bale_daemon_run(const struct bale_mount_options *options, struct bale_reason *why,
                    char log[static BALE_LOG_PATH]);

/* As bale_daemon_run in the foreground. ready is called once in this thread, when the mount
 * answers, if it ever does; why then has a warning about the store, or is empty. */
int bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                      void (*ready)(void *arg), void *arg);

/* The version of libfuse that is linked, "3.17.2". */
const char *bale_daemon_libfuse(void);

#endif
