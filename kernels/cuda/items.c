/* Items and their chunks, by the rules of kernels/frame/frame.c; the device does the work. */
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "kernels/cuda/engine.h"

static bool has_geometry(const struct bale_frame *frame)
{
    return bale_frame_has_geometry(frame) && frame->chunk_log2 <= BALE_CUDA_CHUNK_LOG2_MAX;
}

/* Codec zero has no kernels: with every codec the device finds out whether the bytes are all
 * equal. */
static int encode_queue(const struct bale_item *item)
{
    uint8_t id = item->setting.codec == BALE_CODEC_ZERO ? BALE_CODEC_STORE : item->setting.codec;
    int codec = bale_cuda_codec_of(id);

    if (!has_geometry(&item->frame) ||
        bale_codec_chunk_log2(&item->setting, item->frame.chunk_log2) > BALE_CUDA_CHUNK_LOG2_MAX ||
        item->capacity < bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2))
        return BALE_E_INVALID;
    return codec < 0 || bale_cuda_encodes((enum cuda_codec)codec, item->setting.parameter)
               ? codec
               : BALE_E_INVALID;
}

/* A frame of codec zero has no stored bytes and stays with the host. */
static int decode_queue(const struct bale_item *item, struct bale_frame *head)
{
    int err = bale_frame_head_decode(item->stored, item->stored_length, head);

    if (err < 0)
        return err;
    if (head->raw_length != item->frame.raw_length ||
        (uint64_t)head->head_length + head->stored_length != item->stored_length)
        return BALE_E_CORRUPT;
    if (!has_geometry(head))
        return BALE_E_INVALID;
    int codec = bale_cuda_codec_of(head->codec);
    if (codec >= 0 && bale_codec_has_part(head->codec) && head->part.stored > BALE_CUDA_PART)
        return BALE_E_INVALID; /* the CPU knows what that means */
    return codec < 0 ? codec : CUDA_CODECS + codec;
}

int bale_cuda_queue_of(const struct bale_item *item, struct bale_frame *head)
{
    return item->kind == BALE_ITEM_ENCODE ? encode_queue(item) : decode_queue(item, head);
}

static void prepare_encode(const struct cuda_job *job, uint32_t number, struct cuda_chunk *chunks)
{
    const struct bale_item *item = job->item;
    const uint8_t *raw = item->raw;

    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t length = bale_frame_chunk_raw(&item->frame, i);
        chunks[i] = (struct cuda_chunk){
            .address = (uintptr_t)raw,
            .length = length,
            .raw_length = length,
            .limit = bale_chunk_limit(length),
            .chunk_size = 1u << item->frame.chunk_log2,
            .parameter = (uint16_t)item->setting.parameter,
            .frame = number,
        };
        raw += length;
    }
}

static void prepare_decode(const struct cuda_job *job, uint32_t number, struct cuda_chunk *chunks)
{
    const struct bale_frame *frame = &job->item->frame;
    const uint8_t *head = job->item->stored;
    const uint8_t *stored = head + bale_frame_chunks_at(frame);

    for (uint32_t i = 0; i < job->count; i++) {
        struct bale_chunk entry = bale_frame_chunk(head, frame, i);
        chunks[i] = (struct cuda_chunk){
            .address = (uintptr_t)stored,
            .checksum = entry.checksum,
            .length = entry.stored,
            .raw_length = bale_frame_chunk_raw(frame, i),
            .chunk_size = 1u << frame->chunk_log2,
            .parameter = frame->parameter,
            .frame = number,
        };
        stored += entry.stored;
    }
}

static struct cuda_frame frame_of(const struct cuda_job *job)
{
    const struct bale_item *item = job->item;
    const struct bale_frame *frame = &item->frame;
    struct cuda_frame f = {.field = item->setting.field,
                           .offset = frame->offset,
                           .raw_length = frame->raw_length,
                           .first = job->first};

    if (item->kind == BALE_ITEM_DECODE) {
        f.address = (uintptr_t)(item->stored + frame->head_length);
        f.length = frame->part.stored;
        f.checksum = frame->part.checksum;
    }
    return f;
}

void bale_cuda_prepare(struct cuda_worker *worker)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(worker->slot);
    struct cuda_chunk *chunks = host->chunks;

    worker->chunk_count = 0;
    for (uint32_t i = 0; i < worker->job_count; i++) {
        struct cuda_job *job = &worker->jobs[i];
        job->first = worker->chunk_count;
        job->count = bale_frame_chunk_count(&job->item->frame);
        worker->chunk_count += job->count;
        if (job->item->kind == BALE_ITEM_ENCODE)
            prepare_encode(job, i, chunks + job->first);
        else
            prepare_decode(job, i, chunks + job->first);
        host->frames[i] = frame_of(job);
    }
}

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

static uint64_t raw_checksum(struct cuda_worker *worker, const struct cuda_result *results,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bale_put64(worker->hashes + (size_t)i * BALE_HASH_SIZE, results[i].raw_hash);
    return bale_frame_raw_checksum(worker->hashes, count);
}

static void add_move(struct cuda_worker *worker, uint64_t from, const uint8_t *to, uint32_t length)
{
    bale_cuda_slot_host(worker->slot)->moves[worker->move_count++] =
        (struct cuda_move){.from = from, .to = (uintptr_t)to, .length = length};
}

/* The frame is stored raw. */
static void fill_raw(struct cuda_worker *worker, const struct cuda_job *job,
                     const struct cuda_result *results)
{
    for (uint32_t i = 0; i < job->count; i++)
        worker->table[i] = (struct bale_chunk){.stored = bale_frame_chunk_raw(&job->item->frame, i),
                                               .checksum = results[i].raw_hash};
}

static void fill_table(struct cuda_worker *worker, const struct cuda_job *job,
                       const struct cuda_result *results)
{
    for (uint32_t i = 0; i < job->count; i++)
        worker->table[i] =
            (struct bale_chunk){.stored = results[i].stored, .checksum = results[i].stored_hash};
}

/* Takes the extent part that was made, and the chunks. False: together they gain too little. */
static bool take_part(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_part *made = &bale_cuda_slot_host(worker->slot)->made[job - worker->jobs];
    struct bale_frame *frame = &job->item->frame;
    uint64_t stored = made->length;

    for (uint32_t i = 0; i < job->count; i++)
        stored += worker->table[i].stored;
    if (made->length > bale_part_limit(frame->raw_length) ||
        !bale_frame_with_part_gains(frame->raw_length, stored))
        return false;
    frame->part = (struct bale_chunk){.stored = made->length, .checksum = made->hash};
    return true;
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

    move_part(worker, job);
    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t stored = worker->table[i].stored;
        bool raw = stored == bale_frame_chunk_raw(&item->frame, i);
        uint64_t from = raw ? host->raw + (job->first + i) * host->raw_cell
                            : host->packed + (job->first + i) * host->packed_cell;
        add_move(worker, from, to, stored);
        to += stored;
    }
}

static int resolve_encode(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_result *results = bale_cuda_slot_host(worker->slot)->results + job->first;
    struct bale_item *item = job->item;
    struct bale_setting setting = item->setting;
    struct bale_frame *frame = &item->frame;
    uint32_t flags = flags_of(results, job->count);

    frame->raw_checksum = raw_checksum(worker, results, job->count);
    if (!(flags & CUDA_MIXED)) {
        bale_frame_set_zero(frame, (uint8_t)(flags & CUDA_VALUE));
    } else if (flags & CUDA_MISMATCH) {
        return BALE_E_CORRUPT;
    } else {
        fill_table(worker, job, results);
        if (bale_codec_has_part(setting.codec) && !take_part(worker, job)) {
            setting = (struct bale_setting){.codec = BALE_CODEC_STORE};
            fill_raw(worker, job, results);
        }
        bale_frame_set_codec(frame, setting, worker->table);
    }
    bale_frame_head_encode(frame, worker->table, item->stored);
    item->stored_length = (size_t)frame->head_length + frame->stored_length;
    if (frame->codec != BALE_CODEC_ZERO)
        move_encoded(worker, job);
    return BALE_OK;
}

static void move_decoded(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(worker->slot);
    const struct cuda_result *results = host->results + job->first;
    const bool packed = worker->queue % CUDA_CODECS != CUDA_STORE;
    uint8_t *to = job->item->raw;

    for (uint32_t i = 0; i < job->count; i++) {
        uint32_t length = bale_frame_chunk_raw(&job->item->frame, i);
        uint64_t from = packed && results[i].stored == length
                            ? host->packed + (job->first + i) * host->packed_cell
                            : host->raw + (job->first + i) * host->raw_cell;
        add_move(worker, from, to, length);
        to += length;
    }
}

static int resolve_decode(struct cuda_worker *worker, const struct cuda_job *job)
{
    const struct cuda_result *results = bale_cuda_slot_host(worker->slot)->results + job->first;

    if (flags_of(results, job->count) & CUDA_BAD ||
        raw_checksum(worker, results, job->count) != job->item->frame.raw_checksum)
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
