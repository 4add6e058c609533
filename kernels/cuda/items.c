/* Items and their chunks, by the rules of kernels/frame/frame.c; the device does the work. */
#include "format/err.h"
#include "kernels/cuda/engine.h"

bool bale_cuda_fits_cells(uint8_t codec, uint8_t chunk_log2)
{
    return chunk_log2 <= BALE_CUDA_CHUNK_LOG2_MAX || bale_codec_has_cells(codec);
}

uint32_t bale_cuda_cells(const struct bale_frame *frame)
{
    struct bale_frame cells = *frame;

    if (cells.chunk_log2 > BALE_CUDA_CHUNK_LOG2_MAX)
        cells.chunk_log2 = BALE_CUDA_CHUNK_LOG2_MAX;
    return bale_frame_chunk_count(&cells);
}

struct bale_frame bale_cuda_packed_frame(const struct bale_item *item)
{
    struct bale_frame frame = item->frame;

    if (item->kind == BALE_ITEM_ENCODE)
        frame.chunk_log2 = bale_codec_chunk_log2(&item->setting, frame.chunk_log2);
    return frame;
}

/* Codec zero has no kernels: with every codec the device finds out whether the bytes are all
 * equal. */
static int encode_queue(const struct bale_item *item)
{
    uint8_t id = item->setting.codec == BALE_CODEC_ZERO ? BALE_CODEC_STORE : item->setting.codec;
    int codec = bale_cuda_codec_of(id);

    if (!bale_frame_has_geometry(&item->frame) ||
        item->frame.chunk_log2 > BALE_CUDA_CHUNK_LOG2_MAX ||
        (bale_codec_has_cells(id) && item->frame.chunk_log2 != BALE_CUDA_CHUNK_LOG2_MAX) ||
        !bale_cuda_fits_cells(id, bale_cuda_packed_frame(item).chunk_log2) ||
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
    if (!bale_frame_has_geometry(head) || !bale_cuda_fits_cells(head->codec, head->chunk_log2))
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

uint32_t bale_cuda_spread(struct cuda_chunk *cells, struct cuda_chunk chunk)
{
    uint32_t count = 0;

    for (uint32_t at = 0; at < chunk.whole; at += BALE_CUDA_CELL, count++) {
        const uint32_t raw = chunk.whole - at, here = chunk.length > at ? chunk.length - at : 0;
        cells[count] = chunk;
        cells[count].address += at;
        cells[count].raw_length = raw < BALE_CUDA_CELL ? raw : BALE_CUDA_CELL;
        cells[count].length = here < BALE_CUDA_CELL ? here : BALE_CUDA_CELL;
    }
    return count;
}

static void prepare_encode(const struct cuda_job *job, uint32_t number, struct cuda_chunk *cells)
{
    const struct bale_item *item = job->item;
    const struct bale_frame frame = bale_cuda_packed_frame(item);
    const uint32_t count = bale_frame_chunk_count(&frame);
    const uint8_t *raw = item->raw;
    uint32_t at = job->first;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = bale_frame_chunk_raw(&frame, i);
        at += bale_cuda_spread(cells + at, (struct cuda_chunk){
                                               .address = (uintptr_t)raw,
                                               .length = length,
                                               .first = at,
                                               .whole = length,
                                               .limit = bale_chunk_limit(length),
                                               .chunk_size = 1u << frame.chunk_log2,
                                               .parameter = (uint16_t)item->setting.parameter,
                                               .frame = number,
                                           });
        raw += length;
    }
}

static void prepare_decode(const struct cuda_job *job, uint32_t number, struct cuda_chunk *cells)
{
    const struct bale_frame *frame = &job->item->frame;
    const uint8_t *head = job->item->stored;
    const uint8_t *stored = head + bale_frame_chunks_at(frame);
    uint32_t at = job->first;

    for (uint32_t i = 0; i < bale_frame_chunk_count(frame); i++) {
        struct bale_chunk entry = bale_frame_chunk(head, frame, i);
        at += bale_cuda_spread(cells + at, (struct cuda_chunk){
                                               .address = (uintptr_t)stored,
                                               .checksum = entry.checksum,
                                               .length = entry.stored,
                                               .first = at,
                                               .whole = bale_frame_chunk_raw(frame, i),
                                               .stored = entry.stored,
                                               .chunk_size = 1u << frame->chunk_log2,
                                               .parameter = frame->parameter,
                                               .frame = number,
                                           });
        stored += entry.stored;
    }
}

static struct cuda_frame frame_of(const struct cuda_job *job)
{
    const struct bale_item *item = job->item;
    const struct bale_frame *frame = &item->frame;
    struct cuda_frame f = {.rounds = item->rounds,
                           .field = item->setting.field,
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

    worker->cell_count = 0;
    for (uint32_t i = 0; i < worker->job_count; i++) {
        struct cuda_job *job = &worker->jobs[i];
        job->first = worker->cell_count;
        job->count = bale_cuda_cells(&job->item->frame);
        worker->cell_count += job->count;
        if (job->item->kind == BALE_ITEM_ENCODE)
            prepare_encode(job, i, host->chunks);
        else
            prepare_decode(job, i, host->chunks);
        host->frames[i] = frame_of(job);
    }
}
