#include "fs/daemon/daemon.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/daemon/log_file.h"
#include "fs/daemon/state.h"

/* So long mount waits for a GPU to open, at most. That takes 0.3 s on an idle machine. Beside
 * programs that write already it would take twice as long, in which they had a third of the
 * speed. */
#define OPENING_MS 1000u
#define MAPPED_LEAST (64 << 10) /* blocks of the heap that are a mapping of their own */

static void warn_of_reach(const struct bale_daemon *d)
{
    const char *path = bale_store_path(d->mount.store);
    const char *reach = bale_store_reach(d->mount.store);

    if (reach)
        bale_log(BALE_LOG_WARNING, "%s: %s: unmounted, balefs set --closed %s closes it", path,
                 reach, path);
}

static void report_notices(struct bale_daemon *d)
{
    const struct bale_store_notice *notice;

    bale_reason_set(d->why, "%s", "");
    for (unsigned i = 0; (notice = bale_store_notice(d->mount.store, i)); i++) {
        bale_reason_set(d->why, "%s/%s: %s", bale_store_path(d->mount.store), notice->below,
                        notice->text);
        bale_log(BALE_LOG_WARNING, "%s", d->why->text);
    }
}

const char *bale_daemon_libfuse(void)
{
    return fuse_pkgversion();
}

int bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                      void (*ready)(void *arg), void *arg)
{
    struct bale_daemon *d = calloc(1, sizeof *d);

    if (!d)
        return BALE_E_NOMEM;
    /* Makes the memory of a waiting write a mapping of its own, which goes back to the kernel when
     * the write ends. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_LEAST);
    d->options = options;
    d->why = why;
    d->store_fd = d->watcher = d->signals.signals = d->signals.ended = -1;
    pthread_mutex_init(&d->mount.opened_lock, NULL);
    pthread_cond_init(&d->mount.closed, NULL);
    pthread_cond_init(&d->mount.restored, NULL);
    int err = bale_daemon_start(d);
    bool served = err == BALE_OK;
    if (served) {
        bale_log(BALE_LOG_INFO, "%s on %s: %s%s%s", bale_store_path(d->mount.store), d->mountpoint,
                 bale_session_text(d->session),
                 bale_store_abilities(d->mount.store)->text[0] ? "; the store lacks: " : "",
                 bale_store_abilities(d->mount.store)->text);
        report_notices(d);
        warn_of_reach(d);
        bale_volume_wait_gpu(d->mount.volume, OPENING_MS);
        ready(arg);
        bale_daemon_wait(d);
    } else if (why->text[0] == '\0') {
        bale_reason_set(why, "%s: cannot be mounted: %s: see the log", options->store,
                        bale_err_text(err));
    }
    int ended = bale_daemon_end(d, served);
    /* A read-only mount has stored nothing, so nobody needs its log if it ended well. */
    bale_log_file_end(served && ended == BALE_OK && options->read_only);
    free(d);
    return served ? ended : err;
}
