/* The codec that is recorded for a file, against the one that a new file in its place would get: they
 * differ when a directory's, a match line's or the volume's was changed after the file was made. */
#ifndef BALE_TOOLS_MOUNT_CODEC_DIFFERENCE_H
#define BALE_TOOLS_MOUNT_CODEC_DIFFERENCE_H

#include <stdbool.h>

#include "kernels/frame/setting.h"
#include "tools/common/reader.h"

struct bale_codec_difference {
    struct bale_reader reader;
    bool open; /* reader */
    /* The first file of which they differ: */
    char *path; /* NULL: none */
    char has[BALE_SETTING_TEXT], gets[BALE_SETTING_TEXT];
};

/* store may be NULL or out of reach: then nothing is found. */
void bale_codec_difference_begin(struct bale_codec_difference *difference, const char *store);
/* fd: of the file path, in a mount of the store. */
void bale_codec_difference_compare(struct bale_codec_difference *difference, int fd,
                                   const char *path);
void bale_codec_difference_end(struct bale_codec_difference *difference);

#endif
