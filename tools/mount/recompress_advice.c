/* The hints of balefs recompress: each once, whatever the number of files and paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "tools/common/message.h"
#include "tools/mount/recompress.h"

static void note_line(struct bale_recompress_work *work, const char *path, const char *line)
{
    struct bale_recompress_line *at = work->lines, *end = at + work->line_count;

    while (at < end && strcmp(at->text, line) != 0)
        at++;
    if (at == work->lines + BALE_RECOMPRESS_LINES) {
        work->lines_more++;
        return;
    }
    if (at == end) {
        *at = (struct bale_recompress_line){.where = strdup(path)};
        memcpy(at->text, line, sizeof at->text);
        work->line_count++;
    }
    at->files++;
}

static bool is_lossy(const char *text)
{
    struct bale_setting setting = {.codec = BALE_CODEC_STORE};

    return bale_setting_parse(text, &setting, NULL) == BALE_OK &&
           bale_codec_is_lossy(setting.codec);
}

static void note_unrounded(struct bale_recompress_work *work, const char *path, const char *has)
{
    work->unrounded_here++;
    if (work->rounds)
        return;
    work->rounds = strdup(path);
    snprintf(work->bound, sizeof work->bound, "%s", has);
}

void bale_recompress_note_directory(struct bale_recompress_work *work, const char *path,
                                    bool is_top)
{
    char has[BALE_SETTING_TEXT] = "";

    if (!work->set || work->codec)
        return;
    if (getxattr(path, BALE_XATTR_CODEC, has, sizeof has - 1) <= 0)
        strcpy(has, "the default");
    if (is_top)
        memcpy(work->top, has, sizeof work->top);
    if (strcmp(has, work->top) == 0 || work->others++ > 0)
        return;
    work->other = strdup(path);
    memcpy(work->other_has, has, sizeof work->other_has);
    memcpy(work->other_top, work->top, sizeof work->other_top);
}

void bale_recompress_note(struct bale_recompress_work *work, const char *path, const char *has,
                          const struct bale_new_codec *gets)
{
    if (work->codec) {
        if (gets->line[0] && strcmp(gets->text, work->codec) != 0)
            note_line(work, path, gets->line);
    } else if (!work->set && !work->round && is_lossy(has)) {
        note_unrounded(work, path, has);
    } else if (!work->set && !work->round && strcmp(has, gets->text) != 0) {
        work->differing_here++;
        if (work->differs)
            return;
        work->differs = strdup(path);
        memcpy(work->has, has, sizeof work->has);
        memcpy(work->gets, gets->text, sizeof work->gets);
    }
}

void bale_recompress_note_path(struct bale_recompress_work *work)
{
    if (work->sum.rewritten == 0)
        work->differing += work->differing_here;
    if (work->differing == 0) {
        free(work->differs);
        work->differs = NULL;
    }
    work->differing_here = 0;
    if (work->sum.rewritten == 0)
        work->unrounded += work->unrounded_here;
    if (work->unrounded == 0) {
        free(work->rounds);
        work->rounds = NULL;
    }
    work->unrounded_here = 0;
    work->top[0] = '\0';
}

static void advise_set(const struct bale_recompress_work *work)
{
    if (work->differing == 1)
        bale_message("%s: keeps the codec that is recorded for it, %s, where a new file gets %s: "
                     "balefs recompress --set gives each file what a new one gets",
                     work->differs, work->has, work->gets);
    else if (work->differs)
        bale_message(
            "%s, and %llu more: keep the codec that is recorded for them, as %s where a "
            "new file gets %s: balefs recompress --set gives each file what a new one gets",
            work->differs, (unsigned long long)work->differing - 1, work->has, work->gets);
}

static void advise_round(const struct bale_recompress_work *work)
{
    if (work->unrounded == 1)
        bale_message("%s: elements that were written before it got %s keep their values: balefs "
                     "recompress --round %s rounds them",
                     work->rounds, work->bound, work->rounds);
    else if (work->rounds)
        bale_message(
            "%s, and %llu more: elements that were written before these files got an error "
            "bound, as %s, keep their values: balefs recompress --round FILE... rounds them",
            work->rounds, (unsigned long long)work->unrounded - 1, work->bound);
}

static void advise_directories(const struct bale_recompress_work *work)
{
    char more[48] = "";

    if (!work->other)
        return;
    if (work->others > 1)
        snprintf(more, sizeof more, ", and %llu more", (unsigned long long)work->others - 1);
    bale_message(
        "%s%s: files there got what new ones there get, %s, and not %s: balefs set gives a "
        "directory another codec",
        work->other, more, work->other_has, work->other_top);
}

void bale_recompress_advise(struct bale_recompress_work *work)
{
    advise_set(work);
    advise_round(work);
    free(work->rounds);
    advise_directories(work);
    free(work->other);
    free(work->differs);
    for (unsigned i = 0; i < work->line_count; i++) {
        struct bale_recompress_line *line = &work->lines[i];
        bale_message("--codec %s overrides the match line \"%s\" for %llu file%s, as %s: "
                     "balefs recompress --set without --codec keeps to it",
                     work->codec, line->text, (unsigned long long)line->files,
                     line->files == 1 ? "" : "s", line->where ? line->where : "");
        free(line->where);
    }
    if (work->lines_more > 0)
        bale_message("--codec %s overrides other match lines for %llu more file%s", work->codec,
                     (unsigned long long)work->lines_more, work->lines_more == 1 ? "" : "s");
}
