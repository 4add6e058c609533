/* The destinations of the log of a mount's daemon. A sink may be called from any thread. */
#ifndef BALE_TOOLS_MOUNT_DAEMON_LOG_H
#define BALE_TOOLS_MOUNT_DAEMON_LOG_H

#include <stdbool.h>

#include "fs/base/log.h"

typedef void bale_log_sink(enum bale_level level, const char *line);

/* Appends lines with time and level to the file at path, which is created if it is missing. NULL,
 * after a message: it cannot be opened. */
bale_log_sink *bale_daemon_log_file(const char *path);

/* whether something receives what bale_daemon_log_system sends */
bool bale_daemon_log_system_answers(void);
bale_log_sink *bale_daemon_log_system(void);   /* syslog(3) */
bale_log_sink *bale_daemon_log_own(void);      /* bale_log_file_put */
bale_log_sink *bale_daemon_log_terminal(void); /* standard error */

#endif
