/* Signals that ask a command to stop. */
#ifndef BALE_TOOLS_COMMON_STOP_SIGNAL_H
#define BALE_TOOLS_COMMON_STOP_SIGNAL_H

#include <signal.h>

/* Has handler called at SIGINT, SIGTERM and SIGHUP. Signals that are ignored, as under nohup, stay
 * ignored. flags: of sigaction(2). */
void bale_stop_signals_handle(void (*handler)(int number), int flags);

/* Has the first of these signals noted in bale_stop_signal; the next one ends the program at once.
 * For a command that looks at it between two steps of its work. */
extern volatile sig_atomic_t bale_stop_signal; /* its number, or 0 */
void bale_stop_signals_note(void);

#endif
