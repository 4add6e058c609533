/* The parts of balefs recompress: what it is to do, the walk over a tree, and the hints at the end.
 * One thread. */
#ifndef BALE_TOOLS_MOUNT_RECOMPRESS_H
#define BALE_TOOLS_MOUNT_RECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "fs/daemon/control.h"
#include "kernels/frame/setting.h"
#include "tools/common/inode_set.h"
#include "tools/common/location.h"
#include "tools/common/progress.h"
#include "tools/common/rate_limit.h"
#include "tools/mount/new_codec.h"

/* Match lines that --codec overrides. */
#define BALE_RECOMPRESS_LINES 8
struct bale_recompress_line {
    char *where; /* the file that it was first found for */
    char text[BALE_MATCH_TEXT];
    uint64_t files;
};

struct bale_recompress_work {
    /* What to do */
    const char *codec; /* in normal form, or NULL */
    struct bale_setting setting;
    bool set, dry, round;
    bool bounds;     /* with round: records the setting, which has a bound, for each file before */
    double relative; /* not 0: its bound is this part of each file's range */
    struct bale_rate_limit limit;

    /* The current PATH */
    struct bale_new_codecs new_codecs;
    uint64_t files;
    uint64_t rounded; /* extents in which elements changed */
    struct bale_control_recompress sum;
    struct bale_inode_set seen;
    bool failed; /* of any PATH; a message was printed */

    /* All PATHs, for the progress: known only if somebody sees it */
    struct bale_progress progress;
    uint64_t all_files, all_blocks, passed_files, passed_blocks;
    struct timespec begun;

    /* For the hints */
    uint64_t
        differing; /* files with another codec than new ones get, in PATHs where nothing was rewritten */
    uint64_t differing_here;                                        /* in the current PATH */
    char *differs, has[BALE_SETTING_TEXT], gets[BALE_SETTING_TEXT]; /* the first of them */
    uint64_t unrounded, unrounded_here; /* the same of files whose codec has an error bound */
    char *rounds, bound[BALE_SETTING_TEXT];
    char top[BALE_SETTING_TEXT]; /* what is recorded for the current PATH */
    uint64_t others;             /* with --set: directories below PATHs with something else */
    char *other, other_top[BALE_SETTING_TEXT], other_has[BALE_SETTING_TEXT]; /* the first of them */
    struct bale_recompress_line lines[BALE_RECOMPRESS_LINES];
    unsigned line_count;
    uint64_t lines_more; /* files of further lines */
};

/* Prints a message; the command will fail. */
void bale_recompress_say(struct bale_recompress_work *work, const char *path, const char *why);

/* Adds the files of a tree to the totals of the progress. */
void bale_recompress_count(struct bale_recompress_work *work, char *real);
/* Rewrites the files of a tree, until a signal comes. */
void bale_recompress_tree(struct bale_recompress_work *work, const char *path, char *real);

/* Before a file is rewritten: notes what the hints at the end need. gets: what new_codecs says of
 * it; has: what is recorded for it. */
void bale_recompress_note(struct bale_recompress_work *work, const char *path, const char *has,
                          const struct bale_new_codec *gets);
/* For each directory, PATH first: notes it if its files get another codec than those of PATH. */
void bale_recompress_note_directory(struct bale_recompress_work *work, const char *path,
                                    bool is_top);
/* After a PATH, and at the end: prints the hints, and frees what they needed. */
void bale_recompress_note_path(struct bale_recompress_work *work);
void bale_recompress_advise(struct bale_recompress_work *work);

#endif
