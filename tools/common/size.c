#include "tools/common/size.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/limits.h"

bool bale_size_parse(const char *text, uint64_t *size)
{
    static const char units[] = "KMGTPE";
    char *end;

    /* strtod would also take signs, blanks, "inf" and hexadecimal numbers. */
    if (!isdigit((unsigned char)text[0]) ||
        (text[0] == '0' && tolower((unsigned char)text[1]) == 'x'))
        return false;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        value = ldexp(value, 10 * (int)(unit - units + 1));
        end++;
        if (*end == 'i')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end || value >= 0x1p63)
        return false;
    *size = (uint64_t)value;
    return true;
}

bool bale_extent_size_parse(const char *text, uint32_t *extent)
{
    uint64_t size;

    if (!bale_size_parse(text, &size) || !bale_extent_is_valid(size))
        return false;
    *extent = (uint32_t)size;
    return true;
}

bool bale_chunk_parse(const char *text, uint8_t *log2)
{
    uint64_t size;

    if (!bale_size_parse(text, &size) || !bale_chunk_is_valid(size))
        return false;
    *log2 = (uint8_t)__builtin_ctzll(size);
    return true;
}

bool bale_count_parse(const char *text, uint64_t low, uint64_t high, uint64_t *count)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno || value < low || value > high)
        return false;
    *count = value;
    return true;
}

bool bale_seconds_parse(const char *text, uint64_t most, uint64_t *seconds)
{
    char number[16];
    size_t length = strspn(text, "0123456789");
    uint64_t unit = text[length] == 'm' ? 60 : text[length] == 'h' ? 3600 : 1;
    bool known = text[length] == '\0' || (strchr("smh", text[length]) && text[length + 1] == '\0');

    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (!known || length >= sizeof number || !bale_count_parse(number, 0, most / unit, seconds))
        return false;
    *seconds *= unit;
    return true;
}

const char *bale_size_text(uint64_t size, char text[static BALE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)size;
    size_t unit = 0;

    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, BALE_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *bale_ratio_text(uint64_t logical, uint64_t stored, char text[static BALE_TEXT])
{
    if (stored == 0)
        snprintf(text, BALE_TEXT, "-");
    else
        snprintf(text, BALE_TEXT, "%.2f", (double)logical / (double)stored);
    return text;
}
