/* Small helpers over jansson for --json. If memory runs out while values are made, bale_json_print
 * fails. */
#ifndef BALE_TOOLS_COMMON_JSON_H
#define BALE_TOOLS_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* For counts and sizes, which are all below 2^63. */
static inline void bale_json_count(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static inline void bale_json_text(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, json_string(value));
}

/* logical / stored with three decimals; null if nothing is stored. */
void bale_json_ratio(json_t *object, const char *key, uint64_t logical, uint64_t stored);

/* A checksum or an id: "0x" and sixteen digits, because a reader may store numbers as doubles. */
void bale_json_hex(json_t *object, const char *key, uint64_t value);

/* A name that may contain any bytes. If it is not UTF-8, each bad byte becomes U+FFFD, and KEY_hex
 * has all bytes in hexadecimal. */
void bale_json_path(json_t *object, const char *key, const char *path);

/* Prints value and a newline to stdout, and releases value. False, after a message, if that fails.
 */
bool bale_json_print(json_t *value);

/* The same for the result of a listing: prints the array, or, with one, its single element; an
 * empty array then prints nothing. */
bool bale_json_print_list(json_t *array, bool one);

#endif
