/* Messages on standard error, and text from files that is safe to print. */
#ifndef BALE_TOOLS_COMMON_MESSAGE_H
#define BALE_TOOLS_COMMON_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>

/* Prints "balefs: " and the text in one write. Control characters become \xNN, because names in a
 * store may come from anybody. Any thread may call it. */
void bale_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with tail behind the text; a full stop at the end of the text gives way to it. */
void bale_message_list(const char *format, va_list args, const char *tail)
    __attribute__((format(printf, 1, 0)));

/* Copies text, with control characters as \xNN; a text that is too long is cut. Returns out. */
const char *bale_clean_text(const char *in, char *out, size_t size);

#endif
