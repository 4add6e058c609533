/* Memory and streams of the process that the engine is part of. The callers are the process's
 * own threads, so each call restores the thread's CUDA context. */
#include "format/err.h"
#include "kernels/cuda/engine.h"

enum { PARTS = 512 }; /* of copies that are started together */

int bale_cuda_process_memory_kind(struct bale_engine *handle, const void *memory,
                                  enum bale_memory_kind *where, int *device)
{
    int ordinal = bale_cuda_engine(handle)->info[0].ordinal;
    void *before = bale_driver_context();
    bool on_device = false;
    int err = bale_cuda_memory_kind(ordinal, memory, &on_device, device);

    bale_driver_set_context(before);
    *where = on_device ? BALE_MEMORY_DEVICE : BALE_MEMORY_HOST;
    return err;
}

int bale_cuda_process_wait(struct bale_engine *handle, void *stream)
{
    void *before = bale_driver_context();
    int err = bale_cuda_wait_stream(bale_cuda_engine(handle)->info[0].ordinal, stream);

    bale_driver_set_context(before);
    return err;
}

/* Cuts off the part that the driver can copy in one piece. */
static struct bale_gpu_copy take_part(struct cuda_pinned *pinned, struct bale_gpu_copy *left)
{
    struct bale_gpu_copy part = *left;

    part.length = bale_cuda_pinned_part(pinned, part.to, part.from, part.length);
    left->to = (uint8_t *)left->to + part.length;
    if (left->from)
        left->from = (const uint8_t *)left->from + part.length;
    left->length -= part.length;
    return part;
}

int bale_cuda_process_copy(struct bale_engine *handle, const struct bale_gpu_copy *copies,
                           size_t count)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);
    struct bale_gpu_copy parts[PARTS];
    void *before = bale_driver_context();
    size_t filled = 0;
    int err = BALE_OK;

    for (size_t i = 0; i < count && err == BALE_OK; i++) {
        struct bale_gpu_copy left = copies[i];
        while (left.length > 0 && err == BALE_OK) {
            parts[filled++] = take_part(&engine->pinned, &left);
            if (filled < PARTS)
                continue;
            err = bale_cuda_copy(engine->info[0].ordinal, parts, filled);
            filled = 0;
        }
    }
    if (err == BALE_OK && filled > 0)
        err = bale_cuda_copy(engine->info[0].ordinal, parts, filled);
    bale_driver_set_context(before);
    return err;
}
