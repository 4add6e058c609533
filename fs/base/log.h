/* The one place that messages go to. Libraries report through it and never print. */
#ifndef BALE_FS_BASE_LOG_H
#define BALE_FS_BASE_LOG_H

/* The most severe first. */
enum bale_level { BALE_LOG_ERROR, BALE_LOG_WARNING, BALE_LOG_INFO, BALE_LOG_DEBUG };

/* From now on sink gets each message of level least or more severe: one line without a newline,
 * which is valid during the call. It runs on the thread that logs, which may hold locks, so it must
 * not call back into the file system. NULL discards all messages. Call it before threads start. */
void bale_log_to(void (*sink)(enum bale_level level, const char *line), enum bale_level least);

/* The most messages that one user other than root (bale_working_for) causes in 10 s. One more
 * message then says that the rest is left out, so that no user can push the messages of others out
 * of the log. */
#define BALE_LOG_USER_LINES 100u

/* Errors and warnings read "PATH: what happened: what to do". Any thread. */
void bale_log(enum bale_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
