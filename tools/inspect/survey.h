/* Walks over a tree in a mount or a store and adds up the space that its files take. */
#ifndef BALE_TOOLS_INSPECT_SURVEY_H
#define BALE_TOOLS_INSPECT_SURVEY_H

#include <stdbool.h>

#include "tools/common/inode_set.h"
#include "tools/common/location.h"
#include "tools/common/progress.h"
#include "tools/common/reader.h"
#include "tools/inspect/totals.h"

struct bale_survey {
    struct bale_types *types; /* NULL: not requested */
    struct bale_progress progress;
    bool failed; /* something could not be read; a message was printed */

    /* The store that is open now; it stays open from path to path. */
    struct bale_reader reader;
    char *store_path;
};

/* path: a file or a directory. The walk skips symbolic links and other file systems; a file with
 * several names counts once. A negative bale_err only if nothing is known of path. */
int bale_survey(struct bale_survey *survey, const char *path, const struct bale_location *location,
                struct bale_totals *totals);

void bale_survey_end(struct bale_survey *survey);

#endif
