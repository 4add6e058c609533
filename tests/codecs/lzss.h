/* What the cases of gpulz and culzss share: streams as kernels/lzss/spec.md has them. */
#ifndef BALE_TESTS_CODECS_LZSS_H
#define BALE_TESTS_CODECS_LZSS_H

#include "tests/codecs/cases.h"
#include "tests/codecs/lzss_shapes.h"

enum {
    LZSS_SHAPES = SHAPES - DATA_KINDS,
    LZSS_LETTERS = 13, /* and one byte more in lzss_letters */
};

/* Symbols are bytes: "abcabcabcabcd" is literals a, b, c, a pointer (distance 3, 9 symbols), and
 * literal d: the example of both specifications. */
extern const uint8_t lzss_letters[14], lzss_letters_stored[9];

/* Visits the letters, every rule of a decoder broken in them, and a pointer as far back as the
 * window, and further. With the parameter, symbols are bytes and the window has so many. */
void lzss_streams(uint16_t parameter, uint8_t window, codec_stream_visit *visit, void *arg);

/* Visits the letters with a parameter that no frame may have. */
void lzss_bad_parameter(const char *name, uint16_t parameter, const char *what,
                        codec_stream_visit *visit, void *arg);

#endif
