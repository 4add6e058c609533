/* Syncing a whole tree file by file, after an earlier mount that did not end cleanly. */
#ifndef BALE_FS_FUSE_SYNC_TREE_H
#define BALE_FS_FUSE_SYNC_TREE_H

/* fsyncs every regular file and directory below the directory root (O_PATH) that is on its file
 * system. The log names each that cannot be synced. 0 or the first errno. */
int bale_sync_tree(int root);
/* The same for any directory that was opened for reading; fd is closed. name: for the log. */
int bale_sync_tree_at(int fd, const char *name);

#endif
