/* Runs the fuzz targets without a fuzzer.
 *
 *   fuzz_replay TARGET FILE...   each file as input, as after a finding
 *   fuzz_replay --check DIR [--few]
 *                                writes every target's seeds to DIR/TARGET-N, also the corpus to
 *                                start a fuzzer from; replays those files, then each with every
 *                                byte changed, in one way with --few, and cut at every length */
#include <string.h>

#include "tests/check.h"
#include "tests/fuzz/target.h"

static bool few;

static size_t load(const char *path, uint8_t *data, size_t room)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        fprintf(stderr, "fuzz_replay: %s: cannot be opened\n", path);
        exit(EXIT_FAILURE);
    }
    size = fread(data, 1, room, file);
    REQUIRE(!ferror(file));
    fclose(file);
    return size;
}

static void save(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    REQUIRE(file != NULL);
    REQUIRE(fwrite(data, 1, size, file) == size);
    REQUIRE(fclose(file) == 0);
}

/* The target judges the result for a changed input; this program only checks that it returns. */
static void vary(const struct fuzz_target *target, const uint8_t *seed, size_t size)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    uint8_t data[FUZZ_INPUT_MAX];

    memcpy(data, seed, size);
    for (size_t at = 0; at < size; at++) {
        for (size_t i = few ? sizeof(changes) - 1 : 0; i < sizeof(changes); i++) {
            data[at] = seed[at] ^ changes[i];
            target->run(data, size);
        }
        data[at] = seed[at];
        target->run(data, at);
    }
}

static void check_target(const struct fuzz_target *target, const char *dir)
{
    uint8_t seed[FUZZ_INPUT_MAX] = {0};
    uint8_t data[FUZZ_INPUT_MAX];
    size_t size;
    unsigned n = 0;

    for (; (size = target->seed(n, seed)) > 0; n++) {
        char path[4096];

        REQUIRE(size <= sizeof(seed));
        snprintf(path, sizeof(path), "%s/%s-%u", dir, target->name, n);
        save(path, seed, size);
        CHECK_EQ_U(load(path, data, sizeof(data)), size);
        if (!CHECK(target->run(data, size)))
            fprintf(stderr, "    %s is refused\n", path);
        vary(target, data, size);
    }
    CHECK(n > 0);
}

int main(int argc, char **argv)
{
    static uint8_t data[1 << 20];
    const struct fuzz_target *target = fuzz_targets;

    few = check_few(&argc, argv);
    if (argc == 3 && strcmp(argv[1], "--check") == 0) {
        for (; target->name != NULL; target++)
            check_target(target, argv[2]);
        return check_result();
    }
    while (argc >= 3 && target->name != NULL && strcmp(target->name, argv[1]) != 0)
        target++;
    if (argc < 3 || target->name == NULL) {
        fprintf(stderr, "usage: fuzz_replay TARGET FILE... | --check DIR\n");
        return EXIT_FAILURE;
    }
    for (int i = 2; i < argc; i++) {
        bool good = target->run(data, load(argv[i], data, sizeof(data)));

        printf("%s: %s\n", argv[i], good ? "accepted" : "refused");
    }
    return EXIT_SUCCESS;
}
