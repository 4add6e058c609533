/* Compares the codec recorded for a file with the one that a new file at its path would get. They
 * differ if the setting of a directory, a match line or the volume changed after the file was
 * created. */
#ifndef BALE_TOOLS_MOUNT_CODEC_DIFFERENCE_H
#define BALE_TOOLS_MOUNT_CODEC_DIFFERENCE_H

#include <stdbool.h>

#include "kernels/frame/setting.h"
#include "tools/common/reader.h"

struct bale_codec_difference {
    struct bale_reader reader;
    bool open; /* reader is open */
    /* The first file whose codecs differ: */
    char *path; /* NULL: none */
    char has[BALE_SETTING_TEXT], gets[BALE_SETTING_TEXT];
};

/* store may be NULL or unreadable: then no difference is found. */
void bale_codec_difference_begin(struct bale_codec_difference *difference, const char *store);
/* fd: the file path, open in a mount of the store. */
void bale_codec_difference_compare(struct bale_codec_difference *difference, int fd,
                                   const char *path);
void bale_codec_difference_end(struct bale_codec_difference *difference);

#endif
