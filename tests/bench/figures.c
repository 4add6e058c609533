/* What tests/bench/figures needs done to a mount, quickly.
 *
 * usage: figures dense STORE NAME GIB      a file all of whose extents are stored, in a store that
 * is not mounted
 *        figures sync FILE OFFSET          writes 100 bytes there, and fsync
 *        figures append FILE COUNT         100 bytes and a close, so often
 *        figures make FILE BYTES KIND      a fresh file; KIND: text or random
 *        figures overwrite FILE BYTES TOTAL KIND   writes of 4 KiB to 1 MiB anywhere in it, TOTAL bytes
 *        figures small DIR TEXT COUNT      files of 1 to 4 KiB, half of them pieces of the file TEXT, half random
 *        figures empty DIR COUNT           files without contents, 1000 in a directory
 *        figures walk DIR                  looks at every one; prints how many there are */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/container/container.h"
#include "fs/store/store.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/mount/content.h"

#define MIB ((uint64_t)1 << 20)

static void die(const char *what)
{
    fprintf(stderr, "figures: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void need(int err, const char *what)
{
    if (err < 0) {
        fprintf(stderr, "figures: %s: %s\n", what, bale_err_text(err));
        exit(EXIT_FAILURE);
    }
}

static void write_whole(int fd, const void *data, size_t length, uint64_t offset)
{
    if (pwrite(fd, data, length, (off_t)offset) != (ssize_t)length)
        die("write");
}

/* ---- dense ---- */

static void fill_dense(struct bale_container *container, uint64_t size)
{
    struct bale_container_attr attr;
    struct bale_scratch *scratch;
    uint64_t generation;

    bale_container_attr(container, &attr);
    uint8_t *raw = calloc(1, attr.extent);
    uint8_t stored[4096];
    if (!raw)
        die("memory");
    memset(raw, 1, attr.extent);
    need(bale_scratch_create(&scratch), "scratch");
    need(bale_container_begin(container, &generation), "begin");
    for (uint64_t offset = 0; offset < size; offset += attr.extent) {
        struct bale_frame frame = {.offset = offset,
                                   .generation = generation,
                                   .raw_length = attr.extent,
                                   .chunk_log2 = 16};
        struct bale_segment segment = {.offset = offset, .length = attr.extent};
        size_t length;
        need(bale_frame_encode(scratch, attr.setting, raw, &frame, stored, &length), "encode");
        need(bale_container_write_frame(container, stored, length, &segment.position), "frame");
        segment.generation = generation;
        segment.frame_length = (uint32_t)length;
        segment.codec = frame.codec;
        segment.chunk_log2 = frame.chunk_log2;
        segment.checksum = frame.head_checksum;
        need(bale_container_put(container, &segment), "put");
    }
    attr.size = size;
    need(bale_container_set_attr(container, &attr), "size");
    need(bale_container_commit(container, true), "commit");
    bale_scratch_destroy(scratch);
    free(raw);
}

static void dense(const char *path, const char *name, uint64_t gib)
{
    struct bale_reason why;
    char file[4096];
    struct bale_store *store;
    struct bale_container_config config;
    struct bale_container_attr defaults;
    struct bale_container *container;
    struct bale_io *io;

    need(bale_store_open(path, BALE_STORE_WRITE, &store, &why), "store");
    bale_store_container_config(store, &config);
    bale_store_defaults(store, &defaults);
    snprintf(file, sizeof file, "%s/%s", path, name);
    int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        die(file);
    need(bale_io_open_fd(fd, &io), "io");
    need(bale_container_open(io, &config, &defaults, &container, NULL), "open");
    fill_dense(container, gib << 30);
    bale_container_close(container);
    need(bale_store_close(store, true, "made"), "close");
}

/* ---- Files ---- */

static enum content kind_of(const char *text)
{
    return strcmp(text, "text") == 0 ? CONTENT_TEXT : CONTENT_RANDOM;
}

static void make(const char *path, uint64_t bytes, enum content kind)
{
    uint8_t *buffer = malloc(MIB);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || !buffer)
        die(path);
    for (uint64_t at = 0; at < bytes; at += MIB) {
        size_t step = bytes - at < MIB ? (size_t)(bytes - at) : MIB;
        content_fill(kind, 1, at, buffer, step);
        write_whole(fd, buffer, step, at);
    }
    if (close(fd) != 0)
        die(path);
    free(buffer);
}

/* Lengths spread evenly over the powers of two; whole blocks. */
static void overwrite(const char *path, uint64_t bytes, uint64_t total, enum content kind)
{
    uint8_t *buffer = malloc(MIB);
    uint64_t random = 7;
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || !buffer)
        die(path);
    for (uint64_t done = 0; done < total;) {
        uint64_t length = (uint64_t)4096 << content_mix(random++) % 9;
        uint64_t offset = content_mix(random++) % (bytes - length) & ~(uint64_t)4095;
        content_fill(kind, random, offset, buffer, (size_t)length);
        write_whole(fd, buffer, (size_t)length, offset);
        done += length;
    }
    if (close(fd) != 0)
        die(path);
    free(buffer);
}

static void append(const char *path, uint64_t count)
{
    char data[100];

    for (uint64_t i = 0; i < count; i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        content_fill(CONTENT_TEXT, 1, i * sizeof data, data, sizeof data);
        if (fd < 0 || write(fd, data, sizeof data) != (ssize_t)sizeof data || close(fd) != 0)
            die(path);
    }
}

static void sync_one(const char *path, uint64_t offset)
{
    char data[100];
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    content_fill(CONTENT_TEXT, 1, offset, data, sizeof data);
    if (fd < 0)
        die(path);
    write_whole(fd, data, sizeof data, offset);
    if (fsync(fd) != 0)
        die("fsync");
    /* The caller reads the counters before the close. */
    puts("synced");
    fflush(stdout);
    (void)getchar();
    close(fd);
}

static void make_small(const char *path, const char *text, uint64_t count)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int source = open(text, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t buffer[4096];

    if (dir < 0 || source < 0 || fstat(source, &st) != 0 || st.st_size <= 4096)
        die(text);
    for (uint64_t i = 0; i < count; i++) {
        char name[32];
        size_t length = (size_t)(1024 + content_mix(i) % 3073);
        off_t offset = (off_t)(content_mix(i ^ 99) % (uint64_t)(st.st_size - 4096));
        snprintf(name, sizeof name, "f%05ju", (uintmax_t)i);
        if (i % 2 == 0)
            content_fill(CONTENT_RANDOM, i, 0, buffer, length);
        else if (pread(source, buffer, length, offset) != (ssize_t)length)
            die(text);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
            die(name);
        write_whole(fd, buffer, length, 0);
        if (close(fd) != 0)
            die(name);
    }
}

static void make_empty(const char *path, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/d%04ju", path, (uintmax_t)(i / 1000));
        if (i % 1000 == 0 && mkdir(name, 0755) != 0)
            die(name);
        snprintf(name, sizeof name, "%s/d%04ju/f%03ju", path, (uintmax_t)(i / 1000),
                 (uintmax_t)(i % 1000));
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0)
            die(name);
        close(fd);
    }
}

static uint64_t walked;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    walked += type == FTW_F && S_ISREG(st->st_mode);
    if (type == FTW_NS || type == FTW_DNR)
        die(path);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    uint64_t numbers[3] = {0};

    for (int i = 3; i < argc && i < 6; i++)
        numbers[i - 3] = strtoull(argv[i], NULL, 10);
    if (strcmp(what, "dense") == 0 && argc == 5)
        dense(argv[2], argv[3], numbers[1]);
    else if (strcmp(what, "sync") == 0 && argc == 4)
        sync_one(argv[2], numbers[0]);
    else if (strcmp(what, "append") == 0 && argc == 4)
        append(argv[2], numbers[0]);
    else if (strcmp(what, "make") == 0 && argc == 5)
        make(argv[2], numbers[0], kind_of(argv[4]));
    else if (strcmp(what, "overwrite") == 0 && argc == 6)
        overwrite(argv[2], numbers[0], numbers[1], kind_of(argv[5]));
    else if (strcmp(what, "small") == 0 && argc == 5)
        make_small(argv[2], argv[3], numbers[1]);
    else if (strcmp(what, "empty") == 0 && argc == 4)
        make_empty(argv[2], numbers[0]);
    else if (strcmp(what, "walk") == 0 && argc == 3 && nftw(argv[2], count_one, 64, FTW_PHYS) == 0)
        printf("%ju\n", (uintmax_t)walked);
    else {
        fputs("usage: see the head of tests/bench/figures.c\n", stderr);
        return 2;
    }
    return EXIT_SUCCESS;
}
