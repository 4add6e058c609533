/* The layout of a device's memory. */
#include "kernels/cuda/device.cuh"

namespace
{
constexpr size_t ALIGNMENT = 256;

/* Hands out the memory part by part, or only counts bytes if there is none. */
struct carver {
    uint8_t *memory;
    size_t at;
};

template <typename T> void carve(carver *c, T **part, size_t bytes)
{
    *part = c->memory ? (T *)(c->memory + c->at) : nullptr;
    c->at += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The bytes of working memory of a workspace: room bytes for each of so many chunks, but no more
 * than the workspace's share of BALE_CUDA_ROOMS, and room for one chunk at least. */
size_t rooms_size(size_t room, unsigned workspaces, uint32_t cells)
{
    const size_t share = BALE_CUDA_ROOMS / 16 * 5 / workspaces / room;
    const size_t rooms = share < cells ? share : cells;

    return room * (rooms > 0 ? rooms : 1);
}

/* Bytes of each workspace for so many cells: the most that any codec needs. */
size_t temp_size(const bale_cuda_device *device, unsigned workspaces, uint32_t cells)
{
    size_t most = 0;

    for (int c = CUDA_STORE + 1; c < CUDA_CODECS; c++) {
        const cuda_codec_ops *ops = bale_cuda_ops((cuda_codec)c);
        size_t bytes = 0;
        if (device->available[c] && ops->temp &&
            ops->temp(device->settings.nvcomp, cells, &bytes) != 0)
            return SIZE_MAX;
        if (device->available[c] && ops->room > 0)
            bytes = rooms_size(ops->room, workspaces, cells);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The pool of rooms: each is as large as the codec with the largest needs it. */
void carve_rooms(carver *c, bale_cuda_device *device)
{
    cuda_rooms *rooms = &device->rooms;

    *rooms = cuda_rooms{};
    for (int codec = CUDA_STORE + 1; codec < CUDA_CODECS; codec++)
        if (device->available[codec])
            rooms->each = max(rooms->each, bale_cuda_ops((cuda_codec)codec)->block_room);
    if (rooms->each == 0)
        return;
    rooms->each = (rooms->each + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    rooms->count = (uint32_t)max(BALE_CUDA_ROOMS / 16 * 11 / rooms->each, (size_t)1);
    carve(c, &rooms->memory, rooms->count * rooms->each);
    carve(c, &rooms->taken, rooms->count * sizeof *rooms->taken);
}

void carve_slot(carver *c, bale_cuda_slot *slot, const bale_cuda_device *device, uint32_t cells)
{
    cuda_lists *lists = &slot->lists;

    *lists = cuda_lists{};
    lists->packed_cell = device->packed_cell;
    carve(c, &lists->raw, (size_t)cells * BALE_CUDA_CELL);
    carve(c, &lists->packed, cells * device->packed_cell);
    if (device->settings.verify)
        carve(c, &lists->back, (size_t)cells * BALE_CUDA_CELL);
    carve(c, &lists->raw_addresses, cells * sizeof(void *));
    carve(c, &lists->packed_addresses, cells * sizeof(void *));
    carve(c, &lists->back_addresses, cells * sizeof(void *));
    carve(c, &lists->lengths, cells * sizeof(size_t));
    carve(c, &lists->packed_lengths, cells * sizeof(size_t));
    carve(c, &lists->decode_from, cells * sizeof(void *));
    carve(c, &lists->decode_from_lengths, cells * sizeof(size_t));
    carve(c, &lists->decode_room, cells * sizeof(size_t));
    carve(c, &lists->decoded_lengths, cells * sizeof(size_t));
    carve(c, &lists->statuses, cells * sizeof(int));
    carve(c, &lists->parts, cells * (size_t)BALE_CUDA_PART);
    carve(c, &lists->made, cells * sizeof *lists->made);
    carve(c, &lists->work, cells * (size_t)BALE_CUDA_WORK);
    carve(c, &slot->frames, cells * sizeof *slot->frames);
    carve(c, &slot->chunks, cells * sizeof *slot->chunks);
    carve(c, &slot->results, cells * sizeof *slot->results);
    carve(c, &slot->moves, 2 * cells * sizeof *slot->moves);
}
} // namespace

size_t bale_cuda_lay_out(struct bale_cuda_device *device, uint8_t *memory, unsigned workspaces,
                         unsigned slots, uint32_t cells)
{
    const size_t temp = temp_size(device, workspaces, cells);
    carver c = {memory, 0};

    if (temp == SIZE_MAX)
        return SIZE_MAX;
    device->workspace_count = workspaces;
    for (int codec = CUDA_STORE + 1; codec < CUDA_CODECS; codec++)
        if (bale_cuda_ops((cuda_codec)codec)->stub)
            carve(&c, (uint8_t **)&device->stubs[codec].address, ALIGNMENT);
    carve_rooms(&c, device);
    for (unsigned i = 0; i < workspaces; i++) {
        carve(&c, (uint8_t **)&device->workspaces[i].temp, temp);
        device->workspaces[i].temp_bytes = temp;
    }
    for (unsigned i = 0; i < slots; i++)
        carve_slot(&c, &device->slots[i], device, cells);
    return c.at;
}
