/* Checks for unit tests. A failed check prints where and what, is counted, and the test goes on;
 * main() ends with "return check_result();", which is 0 when at least one check ran and none
 * failed. check_skip() ends the test as skipped. Checks may run in any thread. */
#ifndef BALE_TESTS_CHECK_H
#define BALE_TESTS_CHECK_H

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_SKIPPED 77 /* tests/CMakeLists.txt tells ctest */

/* One of each for a program, of however many sources. */
__attribute__((weak)) atomic_ulong check_count;
__attribute__((weak)) atomic_ulong check_failures;

/* Whether the last argument is --few: the program runs after each change, and does less of the same
 * (FEW in tests/CMakeLists.txt). The argument is taken away. */
static inline bool check_few(int *argc, char **argv)
{
    bool few = *argc > 1 && strcmp(argv[*argc - 1], "--few") == 0;

    if (few)
        argv[--*argc] = NULL;
    return few;
}

static inline bool check_note(bool ok)
{
    atomic_fetch_add(&check_count, 1);
    if (!ok)
        atomic_fetch_add(&check_failures, 1);
    return ok;
}

static inline bool check_true(bool ok, const char *text, const char *file, int line)
{
    if (!check_note(ok))
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
    return ok;
}

static inline bool check_int(intmax_t a, intmax_t b, const char *as, const char *bs,
                             const char *file, int line)
{
    if (!check_note(a == b))
        fprintf(stderr, "%s:%d: failed: %s == %s: %jd and %jd\n", file, line, as, bs, a, b);
    return a == b;
}

static inline bool check_uint(uintmax_t a, uintmax_t b, const char *as, const char *bs,
                              const char *file, int line)
{
    if (!check_note(a == b))
        fprintf(stderr, "%s:%d: failed: %s == %s: %ju (0x%jx) and %ju (0x%jx)\n", file, line, as,
                bs, a, a, b, b);
    return a == b;
}

static inline bool check_str(const char *a, const char *b, const char *as, const char *bs,
                             const char *file, int line)
{
    bool ok = a && b ? strcmp(a, b) == 0 : a == b;

    if (!check_note(ok))
        fprintf(stderr, "%s:%d: failed: %s equals %s: \"%s\" and \"%s\"\n", file, line, as, bs,
                a ? a : "(null)", b ? b : "(null)");
    return ok;
}

static inline bool check_mem(const void *a, const void *b, size_t length, const char *as,
                             const char *bs, const char *file, int line)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    size_t i = 0;

    /* A byte at a time is slow, and nearly always they are equal. */
    if (check_note(length == 0 || memcmp(a, b, length) == 0))
        return true;
    while (i + 1 < length && x[i] == y[i])
        i++;
    fprintf(stderr, "%s:%d: failed: %s equals %s: byte %zu of %zu is 0x%02x and 0x%02x\n", file,
            line, as, bs, i, length, (unsigned)x[i], (unsigned)y[i]);
    return false;
}

/* Each is true when the check held, for a test that cannot go on otherwise: if (!CHECK(p))
 * return; */
#define CHECK(cond) check_true((cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_int((intmax_t)(a), (intmax_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_EQ_U(a, b) check_uint((uintmax_t)(a), (uintmax_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_EQ_STR(a, b) check_str((a), (b), #a, #b, __FILE__, __LINE__)
#define CHECK_EQ_MEM(a, b, length) check_mem((a), (b), (length), #a, #b, __FILE__, __LINE__)

/* Ends the program when the check fails: for set-up that everything after needs. */
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!CHECK(cond))                                                                          \
            exit(EXIT_FAILURE);                                                                    \
    } while (0)

static inline void check_skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(CHECK_SKIPPED);
}

static inline int check_result(void)
{
    unsigned long count = atomic_load(&check_count);
    unsigned long failures = atomic_load(&check_failures);

    printf("%lu checks, %lu failed\n", count, failures);
    return count > 0 && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
