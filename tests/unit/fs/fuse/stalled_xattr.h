/* A store in which reading an extended attribute stalls. One source of a program includes this. */
#ifndef BALE_TESTS_UNIT_FS_FUSE_STALLED_XATTR_H
#define BALE_TESTS_UNIT_FS_FUSE_STALLED_XATTR_H

#include <errno.h>
#include <semaphore.h>
#include <sys/xattr.h>

/* entered is posted when a call has begun, which then waits for go. */
static sem_t entered, go;

/* Takes the place of the C library's: there is no attribute. */
ssize_t getxattr(const char *path, const char *name, void *out, size_t size)
{
    (void)path;
    (void)name;
    (void)out;
    (void)size;
    sem_post(&entered);
    sem_wait(&go);
    errno = ENODATA;
    return -1;
}

#endif
