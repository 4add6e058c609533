/* Adds extended attributes, ACLs and settings to entries of libarchive. */
#ifndef BALE_TOOLS_TRANSFER_TAR_ATTRIBUTES_H
#define BALE_TOOLS_TRANSFER_TAR_ATTRIBUTES_H

#include <archive_entry.h>

#include "fs/container/container.h"
#include "tools/transfer/attributes.h"

/* Adds those of an inode. follow: follows a symbolic link. 0 or an errno. */
int bale_tar_attributes(struct archive_entry *entry, const struct bale_attributes_rules *rules,
                        const char *path, bool follow);

/* Adds the settings of a file, which are in its container, as attributes. */
void bale_tar_settings(struct archive_entry *entry, const struct bale_container_attr *attr);

#endif
