/* Small helpers over jansson for --json. Values that cannot be made (no memory) are noticed at the
 * end: bale_json_print fails. */
#ifndef BALE_TOOLS_COMMON_JSON_H
#define BALE_TOOLS_COMMON_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* Counts and sizes: all of ours are below 2^63. */
static inline void bale_json_count(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

static inline void bale_json_text(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, json_string(value));
}

/* logical / stored with three decimals; null where nothing is stored. */
void bale_json_ratio(json_t *object, const char *key, uint64_t logical, uint64_t stored);

/* A checksum or an id: "0x" and sixteen digits, since a reader may hold numbers as doubles. */
void bale_json_hex(json_t *object, const char *key, uint64_t value);

/* A name of any bytes. One that is not UTF-8 comes with U+FFFD for each bad byte, and its bytes in
 * hex below KEY_hex. */
void bale_json_path(json_t *object, const char *key, const char *path);

/* Prints to stdout with a newline, and releases value. False, with a message, when it cannot. */
bool bale_json_print(json_t *value);

/* The same for what a listing found: the array, or, where only one was asked for, what is in it
 * (nothing if that is nothing). */
bool bale_json_print_list(json_t *array, bool one);

#endif
