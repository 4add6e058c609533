#include "kernels/cuda/pinned.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/base/array.h"
#include "kernels/base/lock.h"

void bale_cuda_pinned_init(struct cuda_pinned *pinned)
{
    *pinned = (struct cuda_pinned){0};
    bale_short_lock_init(&pinned->mutex);
}

void bale_cuda_pinned_destroy(struct cuda_pinned *pinned)
{
    pthread_mutex_destroy(&pinned->mutex);
    free(pinned->ranges);
    free(pinned->merged);
}

void bale_cuda_pinned_bind(void *memory, size_t size, int node)
{
    unsigned long nodes[16] = {0};
    const size_t bits = 8 * sizeof nodes[0];

    if (node < 0 || (size_t)node >= bits * (sizeof nodes / sizeof nodes[0]))
        return;
    nodes[(size_t)node / bits] = 1ul << (size_t)node % bits;
    (void)syscall(SYS_mbind, memory, size, MPOL_PREFERRED, nodes, 8 * sizeof nodes, MPOL_MF_MOVE);
}

/* Makes room for one range more. */
static int reserve(struct cuda_pinned *pinned)
{
    struct cuda_range *more =
        bale_array_grow(pinned->ranges, pinned->count, &pinned->capacity, sizeof *more);

    if (!more)
        return BALE_E_NOMEM;
    pinned->ranges = more;
    more = bale_array_grow(pinned->merged, pinned->count, &pinned->merged_capacity, sizeof *more);
    if (!more)
        return BALE_E_NOMEM;
    pinned->merged = more;
    return BALE_OK;
}

static int compare(const void *a, const void *b)
{
    const struct cuda_range *x = a;
    const struct cuda_range *y = b;

    return (x->memory > y->memory) - (x->memory < y->memory);
}

/* With the mutex. */
static void publish_longest(struct cuda_pinned *pinned)
{
    struct cuda_range longest = {0};

    for (size_t i = 0; i < pinned->merged_count; i++)
        if (pinned->merged[i].size > longest.size)
            longest = pinned->merged[i];
    __atomic_add_fetch(&pinned->longest_version, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&pinned->longest_begin, (uintptr_t)longest.memory, __ATOMIC_SEQ_CST);
    __atomic_store_n(&pinned->longest_size, longest.size, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&pinned->longest_version, 1, __ATOMIC_SEQ_CST);
}

static bool lies_in(const void *memory, size_t size, uintptr_t begin, size_t length)
{
    uintptr_t at = (uintptr_t)memory;

    return at >= begin && size <= length && at - begin <= length - size;
}

/* Whether the memory is in the longest range; false also while that changes. */
static bool is_in_longest(struct cuda_pinned *pinned, const void *memory, size_t size)
{
    unsigned version = __atomic_load_n(&pinned->longest_version, __ATOMIC_SEQ_CST);
    uintptr_t begin = __atomic_load_n(&pinned->longest_begin, __ATOMIC_SEQ_CST);
    size_t longest = __atomic_load_n(&pinned->longest_size, __ATOMIC_SEQ_CST);
    bool changes =
        version % 2 == 1 || __atomic_load_n(&pinned->longest_version, __ATOMIC_SEQ_CST) != version;

    return !changes && longest > 0 && lies_in(memory, size, begin, longest);
}

static void merge(struct cuda_pinned *pinned)
{
    struct cuda_range *m = pinned->merged;

    memcpy(m, pinned->ranges, pinned->usable * sizeof *m);
    qsort(m, pinned->usable, sizeof *m, compare);
    pinned->merged_count = pinned->usable > 0;
    for (size_t i = 1; i < pinned->usable; i++) {
        struct cuda_range *last = &m[pinned->merged_count - 1];
        if (last->memory + last->size == m[i].memory)
            last->size += m[i].size;
        else
            m[pinned->merged_count++] = m[i];
    }
    publish_longest(pinned);
}

int bale_cuda_pinned_add(struct cuda_pinned *pinned, void *memory, size_t size, unsigned device)
{
    int err;

    pthread_mutex_lock(&pinned->mutex);
    err = reserve(pinned);
    if (err == BALE_OK) {
        pinned->usable += pinned->usable == pinned->count;
        pinned->ranges[pinned->count++] = (struct cuda_range){memory, size, device};
        merge(pinned);
    }
    pthread_mutex_unlock(&pinned->mutex);
    return err;
}

void bale_cuda_pinned_set_usable(struct cuda_pinned *pinned, size_t usable)
{
    pthread_mutex_lock(&pinned->mutex);
    pinned->usable = usable;
    if (pinned->count > 0)
        merge(pinned);
    pthread_mutex_unlock(&pinned->mutex);
}

bool bale_cuda_pinned_has(struct cuda_pinned *pinned, const void *memory, size_t size)
{
    bool has = is_in_longest(pinned, memory, size);

    if (has)
        return true;
    pthread_mutex_lock(&pinned->mutex);
    for (size_t i = 0; !has && i < pinned->merged_count; i++) {
        const struct cuda_range *r = &pinned->merged[i];
        has = lies_in(memory, size, (uintptr_t)r->memory, r->size);
    }
    pthread_mutex_unlock(&pinned->mutex);
    return has;
}

unsigned bale_cuda_pinned_device(struct cuda_pinned *pinned, const void *memory)
{
    const uint8_t *at = memory;
    unsigned device = 0;

    pthread_mutex_lock(&pinned->mutex);
    for (size_t i = 0; i < pinned->count; i++) {
        const struct cuda_range *r = &pinned->ranges[i];
        if (at >= r->memory && (size_t)(at - r->memory) < r->size)
            device = r->device;
    }
    pthread_mutex_unlock(&pinned->mutex);
    return device;
}

static size_t bytes_until(const void *from, const uint8_t *border, size_t size)
{
    uintptr_t begin = (uintptr_t)from, end = (uintptr_t)border;

    return end > begin && end - begin < size ? end - begin : size;
}

size_t bale_cuda_pinned_part(struct cuda_pinned *pinned, const void *to, const void *from,
                             size_t size)
{
    pthread_mutex_lock(&pinned->mutex);
    for (size_t i = 0; i < pinned->count; i++) {
        const struct cuda_range *r = &pinned->ranges[i];
        const uint8_t *end = r->memory + r->size;
        size = bytes_until(to, r->memory, bytes_until(to, end, size));
        size = bytes_until(from, r->memory, bytes_until(from, end, size));
    }
    pthread_mutex_unlock(&pinned->mutex);
    return size;
}

uint64_t bale_cuda_pinned_bytes(struct cuda_pinned *pinned)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&pinned->mutex);
    for (size_t i = 0; i < pinned->usable; i++)
        bytes += pinned->ranges[i].size;
    pthread_mutex_unlock(&pinned->mutex);
    return bytes;
}
