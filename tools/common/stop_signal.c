#include "tools/common/stop_signal.h"

#include <stddef.h>

volatile sig_atomic_t bale_stop_signal;

void bale_stop_signals_handle(void (*handler)(int number), int flags)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct sigaction before;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static void stop_signal_note(int number)
{
    bale_stop_signal = number;
}

void bale_stop_signals_note(void)
{
    bale_stop_signals_handle(stop_signal_note, (int)SA_RESETHAND);
}
