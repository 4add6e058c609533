/* Inside of the generator: generate.c has these, and generate_lzss.c gpulz() and culzss(). */
#ifndef BALE_TESTS_VECTORS_GENERATE_H
#define BALE_TESTS_VECTORS_GENERATE_H

#include <stddef.h>
#include <stdint.h>

enum { RAW_MAX = 70000, FRAME_MAX = RAW_MAX + 1000 };

extern uint8_t raw[RAW_MAX];
extern uint8_t frame[FRAME_MAX];

/* Fill raw[from, to). */
void fill_random(size_t from, size_t to);
void fill_text(size_t from, size_t to);

/* Encodes raw[0, raw_length) by a setting into frame; returns the frame's length. */
size_t encode(const char *text, uint32_t raw_length, uint8_t chunk_log2);

/* Write frame[0, length) and, of a good one, raw[0, raw_length), and list it. */
void emit_bad(const char *name, size_t length, const char *what);
void emit_good(const char *name, size_t length, size_t raw_length, const char *what);

/* All of codec gpulz, and all of culzss. */
void gpulz(void);
void culzss(void);

#endif
