/* Which items the dispatcher may give to the GPU engine, and frames that are corrupt.
 * usage: dispatch_items_test PLUGIN */
#include "tests/unit/kernels/engine/dispatch_rig.h"

/* Urgent items, and items whose memory is not pinned, go to the CPU. */
static void test_what_goes(void)
{
    struct rig rig;
    struct piece piece;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "", (struct bale_dispatch_options){.threads = 1, .choice = BALE_ENGINE_GPU});
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    piece_do(&rig, &piece, &finished);
    CHECK_EQ_U(rig_stats(&rig).gpu.items, 0);
    CHECK_EQ(bale_dispatch_pin(rig.engine, piece.raw, PIECE), BALE_OK);
    CHECK_EQ(bale_dispatch_pin(rig.engine, piece.stored, piece.item.capacity), BALE_OK);
    piece_do(&rig, &piece, &finished);
    CHECK_EQ_U(rig_stats(&rig).gpu.items, 1);
    CHECK_EQ_U(rig_stats(&rig).device.pinned, PIECE + piece.item.capacity);
    piece.item.priority = BALE_PRIORITY_HIGH;
    piece_do(&rig, &piece, &finished);
    CHECK_EQ_U(rig_stats(&rig).gpu.items, 1);
    CHECK_EQ_U(rig_stats(&rig).cpu.items, 2);
    rig_stop(&rig);
    piece_free(&piece);
    sem_destroy(&finished);
}

static void decode(struct rig *rig, struct piece *piece, sem_t *finished)
{
    struct bale_item *item = &piece->item;

    piece_do(rig, piece, finished);
    item->kind = BALE_ITEM_DECODE;
    piece_do(rig, piece, finished);
}

/* What may be hostile is decoded on the CPU: everything, or what only a closed decoder decodes. */
static void test_untrusted(void)
{
    static const struct {
        bool store, input, trusted;
        uint8_t codec;
        bool on_gpu;
    } cases[] = {
        {false, false, false, BALE_CODEC_LZ4, true},   {true, false, false, BALE_CODEC_LZ4, false},
        {false, true, false, BALE_CODEC_LZ4, false},   {false, true, true, BALE_CODEC_LZ4, true},
        {false, true, false, BALE_CODEC_CULZSS, true}, {true, false, true, BALE_CODEC_LZ4, false},
        {true, true, true, BALE_CODEC_CULZSS, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;
        struct piece piece;
        sem_t finished;

        sem_init(&finished, 0, 0);
        rig_open(&rig, "any",
                 (struct bale_dispatch_options){.threads = 1,
                                                .choice = BALE_ENGINE_GPU,
                                                .untrusted_store = cases[i].store,
                                                .untrusted_input = cases[i].input});
        piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
        piece.item.setting.codec = cases[i].codec;
        piece.item.setting.parameter = cases[i].codec == BALE_CODEC_CULZSS ? 2 : 0;
        piece.item.trusted = cases[i].trusted;
        decode(&rig, &piece, &finished);
        CHECK_EQ_U(rig_stats(&rig).gpu.encoded, PIECE);
        CHECK_EQ_U(rig_stats(&rig).gpu.decoded, cases[i].on_gpu ? PIECE : 0);
        rig_stop(&rig);
        piece_free(&piece);
        sem_destroy(&finished);
    }
}

/* A frame that is corrupt is so in the end too. */
static void test_corrupt(void)
{
    struct rig rig;
    struct piece piece;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_open(&rig, "any", (struct bale_dispatch_options){.threads = 1, .choice = BALE_ENGINE_GPU});
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    piece_do(&rig, &piece, &finished);
    piece.stored[piece.item.stored_length - 1] ^= 1;
    piece.item.kind = BALE_ITEM_DECODE;
    bale_engine_submit(rig.engine, &piece.item);
    sem_wait(&finished);
    CHECK_EQ(piece.item.status, BALE_E_CORRUPT);
    CHECK_EQ_U(rig_stats(&rig).redone, 1);
    CHECK(rig_stats(&rig).used);
    rig_stop(&rig);
    piece_free(&piece);
    sem_destroy(&finished);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    rig_plugin = argv[1];
    test_what_goes();
    test_untrusted();
    test_corrupt();
    return check_result();
}
