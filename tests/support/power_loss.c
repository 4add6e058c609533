#include "tests/support/power_loss.h"

#include "format/hash.h"

enum { SECTOR = 512 };

static bool survives(const struct power_loss *loss, size_t op, uint64_t sector)
{
    const uint64_t key[3] = {loss->salt, sector, loss->kind == 2 ? op : 0};
    uint64_t draw = bale_hash(key, sizeof key);

    switch (loss->kind) {
    case 0:
        return op < loss->first + draw % (loss->end - loss->first + 1);
    case 3:
        return draw % 12 != 0;
    default:
        return draw % 2 == 0;
    }
}

/* Applies the parts of one change that survive. */
static void apply_part(struct memory_file *file, const struct power_loss *loss, size_t i,
                       const struct memory_op *op, uint64_t size)
{
    uint64_t end = op->kind == MEMORY_TRUNCATE ? size : op->position + op->length;

    for (uint64_t from = op->position; from < end;) {
        uint64_t border = (from / SECTOR + 1) * SECTOR;
        uint64_t to = border < end ? border : end;
        struct memory_op part = {.kind = op->kind == MEMORY_WRITE ? MEMORY_WRITE : MEMORY_PUNCH,
                                 .position = from,
                                 .length = to - from,
                                 .data = op->data ? op->data + (from - op->position) : NULL};

        if (survives(loss, i, from / SECTOR))
            memory_file_apply(file, &part);
        from = to;
    }
}

void power_loss_apply(const struct memory_op *ops, const struct power_loss *loss,
                      struct memory_file *file)
{
    uint64_t length, most;

    for (size_t i = 0; i < loss->first; i++)
        memory_file_apply(file, &ops[i]);
    length = most = file->size;
    for (size_t i = loss->first; i < loss->end; i++) {
        bool sized =
            survives(loss, i, UINT64_MAX); /* the length is metadata, with a time of its own */

        apply_part(file, loss, i, &ops[i], most);
        if (ops[i].kind == MEMORY_WRITE && sized && ops[i].position + ops[i].length > length)
            length = ops[i].position + ops[i].length;
        else if (ops[i].kind == MEMORY_TRUNCATE && sized)
            length = ops[i].position;
        most = file->size > most ? file->size : most;
    }
    memory_file_resize(file, (size_t)length);
}

size_t power_loss_synced(const struct memory_op *ops, size_t end)
{
    while (end > 0 && ops[end - 1].kind != MEMORY_SYNC)
        end--;
    return end;
}
