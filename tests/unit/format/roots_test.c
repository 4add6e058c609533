/* The choice between two slots: FORMAT.md sections 3 and 8 (rules 1, 2, 5 and 6). */
#include "format/root.h"

#include "tests/support/offsets.h"
#include "tests/unit/format/edit.h"

enum { ID = 77 };

static struct bale_root root_of(uint64_t generation)
{
    return (struct bale_root){
        .generation = generation,
        .extent = BALE_EXTENT_DEFAULT,
        .end = BALE_DATA_START,
        .container_id = ID,
        .codec = 255,
    };
}

/* generation 0: the slot stays zero. */
static void make_head(uint8_t head[static BALE_DATA_START], uint64_t first, uint64_t second)
{
    struct bale_root a = root_of(first);
    struct bale_root b = root_of(second);

    memset(head, 0, BALE_DATA_START);
    if (first != 0)
        bale_root_encode(&a, head);
    if (second != 0)
        bale_root_encode(&b, head + BALE_ROOT_SIZE);
}

static void check_read(const uint8_t *head, size_t length, int expected, int newest, int fallback,
                       bool damaged)
{
    uint8_t *exact = malloc(length > 0 ? length : 1); /* so that a sanitizer sees a byte too many */
    struct bale_roots roots;

    REQUIRE(exact != NULL);
    memcpy(exact, head, length);
    CHECK_EQ(bale_roots_read(exact, length, &roots), expected);
    CHECK_EQ(roots.newest, newest);
    CHECK_EQ(roots.fallback, fallback);
    if (expected == BALE_OK)
        CHECK_EQ(roots.damaged, damaged);
    CHECK_EQ_STR(roots.feature, "");
    free(exact);
}

static void test_newest(void)
{
    uint8_t head[BALE_DATA_START];
    struct bale_roots roots;

    make_head(head, 7, 9);
    check_read(head, sizeof(head), BALE_OK, 1, 0, false);
    CHECK_EQ(bale_roots_read(head, sizeof(head), &roots), BALE_OK);
    CHECK_EQ_U(roots.root[0].generation, 7);
    CHECK_EQ_U(roots.root[1].generation, 9);
    make_head(head, UINT64_MAX, 9);
    check_read(head, sizeof(head), BALE_OK, 0, 1, false);
    make_head(head, 7, 0);
    check_read(head, sizeof(head), BALE_OK, 0, -1, false);
    make_head(head, 0, 7);
    check_read(head, sizeof(head), BALE_OK, 1, -1, false);
}

static void test_one_bad_slot(void)
{
    for (size_t at = 0; at < BALE_DATA_START; at++) {
        uint8_t head[BALE_DATA_START];
        int good = at < BALE_ROOT_SIZE ? 1 : 0;

        make_head(head, 8, 9);
        head[at] ^= 0x10;
        check_read(head, sizeof(head), BALE_OK, good, -1, true);
        head[at < BALE_ROOT_SIZE ? BALE_DATA_START - 1 : 0] ^= 1;
        check_read(head, sizeof(head), BALE_E_CORRUPT, -1, -1, false);
    }
}

static void test_roots_that_disagree(void)
{
    uint8_t head[BALE_DATA_START];
    struct bale_root other = root_of(9);

    make_head(head, 9, 9);
    check_read(head, sizeof(head), BALE_E_CORRUPT, -1, -1, false);
    make_head(head, 8, 9);
    other.container_id = ID + 1;
    bale_root_encode(&other, head + BALE_ROOT_SIZE);
    check_read(head, sizeof(head), BALE_E_CORRUPT, -1, -1, false);
}

static void test_short(void)
{
    uint8_t head[BALE_DATA_START];

    make_head(head, 0, 0);
    check_read(head, 0, BALE_OK, -1, -1, false);
    for (size_t length = 1; length <= sizeof(head); length++) {
        check_read(head, length, BALE_E_BLANK, -1, -1, false);
        head[length - 1] = 1;
        check_read(head, length, BALE_E_CORRUPT, -1, -1, false);
        head[length - 1] = 0;
        head[0] = 1;
        check_read(head, length, BALE_E_CORRUPT, -1, -1, false);
        head[0] = 0;
    }
    for (size_t length = 1; length <= sizeof(head); length++) {
        bool first = length >= BALE_ROOT_SIZE; /* the first slot is whole */
        bool both = length == sizeof(head);

        make_head(head, 8, 9);
        check_read(head, length, first ? BALE_OK : BALE_E_CORRUPT,
                   both    ? 1
                   : first ? 0
                           : -1,
                   both ? 0 : -1, length > BALE_ROOT_SIZE && !both);
        make_head(head, 8, 0);
        check_read(head, length, first ? BALE_OK : BALE_E_CORRUPT, first ? 0 : -1, -1, false);
        make_head(head, 0, 9);
        check_read(head, length,
                   both                       ? BALE_OK
                   : length <= BALE_ROOT_SIZE ? BALE_E_BLANK
                                              : BALE_E_CORRUPT,
                   both ? 1 : -1, -1, false);
    }
}

/* An unsupported slot makes the container so, whatever the other slot and the length are. */
static void test_unsupported(void)
{
    static const uint64_t others[] = {0, 1, 99};

    for (unsigned slot = 0; slot < BALE_SLOTS; slot++) {
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
            uint8_t head[BALE_DATA_START];
            uint8_t *bytes = head + slot * BALE_ROOT_SIZE;
            struct bale_roots roots;

            make_head(head, slot == 0 ? 50 : others[i], slot == 0 ? others[i] : 50);
            memcpy(bytes + ROOT_AT_FEATURES, "TIDE", 4);
            edit_seal(bytes, BALE_ROOT_SIZE);
            CHECK_EQ(bale_roots_read(head, sizeof(head), &roots), BALE_E_UNSUPPORTED);
            CHECK_EQ_STR(roots.feature, "TIDE");
            CHECK_EQ(roots.newest, -1);
            if (slot == 0)
                CHECK_EQ(bale_roots_read(head, BALE_ROOT_SIZE, &roots), BALE_E_UNSUPPORTED);

            memset(bytes + ROOT_AT_FEATURES, 0, 4);
            bytes[ROOT_AT_VERSION] = 2;
            edit_seal(bytes, BALE_ROOT_SIZE);
            check_read(head, sizeof(head), BALE_E_UNSUPPORTED, -1, -1, false);

            bytes[ROOT_AT_MTIME + 4] ^= 1; /* a bad checksum: no word about versions */
            if (others[i] == 0)
                check_read(head, sizeof(head), BALE_E_CORRUPT, -1, -1, false);
            else
                check_read(head, sizeof(head), BALE_OK, slot == 0 ? 1 : 0, -1, true);
        }
    }
}

int main(void)
{
    test_newest();
    test_one_bad_slot();
    test_roots_that_disagree();
    test_short();
    test_unsupported();
    return check_result();
}
