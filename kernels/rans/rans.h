/* The entropy coder (spec.md): tables of frequencies, and steps of 32 lanes. */
#ifndef BALE_KERNELS_RANS_RANS_H
#define BALE_KERNELS_RANS_RANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BALE_RANS_LANES = 32,
    BALE_RANS_SYMBOLS = 1024, /* of an alphabet, at most */
    BALE_RANS_BITS = 12,      /* of its probabilities, at most */
    BALE_RANS_SLOTS = 1 << BALE_RANS_BITS,
    BALE_RANS_TABLE_BYTES = 1 + BALE_RANS_SYMBOLS / 64 + BALE_RANS_SYMBOLS / 8 +
                            BALE_RANS_SYMBOLS * 11 / 8, /* of a written table, at most */
    BALE_RANS_RAW = 15,                                 /* raw bits in a step, at most */
    BALE_RANS_LOW = 1 << 15,                            /* a lane refills below it */
    BALE_RANS_STATES = 4 * BALE_RANS_LANES, /* bytes that the states take of a stream's words */
    BALE_RANS_STEP = 2 * BALE_RANS_LANES,   /* bytes of words that a step takes, at most */
    BALE_RANS_ROOM = 64,      /* bytes behind words and symbols that are read or written as well */
    BALE_RANS_SLOTS_ROOM = 4, /* slots behind a table that are written as well */
};

struct bale_rans_alphabet {
    uint16_t symbols; /* 1 to BALE_RANS_SYMBOLS; above 256 only with 11 bits or less */
    uint8_t bits;     /* 10 to BALE_RANS_BITS */
};

/* A symbol to an encoder: its frequency << 16 | cum. 0: it does not occur. */
typedef uint32_t bale_rans_symbol;

/* What a state modulo M means to a decoder, with p bits: symbol << 2 p | (slot - cum) << p |
 * frequency - 1. */
typedef uint32_t bale_rans_slot;

/* Writes the table for counts[], of which there are fewer than 2^20, to out, which has
 * BALE_RANS_TABLE_BYTES, and sets symbols[] for each symbol of the alphabet. Returns its bytes. */
size_t bale_rans_table_write(struct bale_rans_alphabet alphabet, const uint32_t *counts,
                             bale_rans_symbol *symbols, uint8_t *out);

/* The symbols that occur, in order, with their cum, and M at the end. */
struct bale_rans_frequencies {
    uint32_t used;
    uint16_t symbol[BALE_RANS_SYMBOLS];
    uint32_t cum[BALE_RANS_SYMBOLS + 1];
};

/* Reads a table of hostile bytes. Returns its bytes, or BALE_E_CORRUPT. */
int64_t bale_rans_table_read(struct bale_rans_alphabet alphabet, const uint8_t *in, size_t length,
                             struct bale_rans_frequencies *read);

/* Sets the 2^bits slots, all to 0 if no symbol occurs. If meaning is not NULL, meaning[s] takes the
 * place of symbol s. Slots have BALE_RANS_SLOTS_ROOM behind them. */
void bale_rans_slots(const struct bale_rans_frequencies *read, unsigned bits,
                     const uint16_t *meaning, bale_rans_slot *slots);

/* A stream that is being encoded or decoded. */
struct bale_rans_stream {
    _Alignas(64) uint32_t state[BALE_RANS_LANES];
    uint8_t *top;         /* encoder: where the next word goes */
    const uint8_t *words; /* decoder: the words that are left end here, */
    const uint8_t *first; /* and begin here */
};

/* A step of symbols: lane i has in[i], but takes no part if that is `absent`. */
void bale_rans_encode(struct bale_rans_stream *stream, const bale_rans_symbol *symbols,
                      unsigned bits, const uint16_t in[BALE_RANS_LANES], uint16_t absent);

/* A step of the lanes of the mask; other lanes get 0. False if words are missing. */
bool bale_rans_decode(struct bale_rans_stream *stream, const bale_rans_slot *slots, unsigned bits,
                      uint32_t mask, uint16_t out[BALE_RANS_LANES]);

/* A step of raw bits: lane i has count[i], 0 to BALE_RANS_RAW: those of value[i], which has no
 * others. */
void bale_rans_encode_raw(struct bale_rans_stream *stream, const uint32_t value[BALE_RANS_LANES],
                          const uint8_t count[BALE_RANS_LANES]);
bool bale_rans_decode_raw(struct bale_rans_stream *stream, uint32_t value[BALE_RANS_LANES],
                          const uint8_t count[BALE_RANS_LANES]);

/* Bytes of a stream to be decoded. */
struct bale_rans_bytes {
    struct bale_rans_stream *stream;
    uint8_t *out;         /* has room for whole steps */
    const uint8_t *table; /* byte i has the table of this number, or the first if table is NULL */
    size_t count;
};

/* Many steps, in plain C or with what the processor has; all make and take the same words.
 * Words, symbols and tables have BALE_RANS_ROOM bytes behind them that may be read, a decoder's
 * words BALE_RANS_STEP before them as well; an encoder's words have room that may be written. */
struct bale_rans_steps {
    const char *name;
    /* Encodes steps of 32 symbols, and of the rest in the last one, from the last step to the
     * first: symbols[in[i]] each. */
    void (*encode)(struct bale_rans_stream *stream, const bale_rans_symbol *symbols, unsigned bits,
                   const uint16_t *in, size_t count);
    /* Decodes bytes of each of two streams, which wait for nothing of each other. The tables of
     * 2^bits slots lie one behind the other. False if words are missing. */
    bool (*decode_bytes)(const struct bale_rans_bytes bytes[2], const bale_rans_slot *slots,
                         unsigned bits);
};

extern const struct bale_rans_steps bale_rans_plain;

/* The steps that this processor can do, the fastest first: i from 0 until NULL. */
const struct bale_rans_steps *bale_rans_steps_at(size_t i);

/* Begins a stream whose words go to `words`, with the lanes' carries. */
void bale_rans_encode_begin(struct bale_rans_stream *stream, uint8_t *words,
                            const uint16_t carry[BALE_RANS_LANES]);

/* Appends the states. The stream's words end at stream->top then. */
void bale_rans_encode_end(struct bale_rans_stream *stream);

/* Begins with the words of a stream, which are so many bytes. False: it is corrupt. */
bool bale_rans_decode_begin(struct bale_rans_stream *stream, const uint8_t *words, size_t bytes);

/* Whether the stream ends here; gives the carries. */
bool bale_rans_decode_end(const struct bale_rans_stream *stream, uint16_t carry[BALE_RANS_LANES]);

#endif
