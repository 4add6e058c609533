/* Regular files with several names: the first name that is found is copied, and the others are
 * linked to it when the copy is complete. */
#ifndef BALE_TOOLS_TRANSFER_LINKS_H
#define BALE_TOOLS_TRANSFER_LINKS_H

#include "tools/transfer/transfer.h"

/* Called by the walk. True: it is the first name, and *link is set. False: nothing is left to do
 * for this name. */
bool bale_link_first(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                     const struct stat *st, struct bale_link **link);

/* Called when the file of the first name is complete, or failed. damaged: all its names get
 * BALE_DAMAGED. */
void bale_link_made(struct bale_transfer *transfer, struct bale_link *link, bool made,
                    bool damaged);

/* For a move (else it does nothing): this name of the link has its copy. The file is removed once
 * all of its names have, unless one of them is not whole. */
void bale_link_move(struct bale_transfer *transfer, struct bale_link *link,
                    struct bale_tree_dir *dir, const char *name, bool whole);

/* Another name of a file of a move was changed by this walk, which gave the file a new ctime, that
 * of st. */
void bale_link_renamed(struct bale_transfer *transfer, const struct stat *st);

/* Tells which files are not removed because they have names that the walk did not find. */
void bale_links_clear(struct bale_transfer *transfer);

#endif
