/* A new file that shows under its name only when it is whole. */
#ifndef BALE_TOOLS_TRANSFER_ATOMIC_FILE_H
#define BALE_TOOLS_TRANSFER_ATOMIC_FILE_H

struct bale_atomic_file {
    int dir;
    int fd;             /* open for reading and writing */
    char temporary[48]; /* its name till then; "" where a file can be without one */
};

/* dir stays the caller's. 0 or an errno. */
int bale_atomic_file_open(struct bale_atomic_file *file, int dir);
/* Puts it in the place of whatever is called name, but not of a directory. 0 or an errno: then it is
 * gone. */
int bale_atomic_file_publish(struct bale_atomic_file *file, const char *name);
/* Takes it away, if it was not published, and closes it. */
void bale_atomic_file_close(struct bale_atomic_file *file);

#endif
