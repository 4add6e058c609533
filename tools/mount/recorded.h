/* The codec that is recorded for a file, against the one that a new file in its place would get: they
 * differ when a directory's, a match line's or the volume's was changed after the file was made. */
#ifndef BALE_TOOLS_MOUNT_RECORDED_H
#define BALE_TOOLS_MOUNT_RECORDED_H

#include <stdbool.h>

#include "tools/common/container_reader.h"

struct bale_recorded {
    struct bale_look look;
    bool open; /* look */
    /* The first file of which they differ: */
    char *path; /* NULL: none */
    char has[BALE_SETTING_TEXT], gets[BALE_SETTING_TEXT];
};

/* store may be NULL or out of reach: then nothing is found. */
void bale_recorded_begin(struct bale_recorded *recorded, const char *store);
/* fd: of the file path, in a mount of the store. */
void bale_recorded_compare(struct bale_recorded *recorded, int fd, const char *path);
void bale_recorded_end(struct bale_recorded *recorded);

#endif
