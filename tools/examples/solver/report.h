/* Messages on stderr: "bale-solver: what: what to do". */
#ifndef WAVE_REPORT_H
#define WAVE_REPORT_H

/* Prints that `what` failed with rc, a negative errno, and what to do about it. Returns rc. */
int wave_report(int rc, const char *what);

/* Any other message. */
void wave_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
