#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "format/culzss.h"
#include "format/err.h"
#include "kernels/auto/auto.h"
#include "kernels/codec/codec.h"
#include "kernels/gpulz/gpulz.h"

/* The one number a codec may have. Codecs not listed have none, but for gpulz, which has several,
 * and auto, whose option is a word. */
struct parameter {
    uint8_t codec;
    const char *key;
    int16_t min;
    int16_t max;
    int16_t without; /* when the setting does not give it */
};

static const struct parameter parameters[] = {
    {BALE_CODEC_ZSTD, "level", -7, 19, 1},
    {BALE_CODEC_CULZSS, "v", BALE_CULZSS_V_MIN, BALE_CULZSS_V_MAX, 2},
};

/* The frame layer finds all-equal bytes whatever the setting; with zero, what is not all-equal is
 * stored raw. */
static const uint8_t settable[] = {BALE_CODEC_AUTO,  BALE_CODEC_STORE, BALE_CODEC_ZERO,
                                   BALE_CODEC_LZ4,   BALE_CODEC_ZSTD,  BALE_CODEC_GPULZ,
                                   BALE_CODEC_CULZSS};
#define KNOWN "Known are auto, store, zero, lz4, zstd, gpulz and culzss."

static const struct parameter *find_parameter(uint8_t codec)
{
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++)
        if (parameters[i].codec == codec)
            return &parameters[i];
    return NULL;
}

static bool is_settable(uint8_t codec)
{
    return memchr(settable, codec, sizeof settable) != NULL;
}

/* The codec whose name is text[0, length), or -1. */
static int find_codec(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof settable; i++) {
        const char *name = bale_codec_name(settable[i]);
        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return settable[i];
    }
    return -1;
}

/* Decimal with an optional minus, no blanks, no plus, at most nine digits: what fits. */
static bool read_number(const char *text, int *value)
{
    bool negative = *text == '-';
    int v = 0;
    size_t digits = 0;

    for (text += negative; *text >= '0' && *text <= '9' && digits < 9; text++, digits++)
        v = v * 10 + (*text - '0');
    *value = negative ? -v : v;
    return digits > 0 && *text == '\0';
}

/* A level of 0 means "the default" to libzstd and would make two names for one setting. */
static bool in_range(const struct parameter *p, int value)
{
    return value >= p->min && value <= p->max && value != 0;
}

static int read_option(const struct parameter *p, const char *option, struct bale_setting *setting,
                       char *why, size_t why_size)
{
    const char *name = bale_codec_name(p->codec);
    size_t key = strlen(p->key);
    int value;

    if (strncmp(option, p->key, key) == 0 && option[key] == '=')
        option += key + 1;
    if (!read_number(option, &value)) {
        snprintf(why, why_size, "\"%.32s\" is not an option of %s, which has %s=NUMBER.", option,
                 name, p->key);
        return BALE_E_INVALID;
    }
    if (!in_range(p, value)) {
        snprintf(why, why_size, "The %s of %s is %d to %d%s, not %d.", p->key, name, p->min, p->max,
                 p->min < 0 ? " without 0" : "", value);
        return BALE_E_INVALID;
    }
    setting->parameter = (int16_t)value;
    return BALE_OK;
}

/* options: what is behind the colon, or NULL. */
static int read_options(const char *options, struct bale_setting *setting, char *why,
                        size_t why_size)
{
    const struct parameter *p = find_parameter(setting->codec);

    if (setting->codec == BALE_CODEC_GPULZ)
        return bale_gpulz_setting_parse(options, &setting->parameter, why, why_size);
    if (setting->codec == BALE_CODEC_AUTO)
        return bale_auto_setting_parse(options, &setting->parameter, why, why_size);
    if (options && !p) {
        snprintf(why, why_size, "The codec %s has no options.", bale_codec_name(setting->codec));
        return BALE_E_INVALID;
    }
    setting->parameter = p ? p->without : 0;
    return options ? read_option(p, options, setting, why, why_size) : BALE_OK;
}

static int parse(const char *text, struct bale_setting *setting, char *why, size_t why_size)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    int codec = find_codec(text, length);
    struct bale_setting parsed = {.codec = (uint8_t)codec};

    if (codec < 0) {
        snprintf(why, why_size, "There is no codec \"%.*s\". " KNOWN,
                 (int)(length < 32 ? length : 32), text);
        return BALE_E_INVALID;
    }
    if (read_options(colon ? colon + 1 : NULL, &parsed, why, why_size) < 0)
        return BALE_E_INVALID;
    *setting = parsed;
    return BALE_OK;
}

/* why quotes the text, but has to stay one line whatever that holds. */
int bale_setting_parse(const char *text, struct bale_setting *setting, char *why, size_t why_size)
{
    int err = parse(text, setting, why, why ? why_size : 0);

    if (err < 0 && why && why_size > 0)
        for (; *why; why++)
            if (iscntrl((unsigned char)*why))
                *why = '?';
    return err;
}

void bale_setting_print(struct bale_setting setting, char *text, size_t size)
{
    const char *name = bale_codec_name(setting.codec);

    if (!name)
        snprintf(text, size, "unknown-%u", setting.codec);
    else if (setting.codec == BALE_CODEC_GPULZ)
        bale_gpulz_setting_print(setting.parameter, text, size);
    else if (setting.codec == BALE_CODEC_AUTO)
        bale_auto_setting_print(setting.parameter, text, size);
    else if (find_parameter(setting.codec))
        snprintf(text, size, "%s:%d", name, setting.parameter);
    else
        snprintf(text, size, "%s", name);
}

bool bale_setting_valid(struct bale_setting setting)
{
    const struct parameter *p = find_parameter(setting.codec);

    if (!is_settable(setting.codec))
        return false;
    if (setting.codec == BALE_CODEC_GPULZ)
        return bale_gpulz_is_valid((uint16_t)setting.parameter);
    if (setting.codec == BALE_CODEC_AUTO)
        return setting.parameter == BALE_AUTO_FOR_RATIO || setting.parameter == BALE_AUTO_FOR_SPEED;
    return p ? in_range(p, setting.parameter) : setting.parameter == 0;
}

bool bale_setting_is_open(struct bale_setting setting)
{
    return setting.codec == BALE_CODEC_AUTO ||
           (setting.codec == BALE_CODEC_GPULZ && (setting.parameter & BALE_GPULZ_ADAPTIVE));
}
