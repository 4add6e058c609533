/* Memory and streams of the process that the engine is in. The threads that call are its own, and go on with
 * the device that they were at. */
#include "kernels/cuda/engine.h"

int bale_cuda_process_place(struct bale_engine *engine, const void *memory, enum bale_place *where,
                            int *device)
{
    int ordinal = bale_cuda_engine(engine)->about[0].ordinal;
    void *before = bale_driver_context();
    bool on_device = false;
    int err = bale_cuda_place(ordinal, memory, &on_device, device);

    bale_driver_set_context(before);
    *where = on_device ? BALE_PLACE_DEVICE : BALE_PLACE_HOST;
    return err;
}

int bale_cuda_process_wait(struct bale_engine *engine, void *stream)
{
    void *before = bale_driver_context();
    int err = bale_cuda_wait_stream(bale_cuda_engine(engine)->about[0].ordinal, stream);

    bale_driver_set_context(before);
    return err;
}

int bale_cuda_process_copy(struct bale_engine *engine, const struct bale_gpu_copy *copies,
                           size_t count)
{
    void *before = bale_driver_context();
    int err = bale_cuda_copy(bale_cuda_engine(engine)->about[0].ordinal, copies, count);

    bale_driver_set_context(before);
    return err;
}
