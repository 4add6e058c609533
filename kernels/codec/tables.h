/* The tables that host and device exchange about the chunks of a batch. Both sides are
 * little-endian. Each chunk has a cell of device memory; the cells lie one behind the other. A
 * chunk of more than BALE_CUDA_CELL bytes, of a codec with cells, has as many cells as its raw
 * bytes fill, and an entry for each: its raw bytes lie in them without gaps, and so do its stored
 * bytes in the packed cells, from the first one on. */
#ifndef BALE_KERNELS_CODEC_TABLES_H
#define BALE_KERNELS_CODEC_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/field.h"

#define BALE_CUDA_CHUNK_LOG2_MAX 16
#define BALE_CUDA_CELL (1u << BALE_CUDA_CHUNK_LOG2_MAX)
/* Room for an extent part in device memory: no codec here has a longer one. */
#define BALE_CUDA_PART 4096u
/* Working memory for each cell, of codecs with cells. */
#define BALE_CUDA_WORK 512u

/* From the host, for each chunk, or for each cell of a longer one. */
struct cuda_chunk {
    uint64_t address;  /* of its bytes, in pinned host memory or in device memory */
    uint64_t checksum; /* decode: of the stored bytes; of a longer chunk the host checks it */
    uint32_t length;   /* bytes there, of the cell: raw for encode, stored for decode (perhaps 0) */
    uint32_t raw_length; /* of the cell: 1 or more */
    uint32_t first;      /* the cell in which its chunk begins */
    uint32_t whole;      /* raw bytes of its chunk */
    uint32_t stored;     /* decode: stored bytes of its chunk */
    uint32_t limit;      /* encode: a chunk that takes more bytes is stored raw */
    uint32_t chunk_size; /* of its frame */
    uint32_t parameter;  /* of its frame; encode: that the frame will have */
    uint32_t frame;      /* its frame's entry in the table of frames, which ascends */
};

/* From the host, for each frame: read only of codecs with an extent part. */
struct cuda_frame {
    uint64_t address;        /* decode: of its part, in pinned host memory or in device memory */
    uint64_t checksum;       /* decode: of its part */
    uint32_t length;         /* decode: of its part, BALE_CUDA_PART at most */
    uint32_t raw_length;     /* 1 or more */
    uint32_t first;          /* its first cell; all but the last one have that one's raw length */
    bool rounds;             /* encode: the elements of field are rounded first */
    struct bale_field field; /* encode: what is known of the array */
    uint64_t offset;         /* of its first byte in the file */
};

/* From the device, for each frame of a codec with an extent part. */
struct cuda_part {
    uint64_t hash;
    uint32_t length; /* encode: of what the codec made; decode: that of the frame's */
};

enum {
    CUDA_VALUE = 0xff,     /* without CUDA_MIXED: the byte that all bytes equal */
    CUDA_MIXED = 0x100,    /* its bytes are not all equal */
    CUDA_MISMATCH = 0x200, /* encode: what was compressed does not decode to the chunk */
    CUDA_BAD = 0x400,      /* decode: wrong checksum, or it does not decode */
};

/* From the device, for each entry: hashes are of the bytes in the cell, or of as many stored bytes,
 * from the same place of its chunk on. */
struct cuda_result {
    uint64_t raw_hash;
    uint64_t stored_hash;
    uint32_t stored; /* encode: bytes of the chunk to store; its raw length if it is stored raw */
    uint32_t flags;
};

/* From the host: device memory to be copied to pinned host memory or within the device. */
struct cuda_move {
    uint64_t from; /* 16-byte aligned */
    uint64_t to;
    uint64_t length;
};

#endif
