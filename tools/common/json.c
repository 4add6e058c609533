#include "tools/common/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"

void bale_json_ratio(json_t *object, const char *key, uint64_t logical, uint64_t stored)
{
    json_t *value =
        stored ? json_real(round((double)logical / (double)stored * 1000) / 1000) : json_null();

    json_object_set_new(object, key, value);
}

void bale_json_hex(json_t *object, const char *key, uint64_t value)
{
    char text[19];

    snprintf(text, sizeof text, "0x%016llx", (unsigned long long)value);
    bale_json_text(object, key, text);
}

/* The length in bytes of the UTF-8 character at s; 0: it is not valid. jansson decides; we need the
 * length to go on. */
static size_t character(const char *s)
{
    for (size_t length = 1; length <= 4 && s[length - 1]; length++) {
        json_t *value = json_stringn(s, length);
        if (value) {
            json_decref(value);
            return length;
        }
    }
    return 0;
}

static void mended_path(json_t *object, const char *key, const char *path)
{
    size_t length = strlen(path), used = 0;
    char *mended = malloc(3 * length + 1), *hex = malloc(2 * length + 1);
    char hex_key[64];

    if (!mended || !hex)
        goto out;
    for (const char *s = path; *s;) {
        size_t step = character(s);
        memcpy(mended + used, step ? s : "\xef\xbf\xbd", step ? step : 3);
        used += step ? step : 3;
        s += step ? step : 1;
    }
    mended[used] = '\0';
    for (size_t i = 0; i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)path[i]);
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    bale_json_text(object, key, mended);
    bale_json_text(object, hex_key, hex);
out:
    free(mended);
    free(hex);
}

void bale_json_path(json_t *object, const char *key, const char *path)
{
    json_t *value = json_string(path);

    if (value)
        json_object_set_new(object, key, value);
    else
        mended_path(object, key, path);
}

bool bale_json_print(json_t *value)
{
    bool done = value && json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;

    json_decref(value);
    if (done)
        putchar('\n');
    else if (!ferror(stdout)) /* main reports an error of stdout at the end */
        bale_message("out of memory");
    return done;
}

bool bale_json_print_list(json_t *array, bool one)
{
    if (!one)
        return bale_json_print(array);
    json_t *value = json_incref(json_array_get(array, 0));
    json_decref(array);
    return !value || bale_json_print(value);
}
