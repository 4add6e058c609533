#include "tools/inspect/survey.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/common/message.h"

#define TRIES 5 /* of a container that is being written */
#define STAT_MAX (64u << 10)

/* The state of the walk over one path. */
struct survey_walk {
    struct bale_survey *survey;
    const struct bale_location *location;
    struct bale_totals *sum;
    struct bale_inode_set seen;
};

static void say(struct survey_walk *walk, const char *path, const char *why)
{
    bale_progress_end(&walk->survey->progress);
    bale_message("%s: %s", path, why);
    walk->survey->failed = true;
}

static int from_mount(const char *path, const struct stat *st, struct bale_totals *totals,
                      struct bale_reason *why)
{
    static char text[STAT_MAX];
    ssize_t got = getxattr(path, BALE_XATTR_STAT, text, sizeof text);
    int err = got < 0 ? bale_err_from_errno(errno) : bale_totals_parse(totals, text, (size_t)got);

    if (got < 0)
        bale_reason_set(why, "its statistics cannot be read: %s", strerror(errno));
    else if (err != BALE_OK)
        bale_reason_set(why, "its statistics are not valid: does another version serve the mount?");
    totals->logical = (uint64_t)st->st_size;
    totals->disk = (uint64_t)st->st_blocks * 512;
    return err;
}

static int from_container(const struct bale_reader *reader, const char *below,
                          const struct stat *st, struct bale_totals *totals,
                          struct bale_reason *why)
{
    struct bale_container_usage usage;
    struct bale_container_attr attr;
    struct bale_container *container;
    int err = BALE_E_STALE;

    for (int i = 0; i < TRIES && (err == BALE_E_STALE || err == BALE_E_CORRUPT); i++) {
        err = bale_reader_open_container_at(reader, below, &container, why);
        if (err != BALE_OK)
            continue;
        err = bale_container_usage(container, &usage);
        bale_container_attr(container, &attr);
        bale_container_close(container);
        if (err != BALE_OK)
            bale_reason_set(why, "its index cannot be read: %s: see balefs fsck",
                            bale_err_text(err));
    }
    if (err == BALE_OK)
        bale_totals_file(totals, attr.size, (uint64_t)st->st_blocks * 512, &usage);
    return err;
}

static void visit_file(struct survey_walk *walk, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    struct bale_totals totals = {0};
    struct bale_reason why;
    int err;

    if (st->st_nlink > 1 && (err = bale_inode_set_add(&walk->seen, st->st_dev, st->st_ino)) <= 0) {
        if (err < 0)
            say(walk, entry->fts_path, "out of memory");
        return;
    }
    if (walk->location->mounted) {
        err = from_mount(entry->fts_path, st, &totals, &why);
    } else {
        const char *below = entry->fts_path + strlen(walk->location->top);
        err = from_container(&walk->survey->reader, below + strspn(below, "/"), st, &totals, &why);
    }
    if (err == BALE_E_NOENT)
        return; /* it was removed meanwhile */
    if (err != BALE_OK) {
        say(walk, entry->fts_path, why.text);
        return;
    }
    bale_totals_add(walk->sum, &totals);
    if (walk->survey->types &&
        bale_types_add(walk->survey->types, entry->fts_name, &totals) != BALE_OK)
        say(walk, entry->fts_path, "out of memory");
}

static bool is_private(const struct survey_walk *walk, const FTSENT *entry)
{
    return !walk->location->mounted && walk->location->below[0] == '\0' && entry->fts_level == 1 &&
           strcmp(entry->fts_name, BALE_STORE_DIR) == 0;
}

static void visit(struct survey_walk *walk, FTS *fts, FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_D:
        if (is_private(walk, entry))
            fts_set(fts, entry, FTS_SKIP);
        break;
    case FTS_F:
        visit_file(walk, entry);
        bale_progress_show(&walk->survey->progress, walk->sum->files, walk->sum->logical);
        break;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        if (entry->fts_errno != ENOENT || entry->fts_level == 0)
            say(walk, entry->fts_path, strerror(entry->fts_errno));
        break;
    default:
        break;
    }
}

/* Keeps the store open between paths, because a shell's * gives many of them. */
static int use_store(struct bale_survey *survey, const char *top)
{
    struct bale_reason why;

    if (survey->store_path && strcmp(survey->store_path, top) == 0)
        return BALE_OK;
    bale_survey_end(survey);
    int err = bale_reader_open(top, BALE_STORE_UNLOCKED, &survey->reader, &why);
    if (err != BALE_OK) {
        bale_message("%s", why.text);
        return err;
    }
    survey->store_path = strdup(top);
    return survey->store_path ? BALE_OK : BALE_E_NOMEM;
}

int bale_survey(struct bale_survey *survey, const char *path, const struct bale_location *location,
                struct bale_totals *totals)
{
    struct survey_walk walk = {.survey = survey, .location = location, .sum = totals};
    char *roots[] = {location->real, NULL};
    FTSENT *entry;
    int err = location->mounted ? BALE_OK : use_store(survey, location->top);

    *totals = (struct bale_totals){0};
    if (err != BALE_OK)
        return err;
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    if (!fts) {
        bale_message("%s: %s", path, strerror(errno));
        return BALE_E_NOMEM;
    }
    bale_progress_begin(&survey->progress, "read");
    while (errno = 0, entry = fts_read(fts))
        visit(&walk, fts, entry);
    if (errno != 0)
        say(&walk, path, strerror(errno));
    bale_progress_end(&survey->progress);
    fts_close(fts);
    bale_inode_set_clear(&walk.seen);
    return BALE_OK;
}

void bale_survey_end(struct bale_survey *survey)
{
    bale_reader_close(&survey->reader);
    free(survey->store_path);
    survey->store_path = NULL;
}
