#include "kernels/frame/registry.h"

#include <stdlib.h>

#include "format/err.h"
#include "kernels/frame/internal.h"
#include "kernels/frame/setting.h"

/* store and zero hold no compressed bytes: the frame layer does them, so they have no callbacks. */
#define BUILT_IN(lower, NAME, number, frame)                                                       \
    static const struct bale_codec bale_codec_##lower = {.id = (number), .name = #lower};
#define DECLARE(name, ...)                                                                         \
    extern const struct bale_codec bale_codec_##name; /* kernels/name/cpu.c */
BALE_CODEC_LIST(BUILT_IN, DECLARE)
extern const struct bale_codec bale_codec_auto; /* kernels/auto/auto.c */

#define ENTRY_BUILT_IN(name, NAME, id, frame) &bale_codec_##name,
#define ENTRY(name, ...) &bale_codec_##name,
static const struct bale_codec *const table[] = {&bale_codec_auto,
                                                 BALE_CODEC_LIST(ENTRY_BUILT_IN, ENTRY)};
enum { TABLE = sizeof table / sizeof table[0] };

static const struct bale_codec *find(uint8_t id)
{
    for (size_t i = 0; i < TABLE; i++)
        if (table[i]->id == id)
            return table[i];
    return NULL;
}

const struct bale_codec *bale_codec_find(uint8_t id)
{
    return id == BALE_CODEC_AUTO ? NULL : find(id);
}

/* The first codec with the same create as codec i. Its working memory serves all of them, because a
 * thread runs one codec at a time. */
static size_t owner_of(size_t i)
{
    size_t owner = 0;

    while (table[owner]->create != table[i]->create)
        owner++;
    return owner;
}

int bale_scratch_create(struct bale_scratch **scratch)
{
    struct bale_scratch *s = calloc(1, sizeof *s);
    int err = s && (s->rooms = malloc((size_t)2 * BALE_SCRATCH_ROOM)) ? BALE_OK : BALE_E_NOMEM;

    for (size_t i = 0; err == BALE_OK && i < TABLE; i++)
        if (table[i]->create && owner_of(i) == i)
            err = table[i]->create(&s->work[table[i]->id]);
        else if (table[i]->create)
            s->work[table[i]->id] = s->work[table[owner_of(i)]->id];
    if (err < 0)
        bale_scratch_destroy(s);
    else
        *scratch = s;
    return err;
}

void bale_scratch_destroy(struct bale_scratch *scratch)
{
    if (!scratch)
        return;
    for (size_t i = 0; i < TABLE; i++)
        if (scratch->work[table[i]->id] && owner_of(i) == i)
            table[i]->destroy(scratch->work[table[i]->id]);
    free(scratch->rooms);
    free(scratch->hashes);
    free(scratch->chunks);
    free(scratch);
}

uint8_t *bale_scratch_stored_room(struct bale_scratch *scratch)
{
    return scratch->rooms;
}

uint8_t *bale_scratch_raw_room(struct bale_scratch *scratch)
{
    return scratch->rooms + BALE_SCRATCH_ROOM;
}

void *bale_scratch_work(const struct bale_scratch *scratch, uint8_t id)
{
    return scratch->work[id];
}

int bale_scratch_reserve(struct bale_scratch *scratch, uint32_t count)
{
    struct bale_chunk *chunks;
    uint8_t *hashes;

    if (count <= scratch->capacity)
        return BALE_OK;
    chunks = malloc(count * sizeof *chunks);
    hashes = calloc(count, BALE_HASH_SIZE);
    if (!chunks || !hashes) {
        free(chunks);
        free(hashes);
        return BALE_E_NOMEM;
    }
    free(scratch->chunks);
    free(scratch->hashes);
    scratch->chunks = chunks;
    scratch->hashes = hashes;
    scratch->capacity = count;
    return BALE_OK;
}

struct bale_setting bale_setting_choose(struct bale_scratch *scratch, struct bale_setting setting,
                                        const uint8_t *raw, uint32_t raw_length, uint8_t chunk_log2)
{
    /* auto takes this in place of lzr:1 and float, whose chunks have 64 KiB at most here. */
    static const struct bale_setting instead = {.codec = BALE_CODEC_ZSTD, .parameter = 1};

    if (!bale_setting_is_open(setting))
        return setting;
    setting = find(setting.codec)
                  ->choose(scratch->work[setting.codec], setting.parameter, raw, raw_length);
    return bale_codec_takes_chunks(setting.codec, chunk_log2) ? setting : instead;
}
