/* The codec that a new file at the path of an existing one would get. It differs from the one
 * recorded for the file if the setting of a directory, a match line or the volume changed after the
 * file was created. */
#ifndef BALE_TOOLS_MOUNT_NEW_CODEC_H
#define BALE_TOOLS_MOUNT_NEW_CODEC_H

#include <stdbool.h>

#include "kernels/frame/setting.h"
#include "tools/common/reader.h"

struct bale_new_codecs {
    struct bale_reader reader;
    bool open; /* reader is open */
};

#define BALE_MATCH_TEXT 128

struct bale_new_codec {
    struct bale_setting setting;
    char text[BALE_SETTING_TEXT]; /* the same */
    char line[BALE_MATCH_TEXT];   /* the match line that it comes from, cut if it is long; or "" */
};

/* store may be NULL or unreadable: then nothing is known of any file. */
void bale_new_codecs_begin(struct bale_new_codecs *codecs, const char *store);
void bale_new_codecs_end(struct bale_new_codecs *codecs);

/* path: in a mount of the store. False: it is not known. */
bool bale_new_codec_find(const struct bale_new_codecs *codecs, const char *path,
                         struct bale_new_codec *codec);

#endif
