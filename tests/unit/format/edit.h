/* Tables of rules: good bytes, a few fields changed, the checksum put right again, and what the
 * reader must say. */
#ifndef BALE_TESTS_UNIT_FORMAT_EDIT_H
#define BALE_TESTS_UNIT_FORMAT_EDIT_H

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/check.h"

enum { EDITS = 8 };

/* One field; width 0 ends the list. */
struct edit {
    size_t at;
    unsigned width;
    uint64_t value;
};

struct rule {
    const char *what;
    int expected;
    struct edit edits[EDITS];
};

#define RULES(table) (sizeof(table) / sizeof((table)[0]))

/* The last 8 of length bytes become the checksum of those before. */
static inline uint64_t edit_seal(uint8_t *bytes, size_t length)
{
    uint64_t checksum = bale_hash(bytes, length - 8);

    bale_put64(bytes + length - 8, checksum);
    return checksum;
}

static inline void edit_apply(const struct rule *rule, uint8_t *bytes)
{
    for (int i = 0; i < EDITS && rule->edits[i].width != 0; i++) {
        const struct edit *edit = &rule->edits[i];

        for (unsigned b = 0; b < edit->width; b++)
            bytes[edit->at + b] = (uint8_t)(edit->value >> 8 * b);
    }
}

/* Compares and, where it fails, names the rule. */
static inline bool edit_check(const struct rule *rule, int found)
{
    bool ok = check_int(found, rule->expected, "verdict", "expected", __FILE__, __LINE__);

    if (!ok)
        fprintf(stderr, "    rule: %s\n", rule->what);
    return ok;
}

#endif
