/* balefs in memory: compresses bytes to a balefs stream and back.
 *
 * A stream is what `balefs compress` writes and `balefs decompress` reads: frames of one extent
 * each, which are compressed and decompressed side by side, between a head and an end record
 * (FORMAT.md section 11; frames: section 6).
 *
 *     struct bale_context *context;
 *     struct bale_params params = BALE_PARAMS_INIT;
 *     struct bale_buffer out = {0};
 *
 *     if (bale_context_create(NULL, &context) != BALE_API_OK) ...
 *     params.codec = "zstd:3";
 *     if (bale_compress(context, &params, data, length, &out) != BALE_API_OK)
 *         fprintf(stderr, "%s\n", bale_context_message(context));
 *     ... out.data[0, out.length) ...
 *     bale_buffer_free(&out);
 *     bale_context_destroy(context);
 *
 * Sizes are in bytes. Functions that can fail return BALE_API_OK (0) or one of the negative codes
 * below. The library neither prints, nor ends the program, nor changes signal handling; its own
 * threads block all signals. Link with -lbalefs (and, when static, -lzstd -llz4 -pthread).
 *
 * Structures with a member "size" may grow at their end in later versions: set it to sizeof and
 * what you do not know to zero, as the _INIT macros do. Zero always means what it meant before
 * the member was there. A program built with a newer header than the library's gets
 * BALE_API_UNSUPPORTED if it sets what the library does not know. */
#ifndef BALEFS_H
#define BALEFS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BALE_VERSION_MAJOR 0
#define BALE_VERSION_MINOR 1
#define BALE_VERSION_PATCH 0

/* The library's version, as against the header's above: 10000 major + 100 minor + patch, and
 * "0.1.0". */
unsigned bale_version(void);
const char *bale_version_text(void);

/* The numbers do not change; there may be more. */
enum bale_api_code {
    BALE_API_OK = 0,
    BALE_API_NO_MEMORY = -1,   /* also: no thread could be made */
    BALE_API_CORRUPT = -3,     /* no stream, cut short, damaged, or followed by something else */
    BALE_API_UNSUPPORTED = -4, /* made by a newer version: of the format, or of the header */
    BALE_API_INVALID = -5,     /* an argument is wrong */
    BALE_API_TOO_BIG = -7,     /* does not fit the buffer, the limit or the address space */
};

/* A short English text without a full stop. Never NULL; static. Any thread. */
const char *bale_error_text(int code);

/* A context holds threads and working memory (about 1.5 MiB a thread), for any number of calls,
 * one after the other: a second thread needs a context of its own. It does not survive fork(). */
struct bale_context;

struct bale_context_params {
    size_t size;      /* sizeof(struct bale_context_params) */
    unsigned threads; /* 0: as many as the process may use CPUs. At most 4096 */
};
#define BALE_CONTEXT_PARAMS_INIT                                                                   \
    {                                                                                              \
        sizeof(struct bale_context_params), 0                                                      \
    }

/* params: NULL for the defaults. *context is set on success only. */
int bale_context_create(const struct bale_context_params *params, struct bale_context **context);
/* NULL is fine. */
void bale_context_destroy(struct bale_context *context);
/* What the last call with this context that failed has to say: a sentence with place and reason,
 * without a newline; "" if none failed. Valid until the next call. */
const char *bale_context_message(const struct bale_context *context);

/* How to compress. NULL stands for the defaults. */
struct bale_params {
    size_t size;       /* sizeof(struct bale_params) */
    const char *codec; /* "auto", "store", "lz4", "zstd:3", ... (section 7). NULL: "auto" */
    uint32_t extent;   /* raw bytes of a frame: a multiple of 4096, 16 KiB to 64 MiB. 0: 128 KiB */
    uint32_t chunk;    /* of a chunk: a power of two, 4 KiB to 64 MiB. 0: 64 KiB */
};
#define BALE_PARAMS_INIT                                                                           \
    {                                                                                              \
        sizeof(struct bale_params), NULL, 0, 0                                                     \
    }

/* Where a result goes.
 * data not NULL: the caller's memory of capacity bytes; TOO_BIG if that is not enough.
 * data NULL: the library allocates; data is then the caller's, for bale_buffer_free(). capacity, if
 * not 0, limits how much: TOO_BIG beyond. Always give such a limit for streams of others: a few
 * bytes of stream can stand for 2^63 zeros.
 * After success length bytes of data are the result. After an error length is 0, the caller's
 * memory holds anything, and the library has allocated nothing. */
struct bale_buffer {
    void *data;
    size_t capacity;
    size_t length;
};

/* Frees what the library allocated, and clears the buffer. */
void bale_buffer_free(struct bale_buffer *buffer);

/* The most bytes the stream of length raw bytes can take, or 0: params are wrong, or it is over
 * SIZE_MAX. Any thread. */
size_t bale_compress_bound(const struct bale_params *params, size_t length);

/* Compresses in[0, length) to one stream. in may be NULL if length is 0; in and out do not overlap.
 * The stream depends on the bytes, params and the libraries' versions, not on threads. Returns
 * NO_MEMORY, INVALID, TOO_BIG or UNSUPPORTED (params from a newer header). */
int bale_compress(struct bale_context *context, const struct bale_params *params, const void *in,
                  size_t length, struct bale_buffer *out);

/* The sum of the raw lengths of the streams in in[0, length), from heads alone: nothing is
 * decompressed. Everything but the frames' contents is checked. Returns CORRUPT, UNSUPPORTED or
 * TOO_BIG (2^64 or more). Any thread. */
int bale_raw_size(const void *in, size_t length, uint64_t *raw_size);

/* Decompresses in[0, length): one or more streams and nothing else. Every byte is checked. in may
 * be anybody's: damage and malice give an error, never more. Of params nothing is used today; NULL
 * is fine. in and out do not overlap. Returns NO_MEMORY, CORRUPT, UNSUPPORTED, INVALID or
 * TOO_BIG. */
int bale_decompress(struct bale_context *context, const struct bale_params *params, const void *in,
                    size_t length, struct bale_buffer *out);

#ifdef __cplusplus
}
#endif

#endif
