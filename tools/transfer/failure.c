/* Failures and interruption of a transfer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/common/stop_signal.h"
#include "tools/transfer/transfer.h"

atomic_bool bale_transfer_stop;
atomic_int bale_transfer_signal;

static void transfer_interrupt(int number)
{
    atomic_store(&bale_transfer_signal, number);
    atomic_store(&bale_transfer_stop, true);
}

void bale_transfer_signals(void)
{
    bale_stop_signals_handle(transfer_interrupt, SA_RESTART);
}

void bale_transfer_fail_path(struct bale_transfer *transfer, const char *path, const char *text)
{
    bale_transfer_report(transfer, path, text, true);
}

void bale_transfer_report(struct bale_transfer *transfer, const char *path, const char *text,
                          bool failed)
{
    pthread_mutex_lock(&transfer->lock);
    transfer->failed = transfer->failed || failed;
    bale_progress_end(&transfer->progress);
    bale_message("%s%s%s: %s", transfer->from_top, *path ? "/" : "", path, text);
    pthread_mutex_unlock(&transfer->lock);
}

void bale_transfer_fail(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                        const char *format, ...)
{
    char text[1024];
    char *path = bale_tree_dir_path(dir, name);
    va_list args;

    atomic_store(&dir->stays, true);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (path && !*name)
        path[strlen(dir->path)] = '\0';
    bale_transfer_fail_path(transfer, path ? path : name, text);
    free(path);
}
