/* Syncing a whole tree file by file, where an earlier mount did not end cleanly. */
#ifndef BALE_FS_FUSE_SETTLE_H
#define BALE_FS_FUSE_SETTLE_H

/* fsyncs every regular file and directory of the file system below the directory root (O_PATH).
 * Takes a time for each of them. The log says which cannot be synced. 0 or the first errno. */
int bale_settle_tree(int root);

#endif
