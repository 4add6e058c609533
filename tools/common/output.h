/* Where commands write what they make: standard output, a device, or a file that appears when it is
 * whole. What goes wrong is said with bale_message, but that a pipe's reader left. One thread, one
 * output at a time. */
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
    char *path;       /* of the file to be; NULL: written in place */
    char *temporary;
    bool replace;
    bool holes; /* zeros are left out */
    uint64_t size;
};

struct bale_output_rules {
    const struct stat *sources; /* a output that is one of these files is refused */
    size_t count;
    bool replace; /* a file that is there; otherwise it is refused, but: */
    bool picture; /* an SVG picture is made, and may replace one, or an empty file */
    bool holes;   /* where a file is written, its zeros become holes */
};

/* What path is as a source: a file in a mount and its container are one. Nothing if it is missing. */
void bale_output_source(const char *path, struct stat *st);

/* path: NULL for standard output; must stay valid. A file is made under another name beside path,
 * which goes away when the program is interrupted; in the directory of a store it is refused. */
bool bale_output_open(const char *path, const struct bale_output_rules *rules,
                      struct bale_output *output);
bool bale_output_write(struct bale_output *output, const void *bytes, size_t length);
bool bale_output_zeros(struct bale_output *output, uint64_t length);
/* Closes. A file gets its name and, as far as allowed, the owner, mode and times in like (NULL:
 * those of a new file). After a failure everything is as after bale_output_drop(). */
bool bale_output_finish(struct bale_output *output, const struct stat *like);
/* Writes what draw prints to its stream, and finishes as bale_output_finish without a model. False after
 * a message: there is no memory, or the output cannot be written. */
bool bale_output_draw(struct bale_output *output, void (*draw)(const void *arg, FILE *out),
                      const void *arg);
/* Closes, and takes away what was written to a file. */
void bale_output_drop(struct bale_output *output);

#endif
