#include "fs/cache/burst.h"

bool bale_burst_note(struct bale_burst *burst, uint64_t now_ms, uint64_t bytes)
{
    uint64_t begin_ms = atomic_load_explicit(&burst->begin_ms, memory_order_relaxed);

    if (now_ms - begin_ms >= BALE_BURST_MS) {
        atomic_store_explicit(&burst->begin_ms, now_ms, memory_order_relaxed);
        atomic_store_explicit(&burst->bytes, 0, memory_order_relaxed);
    }
    uint64_t before = atomic_fetch_add_explicit(&burst->bytes, bytes, memory_order_relaxed);
    return before < BALE_BURST_BYTES && before + bytes >= BALE_BURST_BYTES;
}
