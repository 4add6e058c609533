/* The output of a command: standard output, a device, or a file that appears only when it is
 * complete. Failures are reported by a message, except that the reader of a pipe ended. One thread,
 * and one output at a time. */
#ifndef BALE_TOOLS_COMMON_OUTPUT_H
#define BALE_TOOLS_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct bale_output {
    int fd;
    const char *name; /* for messages */
    int dir;          /* of the file that it becomes, or -1: written in place */
    char *base;       /* its name there */
    char *temporary;  /* its name until it is complete */
    bool replace;
    bool holes; /* zeros become holes */
    uint64_t size;
};

struct bale_output_rules {
    const struct stat *sources; /* an output that is one of these files is refused */
    size_t count;
    bool replace; /* a file that exists may be replaced; otherwise it is refused, except: */
    bool picture; /* the output is an SVG picture and may replace a picture or an empty file */
    bool holes;   /* zeros in a file become holes */
    /* The path was made from the source's and not given by the user. Then only a regular file may
     * be there, because other users may have put a link or a device in its place. */
    bool beside;
};

/* Identifies path as a source. A file in a mount and its container get the same identity. *st is
 * zeroed if path is missing. */
void bale_output_source(const char *path, struct stat *st);

/* path must stay valid; NULL means standard output. A file is created under another name beside
 * path, and a signal removes it. An output in the directory of a store is refused. */
bool bale_output_open(const char *path, const struct bale_output_rules *rules,
                      struct bale_output *output);
bool bale_output_write(struct bale_output *output, const void *bytes, size_t length);
bool bale_output_zeros(struct bale_output *output, uint64_t length);
/* Closes the output. A file gets its name and, as far as allowed, the owner, mode and times of like
 * (NULL: those of a new file). After a failure the state is as after bale_output_drop(). */
bool bale_output_finish(struct bale_output *output, const struct stat *like);
/* Writes what draw prints to its stream, then finishes as bale_output_finish with NULL. draw runs
 * once, on this thread, and must not close the stream. False after a message: no memory, or the
 * output cannot be written. */
bool bale_output_draw(struct bale_output *output, void (*draw)(const void *arg, FILE *out),
                      const void *arg);
/* Closes the output and removes what was written to a file. */
void bale_output_drop(struct bale_output *output);

#endif
