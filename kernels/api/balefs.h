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
 * A GPU does the work where the context asks for it (struct bale_context_params). The streams are the
 * same: what one engine made every engine reads, and gpulz, culzss and store give the same bytes on all;
 * zstd and lz4 on a GPU are another library's, and give other bytes that stand for the same.
 *
 * in and out.data may then also be memory of a GPU (cudaMalloc and its like, of a primary context, as
 * the CUDA runtime uses it), one or both:
 *
 *     struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
 *
 *     how.engine = "gpu";
 *     if (bale_context_create(&how, &context) != BALE_API_OK)
 *         fprintf(stderr, "%s\n", bale_context_message(NULL));
 *     params.stream = stream;    (data is made by what is in the stream)
 *     out.data = device_memory, out.capacity = size;
 *     bale_compress(context, &params, data, length, &out);
 *
 * Sizes are in bytes. Functions that can fail return BALE_API_OK (0) or one of the negative codes
 * below. The library neither prints, nor ends the program, nor changes signal handling; its own
 * threads block all signals. Link with -lbalefs (and, when static, -lzstd -llz4 -pthread -ldl).
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
    BALE_API_DEVICE = -11,     /* there is no GPU that can be used, or it failed */
};

/* A short English text without a full stop. Never NULL; static. Any thread. */
const char *bale_error_text(int code);

/* A context holds threads and working memory (about 1.5 MiB a thread), for any number of calls,
 * one after the other: a second thread needs a context of its own. It does not survive fork(). */
struct bale_context;

struct bale_context_params {
    size_t size;      /* sizeof(struct bale_context_params) */
    unsigned threads; /* 0: as many as the process may use CPUs. At most 4096 */

    /* Who does the work. NULL: "cpu".
     * "cpu": the threads. The rest of this structure then means nothing, and no GPU is looked for.
     * "gpu": a GPU does what it can, and the threads the rest: what it lacks the codec or the room
     *     for, and what fails there. Where none can be used the context is not made.
     * "auto": whichever is done first, as measured on the way; a GPU all that lies in its memory. Where
     *     none can be used, the threads.
     * The GPU is one of NVIDIA's; the driver and the plug-in libbalefs_cuda.so are looked for, the
     * latter in lib/balefs beside the program or this library, and where the system has libraries.
     * What is compressed there is decompressed again and compared before it is taken. */
    const char *engine;
    /* Bytes of the GPU's memory at most, CUDA's own included. 0: 1/16 of what it has, at least 2 GiB,
     * but no more than a quarter. */
    uint64_t gpu_memory;
    /* Bytes of pinned memory of the host at most, in steps of 32 MiB. 0: 256 MiB. */
    size_t staging;
    /* 1 for device 0, as CUDA counts, 2 for device 1, ... 0: the one nearest to the calling thread. */
    size_t gpu;
    /* Not 0: the streams to decompress are of who may do no harm. A GPU then also decodes zstd and lz4,
     * with NVIDIA's library, which is not open to check. */
    size_t trusted;
};
#define BALE_CONTEXT_PARAMS_INIT                                                                   \
    {                                                                                              \
        sizeof(struct bale_context_params), 0, NULL, 0, 0, 0, 0                                    \
    }

/* params: NULL for the defaults. *context is set on success only. With a GPU this takes about a second,
 * and the context holds its memory of the GPU until it is destroyed, and its staging, which grows with
 * what is used. Returns NO_MEMORY, INVALID, UNSUPPORTED or DEVICE. */
int bale_context_create(const struct bale_context_params *params, struct bale_context **context);
/* NULL is fine. Memory, streams and current device of the program's own are as they were. */
void bale_context_destroy(struct bale_context *context);
/* What the last call with this context that failed has to say: a sentence with place and reason,
 * without a newline; "" if none failed. Valid until the next call. NULL: why the last
 * bale_context_create() of the calling thread that failed did. */
const char *bale_context_message(const struct bale_context *context);

/* How to compress. NULL stands for the defaults. */
struct bale_params {
    size_t size;       /* sizeof(struct bale_params) */
    const char *codec; /* "auto", "store", "lz4", "zstd:3", ... (section 7). NULL: "auto" */
    uint32_t extent;   /* raw bytes of a frame: a multiple of 4096, 16 KiB to 64 MiB. 0: 128 KiB */
    uint32_t chunk;    /* of a chunk: a power of two, 4 KiB to 64 MiB. 0: 64 KiB */

    /* A cudaStream_t, for a context with a GPU (DEVICE without one): input and output are touched when
     * all is done that is in the stream as the call begins. NULL: no stream, also not the default one,
     * which is cudaStreamLegacy or cudaStreamPerThread here. Nothing is put into the stream: whatever
     * it is, a call returns when the result is there, for every stream and for the host. */
    void *stream;
};
#define BALE_PARAMS_INIT                                                                           \
    {                                                                                              \
        sizeof(struct bale_params), NULL, 0, 0, NULL                                               \
    }

/* Where a result goes.
 * data not NULL: the caller's memory of capacity bytes, of the host or, with a context that has a GPU, of
 * a device; TOO_BIG if that is not enough.
 * data NULL: the library allocates memory of the host, whatever the engine and wherever the input is;
 * data is then the caller's, for bale_buffer_free(). capacity, if
 * not 0, limits how much: TOO_BIG beyond. Always give such a limit for streams of others: a few
 * bytes of stream can stand for 2^63 zeros.
 * After success length bytes of data are the result. After an error length is 0, the caller's
 * memory holds anything, and the library has allocated nothing. After DEVICE memory of a device may be
 * written to late, and a GPU that has not answered for 10 s makes every later call DEVICE as well. */
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

/* Compresses in[0, length) to one stream. in may be NULL if length is 0; in and out do not overlap, and
 * nobody else writes to either meanwhile. The stream depends on the bytes, params and the libraries'
 * versions, not on threads, and on the engine only with zstd and lz4.
 *
 * With a GPU memory of the host goes through the context's staging, many frames at a time: a few calls
 * with much are faster than many with little. Memory of the context's device is read where it is, if
 * params name a codec that the GPU has, but not "auto", nor a gpulz that leaves something open: those
 * are chosen by the CPU, which gets a copy. What comes out goes through the staging in any case.
 *
 * Returns NO_MEMORY, INVALID, TOO_BIG, UNSUPPORTED (params from a newer header) or DEVICE. */
int bale_compress(struct bale_context *context, const struct bale_params *params, const void *in,
                  size_t length, struct bale_buffer *out);

/* The sum of the raw lengths of the streams in in[0, length), from heads alone: nothing is
 * decompressed. Everything but the frames' contents is checked. in is memory of the host. Returns
 * CORRUPT, UNSUPPORTED or TOO_BIG (2^64 or more). Any thread. */
int bale_raw_size(const void *in, size_t length, uint64_t *raw_size);

/* Decompresses in[0, length): one or more streams and nothing else. Every byte is checked. in may
 * be anybody's: damage and malice give an error, never more. Of params only the stream is used; NULL
 * is fine. in and out do not overlap.
 *
 * With a GPU memory of the host goes through the context's staging. Memory of the context's device is
 * written to where it is, but for frames that the GPU does not decode, which go through the staging. Of
 * in the host gets a copy if it is a device's, for the frames' heads are its work.
 *
 * Returns NO_MEMORY, CORRUPT, UNSUPPORTED, INVALID, TOO_BIG or DEVICE. */
int bale_decompress(struct bale_context *context, const struct bale_params *params, const void *in,
                    size_t length, struct bale_buffer *out);

#ifdef __cplusplus
}
#endif

#endif
