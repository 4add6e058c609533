/* Walks a tree in a mount or a store and adds up what its files take. */
#ifndef BALE_TOOLS_INSPECT_SURVEY_H
#define BALE_TOOLS_INSPECT_SURVEY_H

#include <stdbool.h>

#include "tools/common/inode_set.h"
#include "tools/common/location.h"
#include "tools/common/progress.h"
#include "tools/common/reader.h"
#include "tools/inspect/totals.h"

struct bale_survey {
    struct bale_types *types; /* NULL: not asked for */
    struct bale_progress progress;
    bool failed; /* something could not be read, and that was said */

    /* The store at hand, kept from path to path. */
    struct bale_reader reader;
    char *store_path;
};

/* path: a file or a directory. Symbolic links below it are passed over, other file systems too; a
 * file with several names counts once. A negative bale_err if nothing is known of path at all. */
int bale_survey(struct bale_survey *survey, const char *path, const struct bale_location *location,
                struct bale_totals *totals);

void bale_survey_end(struct bale_survey *survey);

#endif
