/* Extended attributes, ACLs and settings as libarchive's entries have them. */
#ifndef BALE_TOOLS_TRANSFER_TAR_ATTRIBUTES_H
#define BALE_TOOLS_TRANSFER_TAR_ATTRIBUTES_H

#include <archive_entry.h>

#include "fs/container/container.h"
#include "tools/transfer/attributes.h"

/* Those of an inode. follow: path is not a symbolic link's own. 0 or an errno. */
int bale_tar_attributes(struct archive_entry *entry, const struct bale_attributes_rules *rules,
                        const char *path, bool follow);

/* A file's settings, which lie in its container, as attributes. */
void bale_tar_settings(struct archive_entry *entry, const struct bale_container_attr *attr);

#endif
