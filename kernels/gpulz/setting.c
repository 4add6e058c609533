#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "kernels/gpulz/gpulz.h"

enum {
    DEFAULT_PIECE_LOG2 = 12,
    DEFAULT_WINDOW = 255,
    LEVELS = 4,
    DIGITS = 9, /* what fits */
};

/* What an option decides; level and w are two names for one thing. */
enum { SYMBOL = 1, PIECE = 2, WINDOW = 4 };

struct options {
    unsigned symbol; /* bytes; 0: adaptive */
    unsigned piece;  /* bytes */
    unsigned window; /* symbols */
    unsigned given;  /* SYMBOL, PIECE, WINDOW */
};

static int refuse(char *why, size_t why_size, const char *what, unsigned value)
{
    snprintf(why, why_size, "%s, not %u.", what, value);
    return BALE_E_INVALID;
}

static bool is_power(unsigned value, unsigned least, unsigned most)
{
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

static int set_option(struct options *o, const char *key, unsigned value, char *why,
                      size_t why_size)
{
    static const uint8_t windows[LEVELS] = {32, 64, 128, 255};

    switch (*key) {
    case 'l':
        if (value < 1 || value > LEVELS)
            return refuse(why, why_size, "The level of gpulz is 1 to 4", value);
        o->window = windows[value - 1];
        break;
    case 's':
        if (value != 0 && !is_power(value, 1, 1u << BALE_GPULZ_SYMBOL_LOG2_MAX))
            return refuse(why, why_size, "The s of gpulz is 1, 2, 4, 8, or 0 for the best of these",
                          value);
        o->symbol = value;
        break;
    case 'c':
        if (!is_power(value, 1u << BALE_GPULZ_PIECE_LOG2_MIN, 1u << BALE_GPULZ_PIECE_LOG2_MAX))
            return refuse(why, why_size, "The c of gpulz is a power of two from 2048 to 65536",
                          value);
        o->piece = value;
        break;
    default:
        if (value < BALE_GPULZ_WINDOW_MIN || value > BALE_GPULZ_WINDOW_MAX)
            return refuse(why, why_size, "The w of gpulz is 32 to 255", value);
        o->window = value;
        break;
    }
    return BALE_OK;
}

/* Decimal digits up to a comma or the end, which it returns, or NULL. */
static const char *read_number(const char *text, unsigned *value)
{
    int digits = 0;

    for (*value = 0; *text >= '0' && *text <= '9' && digits < DIGITS; text++, digits++)
        *value = 10 * *value + (unsigned)(*text - '0');
    return digits > 0 && (*text == ',' || *text == '\0') ? text : NULL;
}

/* Reads one option; returns its end, or NULL. */
static const char *read_option(struct options *o, const char *text, char *why, size_t why_size)
{
    static const struct {
        const char *key;
        unsigned decides;
    } keys[] = {{"level=", WINDOW}, {"s=", SYMBOL}, {"c=", PIECE}, {"w=", WINDOW}};
    unsigned value;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t length = strlen(keys[i].key);
        const char *end;
        if (strncmp(text, keys[i].key, length) != 0 || !(end = read_number(text + length, &value)))
            continue;
        if (o->given & keys[i].decides) {
            snprintf(why, why_size, "\"%.32s\" is given twice, or level and w both.", text);
            return NULL;
        }
        o->given |= keys[i].decides;
        return set_option(o, keys[i].key, value, why, why_size) == BALE_OK ? end : NULL;
    }
    snprintf(why, why_size,
             "\"%.32s\" is not an option of gpulz, which has level=, s=, w= and c=NUMBER.", text);
    return NULL;
}

static unsigned log2_of(unsigned power)
{
    return (unsigned)__builtin_ctz(power);
}

int bale_gpulz_setting_parse(const char *options, int16_t *parameter, char *why, size_t why_size)
{
    struct options o = {.piece = 1u << DEFAULT_PIECE_LOG2, .window = DEFAULT_WINDOW};

    for (const char *at = options; at; at = *at == ',' ? at + 1 : NULL) {
        at = read_option(&o, at, why, why_size);
        if (!at)
            return BALE_E_INVALID;
    }
    uint16_t how =
        bale_gpulz_parameter(o.symbol ? log2_of(o.symbol) : 0, log2_of(o.piece), o.window);
    *parameter = (int16_t)(o.symbol ? how : how | BALE_GPULZ_ADAPTIVE);
    return BALE_OK;
}

/* A level is longer than the window it stands for. */
void bale_gpulz_setting_print(int16_t parameter, char *text, size_t size)
{
    uint16_t how = (uint16_t)parameter;
    char symbol[8] = "", window[8] = "", piece[12] = "";

    if (!(how & BALE_GPULZ_ADAPTIVE))
        snprintf(symbol, sizeof symbol, ",s=%u", 1u << bale_gpulz_symbol_log2(how));
    if (bale_gpulz_window(how) != DEFAULT_WINDOW)
        snprintf(window, sizeof window, ",w=%u", (unsigned)bale_gpulz_window(how));
    if (bale_gpulz_piece_log2(how) != DEFAULT_PIECE_LOG2)
        snprintf(piece, sizeof piece, ",c=%u", 1u << bale_gpulz_piece_log2(how));
    snprintf(text, size, "gpulz%s%s%s", symbol, window, piece);
    if (text[5] == ',')
        text[5] = ':';
}
