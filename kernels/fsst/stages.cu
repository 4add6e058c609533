/* Times the kernels of fsst one by one, as they would be with other sizes of its splits and tables
 * of slots (kernels/fsst/sizes.h, which it is compiled with), for tests/bench/paper-fsst. Data
 * stays in the GPU's memory, and no store and no stream ever has what they make.
 *
 * usage: fsst_stages FILE BYTES: so many bytes in flight, whole extents, the file again and again.
 * Prints a JSON object: the sizes; for each kernel the microseconds of the best of RUNS, its
 * threads, registers and shared memory, and how many of its blocks fit a multiprocessor. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/codec/launch.cuh"
#include "kernels/fsst/decode.cuh"
#include "kernels/fsst/encode.cuh"
#include "kernels/fsst/learn.cuh"

namespace
{
constexpr size_t EXTENT = 1 << 20, CHUNK = 1 << 16;
constexpr int RUNS = 7;

void check(cudaError_t e)
{
    if (e != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(e));
}

/* On the device; freed with the process. */
template <typename T> T *room(size_t count)
{
    void *p = nullptr;

    check(cudaMalloc(&p, count * sizeof(T)));
    return (T *)p;
}

template <typename T> T *upload(const std::vector<T> &from)
{
    T *to = room<T>(from.size());

    check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

template <typename T> std::vector<T> download(const T *from, size_t count)
{
    std::vector<T> to(count);

    check(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
}

struct kernel {
    const char *name;
    const void *code;
    unsigned threads;
    size_t shared;
    float best;
};

struct batch {
    uint32_t frames, chunks;
    const cuda_chunk *chunk;
    const cuda_frame *frame;
    cuda_lists lists;
    uint8_t *back;
    void *const *to;
};

batch prepare(const std::vector<uint8_t> &raw)
{
    batch b = {(uint32_t)(raw.size() / EXTENT), (uint32_t)(raw.size() / CHUNK)};
    std::vector<cuda_chunk> chunks(b.chunks);
    std::vector<cuda_frame> frames(b.frames);
    std::vector<const void *> from(b.chunks);
    std::vector<void *> to(b.chunks);

    b.lists.raw = upload(raw);
    b.lists.packed = room<uint8_t>(raw.size());
    b.lists.packed_cell = CHUNK;
    b.lists.parts = room<uint8_t>(b.frames * (size_t)BALE_CUDA_PART);
    b.lists.made = room<cuda_part>(b.frames);
    b.lists.packed_lengths = room<size_t>(b.chunks);
    b.lists.decoded_lengths = room<size_t>(b.chunks);
    b.lists.statuses = room<std::remove_pointer_t<decltype(b.lists.statuses)>>(b.chunks);
    b.lists.decode_from_lengths = b.lists.packed_lengths;
    b.back = room<uint8_t>(raw.size());
    for (uint32_t c = 0; c < b.chunks; c++) {
        chunks[c].raw_length = chunks[c].length = chunks[c].chunk_size = CHUNK;
        chunks[c].limit = CHUNK - 1 - CHUNK / 64;
        chunks[c].frame = c / (EXTENT / CHUNK);
        from[c] = b.lists.packed + c * CHUNK;
        to[c] = b.back + c * CHUNK;
    }
    for (uint32_t i = 0; i < b.frames; i++) {
        frames[i].first = i * (EXTENT / CHUNK);
        frames[i].raw_length = EXTENT;
    }
    b.chunk = upload(chunks);
    b.frame = upload(frames);
    b.lists.decode_from = upload(from);
    b.to = upload(to);
    return b;
}

void measure(const batch &b, kernel *kernels)
{
    cudaEvent_t at[4];

    for (auto &event : at)
        check(cudaEventCreate(&event));
    for (int run = 0; run < RUNS; run++) {
        check(cudaEventRecord(at[0]));
        check(bale_launch::start(bale_fsst::learn, b.frames, kernels[0].threads, kernels[0].shared,
                                 nullptr, b.chunk, b.frame, b.lists));
        check(cudaEventRecord(at[1]));
        check(bale_launch::start(bale_fsst::encode, b.chunks, kernels[1].threads, kernels[1].shared,
                                 nullptr, b.chunk, b.lists));
        check(cudaEventRecord(at[2]));
        check(bale_launch::start(bale_fsst::decode, b.chunks, kernels[2].threads, kernels[2].shared,
                                 nullptr, b.chunk, b.lists, b.to));
        check(cudaEventRecord(at[3]));
        check(cudaDeviceSynchronize());
        for (int i = 0; i < 3; i++) {
            float ms = 0;
            check(cudaEventElapsedTime(&ms, at[i], at[i + 1]));
            kernels[i].best = run == 0 ? 1e3f * ms : std::min(kernels[i].best, 1e3f * ms);
        }
    }
}

/* Bytes of chunks, those that do not gain as they are; or 0 if others came back than went in. */
size_t stored(const batch &b, const std::vector<uint8_t> &raw)
{
    const auto lengths = download(b.lists.packed_lengths, b.chunks);
    const auto back = download(b.back, raw.size());
    size_t sum = 0;

    for (uint32_t c = 0; c < b.chunks; c++) {
        if (lengths[c] > 0 && memcmp(&back[c * CHUNK], &raw[c * CHUNK], CHUNK) != 0)
            return 0;
        sum += lengths[c] > 0 ? lengths[c] : CHUNK;
    }
    return sum;
}

void print(const kernel &k)
{
    cudaFuncAttributes has = {};
    int blocks = 0;

    check(cudaFuncGetAttributes(&has, k.code));
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k.code, (int)k.threads, k.shared));
    printf(", \"%s\": {\"us\": %.1f, \"threads\": %u, \"registers\": %d, \"spilled\": %zu, "
           "\"shared\": %zu, "
           "\"blocks\": %d}",
           k.name, k.best, k.threads, has.numRegs, has.localSizeBytes,
           k.shared + has.sharedSizeBytes, blocks);
}

void run(const char *path, size_t bytes)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> data((std::istreambuf_iterator<char>(file)),
                                    std::istreambuf_iterator<char>());
    std::vector<uint8_t> raw(bytes / EXTENT * EXTENT);
    kernel kernels[] = {{"learn", (const void *)bale_fsst::learn, bale_fsst::LEARN_THREADS,
                         sizeof(bale_fsst::learn_shared), 0},
                        {"encode", (const void *)bale_fsst::encode, bale_fsst::THREADS,
                         sizeof(bale_fsst::encode_shared), 0},
                        {"decode", (const void *)bale_fsst::decode, bale_fsst::THREADS,
                         sizeof(bale_fsst::decode_shared), 0}};

    if (data.empty() || raw.empty())
        throw std::runtime_error("give a file with something in it, and 1048576 or more");
    for (size_t i = 0; i < raw.size(); i++)
        raw[i] = data[i % data.size()];
    for (const auto &k : kernels)
        check(bale_launch::allow_shared_memory(k.code, k.shared));
    const batch b = prepare(raw);
    measure(b, kernels);
    const size_t kept = stored(b, raw);
    if (kept == 0)
        throw std::runtime_error("other bytes came back than went in");
    printf("{\"split\": %u, \"longs\": %u, \"pairs\": %u, \"raw\": %zu, \"stored\": %zu",
           bale_fsst::SPLIT, 1u << bale_fsst::LONG_LOG2, 1u << bale_fsst::PAIR_LOG2, raw.size(),
           kept);
    for (const auto &k : kernels)
        print(k);
    printf("}\n");
}
} // namespace

int main(int argc, char **argv)
{
    try {
        run(argc == 3 ? argv[1] : "", argc == 3 ? strtoull(argv[2], nullptr, 10) : 0);
        return 0;
    } catch (const std::exception &e) {
        fprintf(stderr, "fsst_stages: %s\n", e.what());
        return 1;
    }
}
