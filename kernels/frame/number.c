#include "kernels/frame/number.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 17 };

/* What the process had set, to be restored: in a locale with a decimal comma, a number would end at
 * its point. */
struct found {
    locale_t ours;
    locale_t theirs;
    fenv_t environment;
};

static void enter(struct found *found)
{
    found->ours = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    found->theirs = found->ours ? uselocale(found->ours) : (locale_t)0;
    feholdexcept(&found->environment);
}

static void leave(struct found *found)
{
    fesetenv(&found->environment);
    if (!found->ours)
        return;
    uselocale(found->theirs);
    freelocale(found->ours);
}

/* The compiler is not told that operations depend on the rounding mode: volatile keeps each one
 * between the calls that set it. */
static double convert(const char *text, int mode)
{
    volatile double number;

    fesetround(mode);
    number = strtod(text, NULL);
    fesetround(FE_TONEAREST);
    return number;
}

static const char *skip_digits(const char *text, size_t *count)
{
    for (; *text >= '0' && *text <= '9'; text++)
        ++*count;
    return text;
}

/* strtod would also take blanks, hexadecimal digits, "inf" and "nan". */
static const char *end_of(const char *text)
{
    size_t digits = 0, exponent = 0;
    const char *end;

    text += *text == '-';
    text = skip_digits(text, &digits);
    if (*text == '.')
        text = skip_digits(text + 1, &digits);
    if (digits == 0)
        return NULL;
    if (*text != 'e' && *text != 'E')
        return text;
    end = skip_digits(text + 1 + (text[1] == '-' || text[1] == '+'), &exponent);
    return exponent > 0 ? end : NULL;
}

const char *bale_number_read(const char *text, double *down, double *up)
{
    const char *end = end_of(text);
    struct found found;

    if (!end)
        return NULL;
    enter(&found);
    *down = convert(text, FE_DOWNWARD);
    *up = convert(text, FE_UPWARD);
    leave(&found);
    return end;
}

double bale_number_difference_down(double a, double b)
{
    volatile double x = a, y = b, result;
    struct found found;

    enter(&found);
    fesetround(FE_DOWNWARD);
    result = x - y;
    leave(&found);
    return result;
}

double bale_number_product_down(double a, double b)
{
    volatile double x = a, y = b, result;
    struct found found;

    enter(&found);
    fesetround(FE_DOWNWARD);
    result = x * y;
    leave(&found);
    return result;
}

/* "1e-03" as "1e-3", "1.5e+00" as "1.5". */
static void shorten(char *text)
{
    char *exponent = strchr(text, 'e');
    int power = exponent ? atoi(exponent + 1) : 0;

    if (!exponent)
        return;
    *exponent = '\0';
    if (power != 0)
        snprintf(exponent, (size_t)(text + BALE_NUMBER_TEXT - exponent), "e%d", power);
}

/* Texts of 17 digits lie closer together than numbers do, so a number that is rounded upwards to 17
 * digits still lies below the next number. */
void bale_number_print_down(double number, char text[static BALE_NUMBER_TEXT])
{
    struct found found;
    bool same = false;

    enter(&found);
    for (int digits = 0; digits < DIGITS && !same; digits++) {
        fesetround(FE_UPWARD);
        snprintf(text, BALE_NUMBER_TEXT, "%.*e", digits, number);
        same = convert(text, FE_DOWNWARD) == number;
    }
    leave(&found);
    shorten(text);
}
