/* Walks over trees in mounts and stores and adds up the space that their files take. The walk runs
 * on a thread of its own: while a change of a directory waits for the store or for a thaw, the
 * kernel keeps whoever reads that directory waiting too, and a file is not counted while it is
 * committed. */
#ifndef BALE_TOOLS_INSPECT_SURVEY_H
#define BALE_TOOLS_INSPECT_SURVEY_H

#include <pthread.h>
#include <stdbool.h>

#include "tools/common/inode_set.h"
#include "tools/common/location.h"
#include "tools/common/progress.h"
#include "tools/common/reader.h"
#include "tools/inspect/totals.h"

struct bale_survey {
    struct bale_types *types; /* of all paths; NULL: not requested */
    bool once;                /* all and types count a file once, whatever paths it lies in */
    struct bale_totals all;
    bool failed; /* something could not be read; a message was printed */

    /* The rest is the survey's own. */
    struct bale_progress progress;
    pthread_mutex_t lock; /* guards all, types, failed, and what a walk has counted */
    struct bale_inode_set counted;
    /* The store that is open now; it stays open from path to path. */
    struct bale_reader reader;
    char *store_path;
};

void bale_survey_begin(struct bale_survey *survey);

/* Surveys a file or a directory. The walk skips symbolic links and other file systems; a file with
 * several names counts once. BALE_OK; BALE_E_BUSY, after a message: it waits for what does not
 * come, so that totals lack something, and survey can only be ended; or another negative bale_err,
 * after a message: nothing is known of path. */
int bale_survey_path(struct bale_survey *survey, const char *path, struct bale_totals *totals);

void bale_survey_end(struct bale_survey *survey);

/* Whether a walk goes on that was left behind: then the program must not free what it uses. */
bool bale_survey_hangs(void);

#endif
