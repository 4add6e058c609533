#include "tools/mount/new_codec.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"

#define LINES 4096

void bale_new_codecs_begin(struct bale_new_codecs *codecs, const char *store)
{
    struct bale_reason why;

    *codecs = (struct bale_new_codecs){0};
    codecs->open =
        store && bale_reader_open(store, BALE_STORE_UNLOCKED, &codecs->reader, &why) == BALE_OK;
}

void bale_new_codecs_end(struct bale_new_codecs *codecs)
{
    if (codecs->open)
        bale_reader_close(&codecs->reader);
    *codecs = (struct bale_new_codecs){0};
}

/* Whether the line "GLOB CODEC" applies to files of that name. */
static bool is_for(const char *line, const char *name)
{
    const char *codec = strrchr(line, ' ');
    char *glob = codec ? strndup(line, (size_t)(codec - line)) : NULL;
    bool matches = glob && fnmatch(glob, name, 0) == 0;

    free(glob);
    return matches;
}

/* Finds the first line of the directory dir that applies to the name. */
static void find_line_of_directory(const char *dir, const char *name, struct bale_new_codec *codec)
{
    char lines[LINES], *rest = lines, *line;
    ssize_t got = getxattr(dir, BALE_XATTR_MATCH, lines, sizeof lines - 1);

    lines[got > 0 ? got : 0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (is_for(line, name)) {
            snprintf(codec->line, sizeof codec->line, "%s", line);
            return;
        }
}

static void find_line_of_volume(const struct bale_store *store, const char *name,
                                struct bale_new_codec *codec)
{
    for (char **line = bale_store_config(store)->match; *line; line++)
        if (is_for(*line, name)) {
            snprintf(codec->line, sizeof codec->line, "%s", *line);
            return;
        }
}

bool bale_new_codec_find(const struct bale_new_codecs *codecs, const char *path,
                         struct bale_new_codec *codec)
{
    struct bale_container_attr attr;
    char *copy = codecs->open ? strdup(path) : NULL, *above = copy ? dirname(copy) : NULL;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int dir = above ? open(above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool known =
        dir >= 0 && bale_properties_for_new(codecs->reader.store, dir, name, &attr) == BALE_OK;

    *codec = (struct bale_new_codec){0};
    if (known) {
        codec->setting = attr.setting;
        bale_setting_print(attr.setting, codec->text, sizeof codec->text);
        if (attr.setting_explicit)
            find_line_of_directory(above, name, codec);
        else
            find_line_of_volume(codecs->reader.store, name, codec);
    }
    if (dir >= 0)
        close(dir);
    free(copy);
    return known;
}
