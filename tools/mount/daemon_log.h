/* Where a mount's daemon writes its log. */
#ifndef BALE_TOOLS_MOUNT_DAEMON_LOG_H
#define BALE_TOOLS_MOUNT_DAEMON_LOG_H

#include "fs/base/log.h"

typedef void bale_log_sink(enum bale_level level, const char *line);

/* Lines with time and level are added to the file at path; made when missing. NULL, with a message:
 * it cannot be opened. */
bale_log_sink *bale_daemon_log_file(const char *path);

bale_log_sink *bale_daemon_log_system(void);   /* syslog(3) */
bale_log_sink *bale_daemon_log_terminal(void); /* standard error */

#endif
