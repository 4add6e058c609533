/* What becomes of items by the results of the first step, by the rules of kernels/frame/frame.c. */
#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "kernels/cuda/engine.h"

/* The flags of the item's chunks together. */
static uint32_t flags_of(const struct cuda_result *results, uint32_t count)
{
    uint32_t flags = results[0].flags;

    for (uint32_t i = 1; i < count; i++) {
        if ((results[i].flags ^ results[0].flags) & CUDA_VALUE)
            flags |= CUDA_MIXED;
        flags |= results[i].flags & ~(uint32_t)CUDA_VALUE;
    }
    return flags;
}

static uint32_t cells_of(uint32_t length)
{
    return (length + BALE_CUDA_CELL - 1) / BALE_CUDA_CELL;
}

/* The checksum of so many bytes, raw or stored, of a chunk whose cells have these results: as
 * bale_chunk_checksum has it of a codec with cells. */
static uint64_t checksum_of(const struct cuda_result *results, uint32_t length, bool raw)
{
    uint8_t hashes[BALE_CELLS_MAX * BALE_HASH_SIZE];
    const uint32_t count = cells_of(length);

    if (count == 1)
        return raw ? results->raw_hash : results->stored_hash;
    for (uint32_t i = 0; i < count; i++)
        bale_put64(hashes + (size_t)i * BALE_HASH_SIZE,
                   raw ? results[i].raw_hash : results[i].stored_hash);
    return bale_hash(hashes, (size_t)count * BALE_HASH_SIZE);
}

/* Of a frame with such chunks. */
static uint64_t raw_checksum(struct cuda_worker *worker, const struct cuda_result *results,
                             const struct bale_frame *frame)
{
    const uint32_t count = bale_frame_chunk_count(frame);

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t length = bale_frame_chunk_raw(frame, i);
        bale_put64(worker->hashes + (size_t)i * BALE_HASH_SIZE, checksum_of(results, length, true));
        results += cells_of(length);
    }
    return bale_frame_raw_checksum(worker->hashes, count);
}

static void add_move(struct cuda_worker *worker, uint64_t from, const uint8_t *to, uint32_t length)
{
    bale_cuda_slot_host(worker->slot)->moves[worker->move_count++] =
        (struct cuda_move){.from = from, .to = (uintptr_t)to, .length = length};
}

/* The frame's chunks as the results have them; raw: as they would be without a codec. */
static void fill_table(struct cuda_worker *worker, const struct bale_frame *frame,
                       const struct cuda_result *results, bool raw)
{
    for (uint32_t i = 0; i < bale_frame_chunk_count(frame); i++) {
        const uint32_t length = bale_frame_chunk_raw(frame, i);
        const bool as_it_is = raw || results->stored == length;
        const uint32_t stored = as_it_is ? length : results->stored;
        worker->table[i] = (struct bale_chunk){.stored = stored,
                                               .checksum = checksum_of(results, stored, as_it_is)};
        results += cells_of(length);
    }
}

/* What became of a frame of a codec with an extent part. */
enum outcome {
    TAKEN,
    GAINS_LITTLE, /* part and chunks together: it is stored raw */
    NOT_SUITED,   /* auto chooses, which the CPU does */
};

/* Takes the extent part that was made, and the chunks. */
static enum outcome take_part(const struct cuda_worker *worker, const struct cuda_job *job,
                              struct bale_frame *frame)
{
    const struct cuda_part *made = &bale_cuda_slot_host(worker->slot)->made[job - worker->jobs];
    const bool fits = made->length <= bale_part_limit(frame->raw_length);
    uint64_t stored = made->length;

    if (bale_codec_has_field(job->item->setting.codec) && (made->length == 0 || !fits) &&
        bale_frame_with_part_gains(frame->raw_length, 0))
        return NOT_SUITED;
    for (uint32_t i = 0; i < bale_frame_chunk_count(frame); i++)
        stored += worker->table[i].stored;
    if (!fits || !bale_frame_with_part_gains(frame->raw_length, stored))
        return GAINS_LITTLE;
    frame->part = (struct bale_chunk){.stored = made->length, .checksum = made->hash};
    return TAKEN;
}

static void move_part(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct bale_item *item = job->item;

    if (bale_codec_has_part(item->frame.codec))
        add_move(worker,
                 bale_cuda_slot_host(worker->slot)->parts +
                     (uint64_t)(job - worker->jobs) * BALE_CUDA_PART,
                 item->stored + item->frame.head_length, item->frame.part.stored);
}

static void move_encoded(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(worker->slot);
    const struct bale_item *item = job->item;
    const uint8_t *to = item->stored + bale_frame_chunks_at(&item->frame);
    uint32_t cell = job->first;

    move_part(worker, job);
    for (uint32_t i = 0; i < item->frame.chunks; i++) {
        const uint32_t stored = worker->table[i].stored;
        const uint32_t length = bale_frame_chunk_raw(&item->frame, i);
        add_move(worker,
                 stored == length ? host->raw + cell * host->raw_cell
                                  : host->packed + cell * host->packed_cell,
                 to, stored);
        to += stored;
        cell += cells_of(length);
    }
}

/* A frame whose bytes are not all equal. BALE_OK, or BALE_E_INVALID: not here. */
static int resolve_packed(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_result *results = bale_cuda_slot_host(worker->slot)->results + job->first;
    struct bale_item *item = job->item;
    struct bale_setting setting = item->setting;
    struct bale_frame frame = bale_cuda_packed_frame(item);
    enum outcome outcome = TAKEN;

    fill_table(worker, &frame, results, false);
    if (bale_codec_has_part(setting.codec))
        outcome = take_part(worker, job, &frame);
    if (outcome == NOT_SUITED)
        return BALE_E_INVALID;
    if (outcome == GAINS_LITTLE) {
        setting = (struct bale_setting){.codec = BALE_CODEC_STORE};
        frame = item->frame;
        fill_table(worker, &frame, results, true);
    }
    frame.raw_checksum = raw_checksum(worker, results, &frame);
    bale_frame_set_codec(&frame, setting, worker->table);
    item->frame = frame;
    return BALE_OK;
}

static int resolve_encode(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_result *results = bale_cuda_slot_host(worker->slot)->results + job->first;
    struct bale_item *item = job->item;
    struct bale_frame *frame = &item->frame;
    uint32_t flags = flags_of(results, job->count);
    int err = BALE_OK;

    if (!(flags & CUDA_MIXED)) {
        frame->raw_checksum = raw_checksum(worker, results, frame);
        bale_frame_set_zero(frame, (uint8_t)(flags & CUDA_VALUE));
    } else {
        err = flags & CUDA_MISMATCH ? BALE_E_CORRUPT : resolve_packed(worker, job);
    }
    if (err < 0)
        return err;
    bale_frame_head_encode(frame, worker->table, item->stored);
    item->stored_length = (size_t)frame->head_length + frame->stored_length;
    if (frame->codec != BALE_CODEC_ZERO)
        move_encoded(worker, job);
    return BALE_OK;
}

static void move_decoded(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(worker->slot);
    const struct bale_frame *frame = &job->item->frame;
    const bool packed = worker->queue % CUDA_CODECS != CUDA_STORE;
    uint8_t *to = job->item->raw;
    uint32_t cell = job->first;

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        uint64_t from = packed && host->results[cell].stored == length
                            ? host->packed + cell * host->packed_cell
                            : host->raw + cell * host->raw_cell;
        add_move(worker, from, to, length);
        to += length;
        cell += cells_of(length);
    }
}

/* Whether the stored bytes of chunks that the device did not check match. */
static bool long_chunks_match(const struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(worker->slot);

    for (uint32_t c = job->first; c < job->first + job->count; c++) {
        const struct cuda_chunk *chunk = &host->chunks[c];
        if (chunk->first == c && chunk->whole > BALE_CUDA_CELL &&
            checksum_of(host->results + c, chunk->stored, false) != chunk->checksum)
            return false;
    }
    return true;
}

static int resolve_decode(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_result *results = bale_cuda_slot_host(worker->slot)->results + job->first;
    const struct bale_frame *frame = &job->item->frame;

    if (flags_of(results, job->count) & CUDA_BAD || !long_chunks_match(worker, job) ||
        raw_checksum(worker, results, frame) != frame->raw_checksum)
        return BALE_E_CORRUPT;
    move_decoded(worker, job);
    return BALE_OK;
}

void bale_cuda_resolve(struct cuda_worker *worker)
{
    worker->move_count = 0;
    for (uint32_t i = 0; i < worker->job_count; i++) {
        struct bale_item *item = worker->jobs[i].item;
        item->status = item->kind == BALE_ITEM_ENCODE ? resolve_encode(worker, &worker->jobs[i])
                                                      : resolve_decode(worker, &worker->jobs[i]);
    }
}
