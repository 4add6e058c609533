/* A container whose newest root is of a session that its store does not know (FORMAT.md 8 rule 5).
 * Whatever happens to one page or frame of it: a write that is missing gives the older root, wrong
 * bytes cost what they lie in, and what is in doubt is not written. */
#include "tests/crash/scene.h"

static uint32_t sparse = 1; /* only every so many flips */

static void test_flips(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        uint32_t step = span->length > 2000 ? 97 : span->page ? 5 : 11;

        for (uint32_t at = 0; at < span->length; at += sparse * (at < 52 && i < 3 ? 1 : step)) {
            restore(s);
            s->rig.file.bytes[span->position + at] ^= (uint8_t)(1 << at % 8);
            expect_damage(s);
        }
    }
}

/* Bytes in the middle of a frame or page are another's: it is there, and damaged. */
static void test_patches(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];

        restore(s);
        memset(s->rig.file.bytes + span->position + span->length / 2, 0xe5, span->length / 4);
        expect_damage(s);
    }
}

static void test_zeros(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        restore(s);
        memset(s->rig.file.bytes + s->spans[i].position, 0, s->spans[i].length);
        expect_missing(s);
    }
}

/* The container ends within its last page or frame; what the older root refers to lies before. */
static void test_cut(struct scene *s)
{
    const struct span *last = s->spans;

    for (size_t i = 0; i < s->count; i++)
        if (s->spans[i].position > last->position)
            last = &s->spans[i];
    for (uint32_t left = 0; left < last->length; left += last->length / 3 + 1) {
        restore(s);
        memory_file_resize(&s->rig.file, last->position + left);
        expect_missing(s);
    }
}

/* Another frame or page lies there, as if the write had not come over what was there before. */
static void test_others(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        const struct span *other = &s->spans[(i + 1) % s->count];
        uint8_t *at;

        restore(s);
        at = s->rig.file.bytes + span->position;
        if (other == span) { /* the only one: of the generation before */
            struct bale_frame frame;

            REQUIRE(bale_frame_head_decode(at, span->length, &frame) == BALE_OK);
            bale_frame_stamp(at, &frame, frame.generation - 1);
        } else {
            memset(at, 0x77, span->length);
            memcpy(at, s->image.bytes + other->position,
                   other->length < span->length ? other->length : span->length);
        }
        expect_missing(s);
    }
}

/* A page of this container and of this length is there, whole, and of the generation before. */
static void test_page_before(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        uint8_t *at;

        if (!span->page)
            continue;
        restore(s);
        at = s->rig.file.bytes + span->position;
        bale_put64(at + PAGE_AT_GENERATION, bale_get64(at + PAGE_AT_GENERATION) - 1);
        bale_put64(at + span->length - BALE_HASH_SIZE,
                   bale_hash(at, span->length - BALE_HASH_SIZE));
        expect_missing(s);
    }
}

static void test_scene(struct scene *s)
{
    test_flips(s);
    test_patches(s);
    test_zeros(s);
    test_cut(s);
    test_others(s);
    test_page_before(s);
}

/* Argument: --few. */
int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        sparse = 7;
    each_scene(test_scene);
    return check_result();
}
