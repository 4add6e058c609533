/* kernels/codec/nvcomp.h without nvCOMP, whose kernels are for a GPU. */
#include "kernels/codec/nvcomp.h"

#include "format/err.h"

int bale_nvcomp_open(struct nvcomp *nvcomp, struct bale_reason *why)
{
    (void)nvcomp;
    bale_reason_set(why, "the emulation has no nvCOMP");
    return BALE_E_DEVICE;
}

struct nvcomp_options bale_nvcomp_decompress_options(void)
{
    return (struct nvcomp_options){0};
}
