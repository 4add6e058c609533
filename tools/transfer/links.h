/* Regular files with several names: the first that is met is made, the others are linked to it as
 * soon as it is there. */
#ifndef BALE_TOOLS_TRANSFER_LINKS_H
#define BALE_TOOLS_TRANSFER_LINKS_H

#include "tools/transfer/transfer.h"

/* Called by the walk. True: it is the first name; *link is its. False: the name is taken care of. */
bool bale_link_first(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                     const struct stat *st, struct bale_link **link);

/* The file of the first name is made, or is not. damaged: all its names get BALE_DAMAGED. */
void bale_link_made(struct bale_transfer *transfer, struct bale_link *link, bool made,
                    bool damaged);

void bale_links_clear(struct bale_transfer *transfer);

#endif
