/* cuda_codec_ops of a codec that nvCOMP implements. */
#ifndef BALE_KERNELS_CODEC_NVCOMP_CUH
#define BALE_KERNELS_CODEC_NVCOMP_CUH

#include "kernels/codec/codec.cuh"

namespace bale_nvcomp
{
template <nvcomp_family FAMILY> int bound(const struct nvcomp *nvcomp, size_t *bytes)
{
    return nvcomp->codecs[FAMILY].bound(BALE_CUDA_CELL, nvcomp_options{}, bytes);
}

/* The larger of what the two directions need. */
template <nvcomp_family FAMILY> int temp(const struct nvcomp *nvcomp, uint32_t cells, size_t *bytes)
{
    const nvcomp_codec *codec = &nvcomp->codecs[FAMILY];
    const size_t total = (size_t)cells * BALE_CUDA_CELL;
    size_t encode = 0, decode = 0;
    int error = codec->compress_temp(cells, BALE_CUDA_CELL, nvcomp_options{}, &encode, total, 0);

    if (error == 0)
        error = codec->decompress_temp(cells, BALE_CUDA_CELL, bale_nvcomp_decompress_options(),
                                       &decode, total, 0);
    *bytes = encode > decode ? encode : decode;
    return error;
}

template <nvcomp_family FAMILY> cudaError_t encode(const cuda_batch *b)
{
    const cuda_lists *l = &b->lists;

    return b->nvcomp->codecs[FAMILY].compress(l->raw_addresses, l->lengths, BALE_CUDA_CELL,
                                              b->count, b->temp, b->temp_bytes, l->packed_addresses,
                                              l->packed_lengths, nvcomp_options{}, l->statuses,
                                              b->stream) == 0
               ? cudaSuccess
               : cudaErrorUnknown;
}

template <nvcomp_family FAMILY> cudaError_t decode(const cuda_batch *b)
{
    const cuda_lists *l = &b->lists;

    return b->nvcomp->codecs[FAMILY].decompress(
               l->decode_from, l->decode_from_lengths, l->decode_room, l->decoded_lengths, b->count,
               b->temp, b->temp_bytes, b->to, bale_nvcomp_decompress_options(), l->statuses,
               b->stream) == 0
               ? cudaSuccess
               : cudaErrorUnknown;
}

template <nvcomp_family FAMILY>
constexpr cuda_codec_ops steps(const uint8_t *stub, uint32_t stub_length)
{
    cuda_codec_ops ops = {};

    ops.stub = stub;
    ops.stub_length = stub_length;
    ops.bound = bound<FAMILY>;
    ops.temp = temp<FAMILY>;
    ops.encode = encode<FAMILY>;
    ops.decode = decode<FAMILY>;
    return ops;
}
} // namespace bale_nvcomp

#endif
