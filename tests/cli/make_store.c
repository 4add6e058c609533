/* Writes containers into a store without a mount: make_store STORE [NAME FILE]... Each FILE becomes
 * the container NAME, in extents of the store's size with its codec, committed durably; a FILE
 * "hole" makes a file of 1 MiB with data only in its second half. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"

#define CHUNK_LOG2 16
#define MTIME 1700000000123456789

struct writer {
    struct bale_store *store;
    struct bale_container_config config;
    struct bale_container_attr defaults;
    struct bale_scratch *scratch;
    uint8_t *raw, *frame;
};

static int write_extent(struct writer *w, struct bale_container *container, uint64_t generation,
                        uint64_t offset, uint32_t length)
{
    struct bale_frame frame = {
        .offset = offset, .generation = generation, .raw_length = length, .chunk_log2 = CHUNK_LOG2};
    struct bale_container_attr attr;
    uint64_t position;
    size_t stored;
    int err = bale_frame_encode(w->scratch, w->defaults.setting, w->raw, &frame, w->frame, &stored);

    if (err == BALE_OK)
        err = bale_container_write_frame(container, w->frame, stored, &position);
    if (err != BALE_OK)
        return err;
    bale_container_attr(container, &attr);
    attr.size = offset + length;
    attr.mtime = MTIME;
    err = bale_container_set_attr(container, &attr);
    if (err != BALE_OK)
        return err;
    const struct bale_segment segment = bale_segment_of_frame(&frame, position, (uint32_t)stored);
    return bale_container_put(container, &segment);
}

static int write_all(struct writer *w, struct bale_container *container, const char *from)
{
    bool hole = strcmp(from, "hole") == 0;
    FILE *file = fopen(hole ? "/dev/zero" : from, "re");
    uint64_t generation, offset = hole ? 512u << 10 : 0;
    size_t got;
    int err = file ? bale_container_begin(container, &generation) : BALE_E_NOENT;

    while (err == BALE_OK && !(hole && offset == 1u << 20) &&
           (got = fread(w->raw, 1, w->defaults.extent, file)) > 0) {
        err = write_extent(w, container, generation, offset, (uint32_t)got);
        offset += got;
    }
    if (err == BALE_OK)
        err = bale_container_commit(container, true);
    if (file)
        fclose(file);
    return err;
}

static int make(struct writer *w, const char *name, const char *from)
{
    struct bale_container *container;
    struct bale_io *io;
    char path[4096], feature[5];

    snprintf(path, sizeof path, "%s/%s", bale_store_path(w->store), name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int err = fd >= 0 ? bale_io_open_fd(fd, &io) : BALE_E_IO;
    if (err == BALE_OK)
        err = bale_container_open(io, &w->config, &w->defaults, &container, feature);
    if (err != BALE_OK)
        return err;
    err = write_all(w, container, from);
    bale_container_close(container);
    return err;
}

static int open_writer(struct writer *w, const char *store)
{
    struct bale_reason why;
    int err = bale_store_open(store, BALE_STORE_WRITE, &w->store, &why);

    if (err != BALE_OK) {
        fprintf(stderr, "make_store: %s\n", why.text);
        return err;
    }
    bale_store_container_config(w->store, &w->config);
    bale_store_defaults(w->store, &w->defaults);
    w->config.writable = true;
    w->raw = malloc(w->defaults.extent);
    w->frame = malloc(bale_frame_bound(w->defaults.extent, CHUNK_LOG2));
    if (!w->raw || !w->frame)
        return BALE_E_NOMEM;
    return bale_scratch_create(&w->scratch);
}

int main(int argc, char **argv)
{
    struct writer w = {0};
    int err = argc >= 2 ? open_writer(&w, argv[1]) : BALE_E_INVALID;

    for (int i = 2; err == BALE_OK && i + 1 < argc; i += 2) {
        err = make(&w, argv[i], argv[i + 1]);
        if (err != BALE_OK)
            fprintf(stderr, "make_store: %s: %s\n", argv[i], bale_err_text(err));
    }
    bale_scratch_destroy(w.scratch);
    free(w.raw);
    free(w.frame);
    if (w.store)
        bale_store_close(w.store, err == BALE_OK, "made by a test");
    return err == BALE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
