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
 * A GPU does the work if the context asks for it (struct bale_context_params). Every engine reads
 * the streams of every other. gpulz, culzss, fsst, float, cusz and store give the same bytes on
 * all; zstd and lz4 come from another library on a GPU, and give other bytes that decompress to the
 * same.
 *
 * Then in, out.data or both may also be memory of a GPU (from cudaMalloc and its like, in a primary
 * context, as the CUDA runtime uses it):
 *
 *     struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;
 *
 *     how.engine = "gpu";
 *     if (bale_context_create(&how, &context) != BALE_API_OK)
 *         fprintf(stderr, "%s\n", bale_context_message(NULL));
 *     params.stream = stream;    (the work in the stream makes data)
 *     out.data = device_memory, out.capacity = size;
 *     bale_compress(context, &params, data, length, &out);
 *
 * Sizes are in bytes. Functions that can fail return BALE_API_OK (0) or one of the negative codes
 * below. The library does not print, end the program, or change signal handling; its own threads
 * block all signals. Link with -lbalefs (and, when static, -lzstd -llz4 -pthread -ldl).
 *
 * Structures with a member "size" may grow at their end in later versions: set size to sizeof the
 * structure, and members that you do not know to zero, as the _INIT macros do. Zero always means
 * what it meant before the member was there. A program built with a newer header than the library's
 * gets BALE_API_UNSUPPORTED if it sets a member that the library does not know. */
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

/* The version of the library, which may differ from the header's above: 10000 major + 100 minor
 * + patch, and "0.1.0". */
unsigned bale_version(void);
const char *bale_version_text(void);

/* The numbers do not change; later versions may add more. */
enum bale_api_code {
    BALE_API_OK = 0,
    BALE_API_NO_MEMORY = -1,   /* also: a thread could not be created */
    BALE_API_CORRUPT = -3,     /* not a stream, cut short, damaged, or followed by other bytes */
    BALE_API_UNSUPPORTED = -4, /* from a newer version of the format or of the header */
    BALE_API_INVALID = -5,     /* an argument is wrong */
    BALE_API_TOO_BIG = -7,     /* does not fit the buffer, the limit or the address space */
    BALE_API_DEVICE = -11,     /* no GPU can be used, or it failed */
};

/* A short English text without a full stop. Never NULL; static. Any thread. */
const char *bale_error_text(int code);

/* A context has threads and working memory (about 1.5 MiB for each thread), for any number of
 * calls, one after the other: a second thread needs a context of its own. It does not survive
 * fork(). */
struct bale_context;

struct bale_context_params {
    size_t size;      /* sizeof(struct bale_context_params) */
    unsigned threads; /* 0: as many as the process may use CPUs. At most 4096 */

    /* The engine that does the work. NULL: "cpu".
     * "cpu": the threads. The rest of this structure then means nothing, and no GPU is looked for.
     * "gpu": a GPU does what it can. The threads do the rest: codecs that it lacks, extents that
     *     it has no room for, and what fails there. If no GPU can be used, the context is not
     *     created.
     * "auto": the engine that would finish first, by measured costs; a GPU does everything that
     *     lies in its memory. If no GPU can be used, the threads.
     * The GPU must be one of NVIDIA's. The plug-in libbalefs_cuda.so is searched for in lib/balefs
     * beside the program or this library, and in the system's library directories. What a GPU
     * compresses is decompressed there and compared before it is used. */
    const char *engine;
    /* The most bytes of the GPU's memory, including CUDA's own. 0: 1/16 of what it has, or half
     * of what is free if that is less, but at least 2 GiB, and no more than a quarter. */
    uint64_t gpu_memory;
    /* The most bytes of pinned host memory, in steps of 32 MiB. 0: 256 MiB. */
    size_t staging;
    /* 1 for CUDA's device 0, 2 for device 1, and so on. 0: the device nearest to the calling
     * thread. */
    size_t gpu;
    /* Not 0: the streams to decompress come from a trusted source. A GPU then also decodes zstd
     * and lz4, with NVIDIA's library, whose source is closed. */
    size_t trusted;
};
#define BALE_CONTEXT_PARAMS_INIT                                                                   \
    {                                                                                              \
        sizeof(struct bale_context_params), 0, NULL, 0, 0, 0, 0                                    \
    }

/* params: NULL for the defaults. *context is set only on success. With a GPU this takes about a
 * second, and the context keeps its memory of the GPU until it is destroyed, and its staging,
 * which grows with use. Returns NO_MEMORY, INVALID, UNSUPPORTED or DEVICE. */
int bale_context_create(const struct bale_context_params *params, struct bale_context **context);
/* NULL is fine. The program's own memory, streams and current device stay as they are. */
void bale_context_destroy(struct bale_context *context);
/* The reason why the last failed call with this context failed: a sentence with position and
 * reason, without a newline; "" if none failed. Valid until the next call. NULL: the same for the
 * last bale_context_create() that failed on the calling thread. */
const char *bale_context_message(const struct bale_context *context);

/* How to compress. NULL stands for the defaults. */
struct bale_params {
    size_t size; /* sizeof(struct bale_params) */
    /* "auto", "store", "lz4", "zstd:3", ... (section 7). NULL: "auto". With "cusz:f32,abs=E" the
     * elements that come back differ by E at most, unless the first 4096 bytes show that the
     * input is no array (a text, an archive); from the frame on that has the signature of HDF5
     * behind a user block nothing changes. With "cusz:npy,abs=E" the input is a whole .npy file,
     * whose header says what its elements are, and stays as it is. With rel=E instead of abs=E the
     * bound is E times the range of the array's finite elements, which the CPU finds in a copy
     * where the input is a device's; without two different ones, and with such a signature
     * anywhere, nothing changes. */
    const char *codec;
    uint32_t extent; /* raw bytes of a frame: a multiple of 4096, 16 KiB to 64 MiB. 0: 128 KiB,
                        * and 1 MiB with a codec for arrays of numbers */
    uint32_t chunk;  /* raw bytes of a chunk: a power of two, 4 KiB to 64 MiB. 0: 64 KiB */

    /* A cudaStream_t, for a context with a GPU (DEVICE without one): the call accesses input and
     * output only after the work that is in the stream when it begins. NULL: no stream, not even
     * the default one, which is cudaStreamLegacy or cudaStreamPerThread here. Nothing is added
     * to the stream: with or without one, a call returns when the result is there, for every
     * stream and for the host. */
    void *stream;
};
#define BALE_PARAMS_INIT                                                                           \
    {                                                                                              \
        sizeof(struct bale_params), NULL, 0, 0, NULL                                               \
    }

/* Where a result goes. data not NULL: the caller's memory of capacity bytes, on the host or,
 * with a context that has a GPU, on a device; TOO_BIG if that is not enough. data NULL: the
 * library allocates host memory, whatever the engine and wherever the input is; the caller frees
 * it with bale_buffer_free(). capacity, if not 0, is a limit: TOO_BIG beyond. Always set a limit
 * for streams from others: a few bytes of stream can stand for 2^63 zeros. After success length
 * bytes of data are the result. After an error length is 0, the contents of the caller's memory
 * are undefined, and the library has allocated nothing. After DEVICE a device may still write to
 * its memory later; and once a GPU has not answered for 10 s, every later call returns DEVICE as
 * well. */
struct bale_buffer {
    void *data;
    size_t capacity;
    size_t length;
};

/* Frees what the library allocated, and clears the buffer. */
void bale_buffer_free(struct bale_buffer *buffer);

/* The most bytes that the stream of length raw bytes can take; 0: params are wrong, or it is
 * more than SIZE_MAX. Any thread. */
size_t bale_compress_bound(const struct bale_params *params, size_t length);

/* Compresses in[0, length) to one stream. in may be NULL if length is 0; in and out do not overlap,
 * and no other thread writes to either meanwhile. The stream depends on the bytes, params and the
 * libraries' versions, not on the number of threads, and on the engine only with zstd and lz4.
 *
 * With a GPU, host memory is copied through the context's staging, many frames at a time: a few
 * large calls are faster than many small ones. Memory of the context's device is read where it is
 * if params name a codec that the GPU has, but not for "auto" and for a gpulz with open options:
 * there the CPU chooses, and gets a copy. With "cusz:..." the GPU rounds the elements of a copy of
 * its own. The output is always copied through the staging.
 *
 * Returns NO_MEMORY, INVALID, TOO_BIG, UNSUPPORTED (params from a newer header) or DEVICE. */
int bale_compress(struct bale_context *context, const struct bale_params *params, const void *in,
                  size_t length, struct bale_buffer *out);

/* The sum of the raw lengths of the streams in in[0, length), from heads alone: nothing is
 * decompressed. Everything but the frames' contents is checked. in is host memory. Returns
 * CORRUPT, UNSUPPORTED or TOO_BIG (2^64 or more). Any thread. */
int bale_raw_size(const void *in, size_t length, uint64_t *raw_size);

/* Decompresses in[0, length): one or more streams and nothing else. Every byte is checked. in need
 * not be trusted: damaged or malicious bytes cause an error and nothing else. Only the stream of
 * params is used; NULL is fine. in and out do not overlap.
 *
 * With a GPU, host memory is copied through the context's staging. Memory of the context's device
 * is written where it is, but frames that the GPU does not decode are copied through the staging.
 * If in is memory of a device, it is copied to the host, which reads the frames' heads.
 *
 * Returns NO_MEMORY, CORRUPT, UNSUPPORTED, INVALID, TOO_BIG or DEVICE. */
int bale_decompress(struct bale_context *context, const struct bale_params *params, const void *in,
                    size_t length, struct bale_buffer *out);

#ifdef __cplusplus
}
#endif

#endif
