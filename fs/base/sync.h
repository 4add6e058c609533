/* Making a file durable. */
#ifndef BALE_FS_BASE_SYNC_H
#define BALE_FS_BASE_SYNC_H

/* fsync(2) of a file, which also reaches the file by the name that it has now, whatever name the
 * descriptor was opened by. -1 and errno. */
int bale_sync_file(int fd);

#endif
