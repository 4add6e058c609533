/* The hints of balefs recompress: each once, whatever the number of files and paths. */
#include <stdlib.h>
#include <string.h>

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

void bale_recompress_note(struct bale_recompress_work *work, const char *path, const char *has,
                          const struct bale_new_codec *gets)
{
    if (work->codec) {
        if (gets->line[0] && strcmp(gets->text, work->codec) != 0)
            note_line(work, path, gets->line);
    } else if (!work->set && strcmp(has, gets->text) != 0) {
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

void bale_recompress_advise(struct bale_recompress_work *work)
{
    advise_set(work);
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
