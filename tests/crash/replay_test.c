/* Random work on a container is recorded; then the states a crash could have left are made and
 * opened.
 *
 * Killed: every prefix of what was done. The container opens at the commit whose root is the last
 * one there. Power lost: what was done before the last sync, and of what came after it, for every
 * 512 bytes apart, only the first so many changes (or, harsher than a disk, any). The container
 * opens at one of the commits, whole, and not at one older than the last that a sync had made
 * durable. */
#include "tests/crash/history.h"
#include "tests/support/power_loss.h"

enum { SEEDS = 70 };

static unsigned long states;

/* Opens a state; what: for messages. Returns whether it opened, and the digest of what it holds. */
static bool open_state(struct rig *rig, uint64_t *digest)
{
    static uint8_t data[SIZE_MAX_];
    struct bale_container_attr attr = {0};
    uint64_t size;
    bool ok;

    states++;
    ok = CHECK_EQ(rig_open(rig), BALE_OK) && CHECK_EQ(rig_read(rig, data, &size), BALE_OK) &&
         CHECK_EQ(bale_container_check(rig->container, NULL, false, NULL, NULL), BALE_OK);
    attr = ok ? rig_attr(rig) : attr;
    *digest = ok ? digest_of(&attr, data, size) : 0;
    return ok;
}

static void set_file(struct memory_file *file, const struct memory_file *from)
{
    memory_file_resize(file, 0);
    memory_file_write(file, from->bytes, from->size, 0);
}

/* Goes on working where the crash left off: the container must be as good as new. */
static void go_on(struct rig *rig)
{
    uint64_t size;

    CHECK_EQ(rig_read(rig, rig->model, &size), BALE_OK);
    rig->size = size;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rig_begin(rig), BALE_OK);
        CHECK_EQ(rig_change(rig), BALE_OK);
        CHECK_EQ(rig_change(rig), BALE_OK);
        CHECK_EQ(bale_container_commit(rig->container, i == 1), BALE_OK);
        rig_matches(rig, true);
    }
    rig_close(rig);
    CHECK_EQ(rig_open(rig), BALE_OK);
    rig_matches(rig, true);
}

static void test_killed(const struct history *h, uint64_t seed)
{
    const uint64_t empty = rig_digest(NULL, 0);
    struct rig rig;
    struct memory_file image = {.fail_after = -1};

    rig_init(&rig, seed, BALE_EXTENT_MIN, SIZE_MAX_);
    rig.certain_from = 1;
    rig.zeros_empty = false; /* a kill leaves no header of zeros */
    for (size_t p = 0; p <= h->count; p++) {
        uint64_t expected = p > 0 ? h->marks[p - 1].digest : empty, found;

        /* A commit's content counts from its root on. */
        for (size_t i = p; i > 0 && !h->marks[i - 1].root; i--)
            expected = i > 1 ? h->marks[i - 2].digest : empty;
        set_file(&rig.file, &image);
        rig.session = (p > 0 ? h->marks[p - 1].session : 5) + 1;
        rig.config.writable = p % 2 == 0;
        if (open_state(&rig, &found) && !CHECK_EQ_U(found, expected))
            fprintf(stderr, "seed %" PRIu64 ", killed after %zu operations\n", seed, p);
        if (rig.container && p % 16 == 0)
            go_on(&rig);
        rig_close(&rig);
        if (p < h->count)
            memory_file_apply(&image, &h->rig.file.ops[p]);
    }
    memory_file_clear(&image);
    rig_clear(&rig);
}

/* Whether a commit that may be found has the content. */
static bool is_allowed(const struct history *h, const struct power_loss *loss, uint64_t digest)
{
    size_t i = loss->end;

    while (i > 0) {
        i--;
        if (!h->marks[i].root)
            continue;
        if (h->marks[i].digest == digest)
            return true;
        if (i < loss->first)
            return false; /* the last one known to be durable */
    }
    return digest == rig_digest(NULL, 0);
}

/* The power goes a second time, while the first time's damage is being looked at: what was found
 * stays. */
static void test_again(struct rig *rig, struct memory_file *state, const struct power_loss *before,
                       uint64_t expected)
{
    struct power_loss loss = {.salt = before->salt + 1, .kind = before->kind};
    uint64_t found;

    loss.end = rig_random(rig, (uint32_t)rig->file.op_count + 1);
    loss.first = power_loss_synced(rig->file.ops, loss.end);
    power_loss_apply(rig->file.ops, &loss, state);
    rig_close(rig);
    set_file(&rig->file, state);
    rig->session++;
    if (open_state(rig, &found))
        CHECK_EQ_U(found, expected);
}

static void test_power(const struct history *h, uint64_t seed)
{
    struct rig rig;
    struct memory_file state = {.fail_after = -1};

    rig_init(&rig, seed + 1000, BALE_EXTENT_MIN, SIZE_MAX_);
    for (int n = 0; n < (int)h->count * 3 / 2; n++) {
        struct power_loss loss = {.salt = seed * 100000 + (uint64_t)n, .kind = n % 4};
        const struct mark *mark;
        uint64_t found;

        loss.end = 1 + rig_random(&rig, (uint32_t)h->count);
        loss.first = power_loss_synced(h->rig.file.ops, loss.end);
        mark = &h->marks[loss.end - 1];
        memory_file_resize(&state, 0);
        power_loss_apply(h->rig.file.ops, &loss, &state);
        set_file(&rig.file, &state);
        /* Another boot: what is listed is uncertain. */
        rig.certain_from = 0;
        rig.certain_below = n % 3 == 0 ? 0 : mark->certain_below;
        rig.session = mark->session + 1;
        rig.config.writable = n % 2 == 0;
        rig.file.record = true;
        if (open_state(&rig, &found))
            CHECK(is_allowed(h, &loss, found));
        rig.file.record = false;
        if (rig.container && rig.config.writable && n % 8 == 0) {
            rig.certain_from = rig.session;
            go_on(&rig);
        } else if (rig.container && rig.config.writable) {
            test_again(&rig, &state, &loss, found);
        }
        memory_file_forget_ops(&rig.file);
        if (!rig.container || check_failures > 0)
            fprintf(stderr,
                    "seed %" PRIu64 ", state %d: power lost after %zu operations, %zu synced\n",
                    seed, n, loss.end, loss.first);
        rig_close(&rig);
        if (check_failures > 10)
            break;
    }
    memory_file_clear(&state);
    rig_clear(&rig);
}

/* The writer is killed, another finds its session uncertain and looks the container through, and
 * then the power goes: what it had found and synced stays, though nothing before was synced. */
static void test_recovery(const struct history *h, uint64_t seed)
{
    struct rig rig;
    struct memory_file state = {.fail_after = -1};
    struct memory_op *ops = malloc((h->count + 16) * sizeof *ops);

    REQUIRE(ops);
    rig_init(&rig, seed + 2000, BALE_EXTENT_MIN, SIZE_MAX_);
    rig.certain_from = 0;
    memcpy(ops, h->rig.file.ops, h->count * sizeof *ops);
    for (int n = 0; n < (int)h->count / 2; n++) {
        size_t killed = 1 + rig_random(&rig, (uint32_t)h->count);
        struct power_loss loss = {
            .salt = seed * 200000 + (uint64_t)n, .kind = n % 4, .end = killed};
        struct power_loss before;
        uint64_t found, again;

        memory_file_resize(&rig.file, 0);
        for (size_t i = 0; i < killed; i++)
            memory_file_apply(&rig.file, &ops[i]);
        rig.session = h->marks[killed - 1].session + 1;
        rig.file.record = true;
        if (!open_state(&rig, &found))
            break;
        rig.file.record = false;
        REQUIRE(rig.file.op_count <= 16);
        for (size_t i = 0; i < rig.file.op_count; i++)
            ops[killed + i] = rig.file.ops[i];
        loss.first = power_loss_synced(ops, killed);
        before = loss;
        loss.end += rig_random(&rig, (uint32_t)rig.file.op_count + 1);
        loss.first = power_loss_synced(ops, loss.end);
        memory_file_resize(&state, 0);
        power_loss_apply(ops, &loss, &state);
        rig_close(&rig);
        set_file(&rig.file, &state);
        rig.session++;
        if (open_state(&rig, &again))
            CHECK(loss.first >= killed ? again == found : is_allowed(h, &before, again));
        rig_close(&rig);
        memory_file_forget_ops(&rig.file);
        memcpy(ops, h->rig.file.ops, h->count * sizeof *ops);
    }
    free(ops);
    memory_file_clear(&state);
    rig_clear(&rig);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= SEEDS && check_failures == 0; seed++) {
        struct history h = {0};

        work(&h, seed);
        test_killed(&h, seed);
        test_power(&h, seed);
        test_recovery(&h, seed);
        rig_clear(&h.rig);
        free(h.marks);
    }
    printf("%lu states\n", states);
    CHECK(states >= 10000);
    return check_result();
}
