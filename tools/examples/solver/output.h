/* The output directory, and whole files in it. All functions that return int: 0 or a negative
 * errno, reported. */
#ifndef WAVE_OUTPUT_H
#define WAVE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wave_output {
    int dir; /* -1 when closed */
    const char *path;
    uint64_t bytes; /* written to whole files so far */
};

/* A file being written by offset. */
struct wave_file {
    struct wave_output *out;
    int fd; /* -1 when closed */
    char name[64], temporary[72];
    uint64_t bytes; /* the end of what was written */
};

enum wave_file_mode {
    WAVE_FILE_PLAIN, /* written in place, as dumps are */
    /* under a temporary name, synced and renamed: the old file or the whole new one */
    WAVE_FILE_REPLACE,
};

/* Makes the directory when it is missing. The path must outlive the output. */
int wave_output_open(struct wave_output *out, const char *path);
void wave_output_close(struct wave_output *out);

int wave_file_create(struct wave_file *f, struct wave_output *out, const char *name,
                     enum wave_file_mode mode);
int wave_file_write(struct wave_file *f, const void *data, size_t length, off_t offset);
/* Reads what was written. */
int wave_file_read(struct wave_file *f, void *data, size_t length, off_t offset);

/* Ends the file: with what = 0 for good (synced and renamed where the mode says so), otherwise a
 * temporary file is removed. Returns the first error, `what` included. */
int wave_file_finish(struct wave_file *f, int what);

#endif
