#include "tools/common/message.h"

#include <stdio.h>
#include <string.h>

#define MESSAGE 4096

const char *bale_clean_text(const char *in, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;

    for (; *in; in++) {
        unsigned char c = (unsigned char)*in;
        if (c >= 0x20 && c != 0x7f) {
            if (used + 2 > size)
                break;
            out[used++] = *in;
        } else {
            if (used + 5 > size)
                break;
            out[used++] = '\\';
            out[used++] = 'x';
            out[used++] = digits[c >> 4];
            out[used++] = digits[c & 15];
        }
    }
    out[used] = '\0';
    return out;
}

void bale_message_list(const char *format, va_list args, const char *tail)
{
    char text[MESSAGE], clean[MESSAGE];

    vsnprintf(text, sizeof text, format, args);
    size_t length = strlen(text);
    if (*tail && length > 0 && text[length - 1] == '.')
        text[length - 1] = '\0';
    bale_clean_text(text, clean, sizeof clean);
    /* an empty name would be invisible */
    fprintf(stderr, "balefs: %s%s%s\n", clean[0] == ':' ? "''" : "", clean, tail);
}

void bale_message(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    bale_message_list(format, args, "");
    va_end(args);
}
