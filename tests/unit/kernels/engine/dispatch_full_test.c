/* A GPU that is refused because its memory is full: tried again when work comes, but neither for an
 * owner that would not know of it nor at the end. */
#include <unistd.h>

#include "kernels/engine/dispatch_internal.h"
#include "kernels/frame/registry.h"
#include "tests/unit/kernels/engine/dispatch_rig.h"

/* How word of work comes. */
enum word { BY_WAKE, BY_SUBMIT, BY_RUN_INLINE };

static void bring_work(struct rig *rig, enum word word, struct piece *piece, sem_t *finished)
{
    struct bale_scratch *scratch = NULL;

    if (word == BY_WAKE)
        bale_dispatch_wake_gpu(rig->engine);
    if (word == BY_SUBMIT)
        piece_do(rig, piece, finished);
    if (word != BY_RUN_INLINE)
        return;
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    (void)bale_engine_run_inline(rig->engine, &piece->item, scratch);
    bale_scratch_destroy(scratch);
}

/* A GPU without memory is tried again when work comes, and the log has its refusal once. */
static void test_full(const char *faults, enum word word)
{
    struct bale_reason why;
    struct piece piece;
    struct rig rig;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_start(&rig, faults, (struct bale_dispatch_options){.threads = 1});
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_E_NOMEM);
    CHECK_EQ_STR(why.text, "its memory is full");
    CHECK_EQ_STR(rig_said,
                 "GPU: its memory is full: the CPU does everything: later work tries it again");
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    piece.item.collected = true; /* while there was one */
    piece_do(&rig, &piece, &finished);
    CHECK(!piece.item.collected);
    CHECK_EQ_U(rig_stats(&rig).cpu.items, 1);
    while (sem_trywait(&rig.opened) != 0) {
        bring_work(&rig, word, &piece, &finished);
        usleep(10000);
    }
    CHECK(rig_stats(&rig).used);
    CHECK(atomic_load(&rig_opens) > 1);
    CHECK_EQ_U(atomic_load(&rig_opens_if_free), atomic_load(&rig_opens) - 1);
    CHECK_EQ_STR(rig_said, "GPU: Fake GPU: open");
    sem_wait(&rig.said);
    sem_wait(&rig.said);
    CHECK_EQ(sem_trywait(&rig.said), -1);
    rig_stop(&rig);
    piece_free(&piece);
    sem_destroy(&finished);
}

/* Nor is it tried again once the end is near, although work comes. */
static void test_full_at_end(void)
{
    struct bale_reason why;
    struct piece piece;
    struct rig rig;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_start(&rig, "any,full=1", (struct bale_dispatch_options){.threads = 1});
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_E_NOMEM);
    while (!atomic_load(&bale_dispatch_of(rig.engine)->awaits_work))
        usleep(10000);
    bale_dispatch_end_tries(rig.engine);
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    piece_do(&rig, &piece, &finished);
    usleep(100000); /* for a try to begin */
    rig_stop(&rig);
    CHECK_EQ_U(atomic_load(&rig_opens), 1);
    piece_free(&piece);
    sem_destroy(&finished);
}

/* One that opens only then gets no work: nobody is told, and the log does not have it. */
static void test_open_at_end(void)
{
    struct bale_reason why;
    struct rig rig;

    rig_create(&rig, "any",
               (struct bale_dispatch_options){
                   .threads = 1, .opened = rig_note_opened, .arg = &rig.opened});
    bale_dispatch_end_tries(rig.engine);
    bale_dispatch_open(rig.engine);
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_OK);
    CHECK(!rig_stats(&rig).used);
    CHECK_EQ(sem_trywait(&rig.opened), -1);
    CHECK_EQ(sem_trywait(&rig.said), -1);
    rig_stop(&rig);
}

/* It is not tried again for somebody who would not be told that it opened. */
static void test_full_untold(void)
{
    struct bale_reason why;
    struct rig rig;

    rig_create(&rig, "full=1", (struct bale_dispatch_options){.threads = 1});
    bale_dispatch_open(rig.engine);
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_E_NOMEM);
    CHECK_EQ_STR(rig_said, "GPU: its memory is full: the CPU does everything");
    rig_stop(&rig);
    CHECK_EQ_U(atomic_load(&rig_opens), 1);
}

/* Nor does one that is never tried again keep anything from ending. */
static void test_full_for_good(void)
{
    struct bale_reason why;
    struct rig rig;

    rig_start(&rig, "full=99", (struct bale_dispatch_options){.threads = 1});
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_E_NOMEM);
    rig_stop(&rig);
    rig_start(&rig, "full=99", (struct bale_dispatch_options){.threads = 1});
    rig_stop(&rig);
}

/* A driver that hangs when it is tried again keeps neither work from going on nor the end from
 * coming. */
static void test_hanging_again(void)
{
    struct bale_reason why;
    struct piece piece;
    struct rig rig;
    sem_t finished;

    sem_init(&finished, 0, 0);
    rig_start(&rig, "any,full=99", (struct bale_dispatch_options){.threads = 1});
    CHECK_EQ(bale_dispatch_wait(rig.engine, BALE_DISPATCH_PATIENCE_MS, &why), BALE_E_NOMEM);
    setenv("BALE_FAKE_GPU", "any,open-hangs", 1);
    piece_make(&piece, BALE_PRIORITY_NORMAL, &finished);
    while (atomic_load(&rig_opens) < 2) {
        piece_do(&rig, &piece, &finished);
        usleep(10000);
    }
    piece_do(&rig, &piece, &finished);
    CHECK(!rig_stats(&rig).used);
    CHECK_EQ(atomic_load(&rig_complaints), 0);
    rig_stop(&rig);
    CHECK_EQ(atomic_load(&rig_complaints), 1);
    CHECK(bale_dispatch_hangs());
    piece_free(&piece);
    sem_destroy(&finished);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    rig_plugin = argv[1];
    test_full("any,full=2", BY_SUBMIT);
    test_full("any,full=1", BY_WAKE);
    test_full("any,full=1", BY_RUN_INLINE);
    test_full_at_end();
    test_open_at_end();
    test_full_untold();
    test_full_for_good();
    test_hanging_again();
    return check_result();
}
