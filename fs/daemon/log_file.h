/* The daemon's own log, where the system keeps none: .balefs/log, or, where that cannot be written
 * (a mount that is read-only, a full disk), UUID.log in a directory of the user: /run/balefs for
 * root, else balefs-UID in XDG_RUNTIME_DIR or /tmp. The file has mode 0600 and at most half a MiB;
 * what was before is in a second file with the suffix ".1". A thread of its own writes it, and may
 * stall alone with the file system that it lies on. There is one for a process. */
#ifndef BALE_FS_DAEMON_LOG_FILE_H
#define BALE_FS_DAEMON_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/store/store.h"

/* Takes a line of the log, with its newline, into memory. What finds no room there is counted, and
 * the log says how much that was. Never waits for a file. Any thread, also before begin. */
void bale_log_file_put(const char *line, size_t length);

/* Opens the file and starts the thread. BALE_E_NOMEM. */
int bale_log_file_begin(const struct bale_store *store);
/* The path of the file; empty: there is none, or no place where it can be kept. Any thread. */
void bale_log_file_path(char *path, size_t size);
/* The path that the log of a mount of the store has in the i-th place; the process runs as the
 * mount would. False: there are no more places. The path may be empty. */
bool bale_log_file_place(const struct bale_store *store, unsigned i, char *path, size_t size);
/* While a store is frozen, its log stays in memory. Any thread. */
void bale_log_file_hold(bool hold);
/* Writes what is left; gives that up if it takes longer than 5 s. Nothing happens if the thread was
 * not started. forget: then removes the file if it is not in the store, only this daemon has
 * written to it, and no line is a warning or an error. */
void bale_log_file_end(bool forget);

#endif
