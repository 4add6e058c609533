/* Scratch stores for the tests of fs/store: a new directory for each test, removed at its end. */
#ifndef BALE_TESTS_UNIT_FS_STORE_SCRATCH_H
#define BALE_TESTS_UNIT_FS_STORE_SCRATCH_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/codecs.h"
#include "format/err.h"
#include "format/reason.h"
#include "fs/store/internal.h"
#include "tests/check.h"

static char scratch[4096]; /* without symbolic links */
static struct bale_reason why;

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    char name[4000];
    char *real;

    snprintf(name, sizeof name, "%s/balefs-store-XXXXXX", base ? base : "/tmp");
    REQUIRE(mkdtemp(name));
    real = realpath(name, NULL);
    REQUIRE(real);
    snprintf(scratch, sizeof scratch, "%s", real);
    free(real);
}

/* Path of a name in the scratch directory; four may be in use at once. */
static inline const char *at(const char *name)
{
    static char paths[4][8192];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void put_file(const char *name, const char *text)
{
    FILE *file = fopen(at(name), "we");

    REQUIRE(file);
    REQUIRE(fputs(text, file) >= 0);
    REQUIRE(fclose(file) == 0);
}

/* Static storage; empty if there is no such file. */
static inline const char *get_file(const char *name)
{
    static char text[1 << 16];
    FILE *file = fopen(at(name), "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (file)
        fclose(file);
    text[got] = '\0';
    return text;
}

/* The message that is expected, %s replaced by the scratch directory each time. */
static inline const char *text_of(const char *format)
{
    static char text[BALE_REASON_SIZE + 8192];
    char *out = text;

    for (const char *p = format; *p && out < text + BALE_REASON_SIZE; p++)
        if (p[0] == '%' && p[1] == 's') {
            out += snprintf(out, sizeof scratch, "%s", scratch);
            p++;
        } else {
            *out++ = *p;
        }
    *out = '\0';
    return text;
}

static inline void store_make(const char *name)
{
    const struct bale_store_config config = {.setting = {.codec = BALE_CODEC_ZSTD, .parameter = 3},
                                             .extent = 131072};

    why.text[0] = '\0';
    if (!CHECK_EQ(bale_store_init(at(name), &config, &why), 0))
        fprintf(stderr, "%s\n", why.text);
}

static inline struct bale_store *store_open(const char *name, enum bale_store_access how)
{
    struct bale_store *store;

    why.text[0] = '\0';
    if (!CHECK_EQ(bale_store_open(at(name), how, &store, &why), 0)) {
        fprintf(stderr, "%s\n", why.text);
        exit(EXIT_FAILURE);
    }
    return store;
}

/* Expects open to fail with err and the message. */
static inline void refused(const char *name, enum bale_store_access how, int err,
                           const char *message)
{
    struct bale_store *store;

    why.text[0] = '\0';
    CHECK_EQ(bale_store_open(at(name), how, &store, &why), err);
    CHECK(!store);
    CHECK_EQ_STR(why.text, text_of(message));
}

/* Runs part in a child; its failed checks become one of ours. uid 0: as we are. */
static inline void in_child(uid_t uid, void (*part)(void))
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        unsigned long before = atomic_load(&check_failures);

        if (uid && (setgid(uid) < 0 || setuid(uid) < 0))
            _exit(EXIT_FAILURE);
        part();
        fflush(NULL);
        _exit(atomic_load(&check_failures) == before ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

/* A file system without flock (bale_store_platform.flock). */
static inline int no_flock(int fd, int operation)
{
    (void)fd;
    (void)operation;
    errno = ENOSYS;
    return -1;
}

/* "auto, store and so on", as messages name the codecs that there are. */
static inline const char *scratch_codecs(void)
{
    static char text[512];
    size_t length = 0;

    for (size_t i = 0; bale_codec_at(i); i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                   i == 0                 ? ""
                                   : bale_codec_at(i + 1) ? ", "
                                                          : " and ",
                                   bale_codec_at(i)->name);
    REQUIRE(length < sizeof text);
    return text;
}

#endif
