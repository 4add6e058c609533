/* The one place messages go. Libraries report through it and never print. */
#ifndef BALE_FS_BASE_LOG_H
#define BALE_FS_BASE_LOG_H

enum bale_level { BALE_LOG_ERROR, BALE_LOG_WARNING, BALE_LOG_INFO, BALE_LOG_DEBUG };

/* sink gets one line without a newline, from any thread. NULL discards. Set before threads
 * start. */
void bale_log_to(void (*sink)(enum bale_level level, const char *line), enum bale_level least);

/* Errors and warnings read "PATH: what happened: what to do". */
void bale_log(enum bale_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
