/* Opening files that other users may own. */
#ifndef BALE_FS_BASE_OPEN_H
#define BALE_FS_BASE_OPEN_H

/* open(2) of a regular file, with O_CLOEXEC and O_NOCTTY. Does not wait for the holder of a lease
 * (F_SETLEASE in fcntl(2)), whom the kernel gives 45 s: an owner could stop every thread that opens
 * files. -1 and errno; EBUSY: somebody holds a lease. */
int bale_open_now(const char *path, int flags);
int bale_open_now_at(int directory, const char *path, int flags); /* as openat(2) */

#endif
