/* The daemon that serves a mount: what the command's mount calls. */
#ifndef BALE_FS_DAEMON_DAEMON_H
#define BALE_FS_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/store.h"
#include "kernels/engine/dispatch.h"

struct bale_mount_options {
    const char *store; /* directory */
    /* Directory; or /dev/fd/N, a /dev/fuse with which somebody has mounted: then the options for the
     * kernel were given there and here mean nothing, and a signal only ends serving. */
    const char *mountpoint;
    /* Further options for the kernel, as in "noatime,nosuid,context=...", or NULL.
     * default_permissions, fsname and subtype are set here. */
    const char *extra;
    bool foreground;
    bool read_only;
    bool direct; /* io=direct: no page cache, parallel writes to one file */
    bool allow_other;
    bool untrusted;    /* nosuid, nodev */
    bool auto_unmount; /* should this process be killed */
    bool create;       /* makes a store of a new or empty directory first */
    uint64_t memory;   /* cap in bytes; 0: bale_memory_default_cap() */
    unsigned threads;  /* of the engine; 0: as many as may be used */
    /* Choice, and of gpu the devices and their memory. */
    struct bale_dispatch_options engine;
    bool unverified; /* what the GPU encoded is not decoded again */
    unsigned age_ms; /* dirty data older than this is committed; 0: as bale_volume_options */
    /* The reading end of a pipe or a fifo, or 0. The mount is for those who hold the other end:
     * signals do not end it (a batch system sends them to all processes of a job), and when nobody
     * holds it any more it goes as with umount --lazy: out of the tree at once, with the last open
     * file for good. The caller's, who must keep the other end from the daemon. */
    int lifeline;
    /* Where log lines go, as bale_log_to; NULL leaves that as it is. In the background, standard
     * error is closed. */
    void (*log)(enum bale_level level, const char *line);
    enum bale_level log_least;
};

/* Mounts and serves until the file system is unmounted, or SIGTERM, SIGINT or SIGHUP comes (but see
 * lifeline). In the foreground it returns after the end: 0 when everything written is down. Otherwise it
 * forks: the caller gets its return when the mount is usable, or when it failed; the child never
 * returns. The process must have no threads yet. On failure a negative bale_err, and why
 * says "PATH: what happened: what to do". */
int bale_daemon_run(const struct bale_mount_options *options, struct bale_reason *why);

/* As bale_daemon_run in the foreground. ready is called once in this thread, when the mount
 * answers, if it ever does. */
int bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                      void (*ready)(void *arg), void *arg);

/* The version of libfuse that is linked, "3.17.2". */
const char *bale_daemon_libfuse(void);

#endif
