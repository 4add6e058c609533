/* bale_gpu_filler: a program that fills a GPU, with work or with data. balefs bench engine --beside
 * runs it beside the engine, and measures how much speed each costs the other.
 *
 * usage: bale_gpu_filler compute|memory SECONDS [DEVICE]
 *        bale_gpu_filler hold MIB [DEVICE]
 *
 * compute multiplies and adds in registers on all multiprocessors; memory copies from device
 * memory to device memory. It prints one line of JSON: load, rate, unit, and begin and end of
 * the measured time, in nanoseconds of CLOCK_MONOTONIC.
 *
 * hold allocates all free memory but so many MiB, prints "held", and keeps it until it is
 * killed. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <unistd.h>

namespace
{
constexpr unsigned THREADS = 256;
constexpr unsigned CHAINS = 8;     /* for each thread: more than the latency of an addition needs */
constexpr unsigned ROUNDS = 16384; /* about 2 ms on an H100 */
constexpr size_t COPIED = (size_t)256 << 20; /* more than any cache holds */
constexpr unsigned DEEP = 4;                 /* launches in flight: the device never waits */
constexpr double WARM_SECONDS = 0.3;
constexpr size_t HELD_LEAST = (size_t)2 << 20; /* what is less is not held */

struct work {
    bool compute;
    unsigned blocks;
    float *sums;
    uint4 *from, *to;
};

__global__ void __launch_bounds__(THREADS) compute(float *sums, float by)
{
    unsigned thread = blockIdx.x * THREADS + threadIdx.x;
    float a[CHAINS];

    for (unsigned c = 0; c < CHAINS; c++)
        a[c] = (float)(thread + c);
    for (unsigned i = 0; i < ROUNDS; i++)
#pragma unroll
        for (unsigned c = 0; c < CHAINS; c++)
            a[c] = fmaf(a[c], by, 1.0f);
    for (unsigned c = 1; c < CHAINS; c++)
        a[0] += a[c];
    sums[thread] = a[0]; /* otherwise the compiler would drop the loop */
}

__global__ void __launch_bounds__(THREADS) copy(const uint4 *from, uint4 *to)
{
    size_t step = (size_t)gridDim.x * THREADS;

    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < COPIED / sizeof *from;
         i += step)
        to[i] = from[i];
}

void check(cudaError_t err, const char *what)
{
    if (err == cudaSuccess)
        return;
    fprintf(stderr, "bale_gpu_filler: %s: %s\n", what, cudaGetErrorString(err));
    exit(EXIT_FAILURE);
}

uint64_t now()
{
    timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* As many blocks as the device holds at a time. */
work prepare(bool is_compute, int device)
{
    work w = {};
    int processors, blocks;

    w.compute = is_compute;
    check(cudaSetDevice(device), "device");
    /* A thread that spins takes a core from other programs. */
    check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "device");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "device");
    check(is_compute ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, compute, THREADS, 0)
                     : cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, copy, THREADS, 0),
          "occupancy");
    w.blocks = (unsigned)(processors * blocks);
    if (is_compute) {
        check(cudaMalloc(&w.sums, (size_t)w.blocks * THREADS * sizeof *w.sums), "memory");
        return w;
    }
    check(cudaMalloc(&w.from, COPIED), "memory");
    check(cudaMalloc(&w.to, COPIED), "memory");
    check(cudaMemset(w.from, 1, COPIED), "memory");
    return w;
}

void launch(const work &w)
{
    if (w.compute)
        compute<<<w.blocks, THREADS>>>(w.sums, 0.999f);
    else
        copy<<<w.blocks, THREADS>>>(w.from, w.to);
    check(cudaGetLastError(), "launch");
}

/* Operations, or bytes read and written. */
double amount(const work &w)
{
    return w.compute ? 2.0 * CHAINS * ROUNDS * THREADS * w.blocks : 2.0 * (double)COPIED;
}

/* Measures from the end of one launch to the end of another. */
void run_load(const work &w, double seconds)
{
    cudaEvent_t ends[DEEP];
    uint64_t begin = 0, end, start = now();
    uint64_t counted = 0;

    for (cudaEvent_t &event : ends) {
        check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming),
              "event");
        launch(w);
        check(cudaEventRecord(event), "event");
    }
    for (uint64_t i = 0;; i++) {
        check(cudaEventSynchronize(ends[i % DEEP]), "work");
        end = now();
        counted += begin > 0;
        if (begin == 0 && (double)(end - start) * 1e-9 >= WARM_SECONDS)
            begin = end;
        if (begin > 0 && (double)(end - begin) * 1e-9 >= seconds)
            break;
        launch(w);
        check(cudaEventRecord(ends[i % DEEP]), "event");
    }
    check(cudaDeviceSynchronize(), "work");
    printf("{\"load\": \"%s\", \"rate\": %.3f, \"unit\": \"%s\", \"begin\": %llu, \"end\": %llu}\n",
           w.compute ? "compute" : "memory", (double)counted * amount(w) / (double)(end - begin),
           w.compute ? "GFLOP/s" : "GB/s", (unsigned long long)begin, (unsigned long long)end);
}

/* Also what is free in pieces; other programs may take some meanwhile. */
[[noreturn]] void hold(uint64_t spared, int device)
{
    size_t free_now, total, piece = SIZE_MAX;

    check(cudaSetDevice(device), "device");
    check(cudaMemGetInfo(&free_now, &total), "memory");
    while (free_now > spared && piece >= HELD_LEAST) {
        void *memory;
        piece = free_now - spared < piece ? free_now - spared : piece;
        if (cudaMalloc(&memory, piece) != cudaSuccess)
            piece /= 2;
        check(cudaMemGetInfo(&free_now, &total), "memory");
    }
    puts("held");
    fflush(stdout);
    for (;;)
        pause();
}
} // namespace

int main(int argc, char **argv)
{
    bool is_compute = argc > 1 && strcmp(argv[1], "compute") == 0;
    bool is_hold = argc > 1 && strcmp(argv[1], "hold") == 0;
    double number = argc > 2 ? atof(argv[2]) : 0;
    int device = argc > 3 ? atoi(argv[3]) : 0;

    if (argc < 3 || argc > 4 || (!is_compute && !is_hold && strcmp(argv[1], "memory") != 0) ||
        !(number > 0)) {
        fputs("usage: bale_gpu_filler compute|memory SECONDS [DEVICE]\n"
              "       bale_gpu_filler hold MIB [DEVICE]\n",
              stderr);
        return 2;
    }
    if (is_hold)
        hold((uint64_t)number << 20, device);
    run_load(prepare(is_compute, device), number);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
