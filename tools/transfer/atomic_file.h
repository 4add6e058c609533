/* A new file that gets its name only when it is complete. */
#ifndef BALE_TOOLS_TRANSFER_ATOMIC_FILE_H
#define BALE_TOOLS_TRANSFER_ATOMIC_FILE_H

struct bale_atomic_file {
    int dir;
    int fd; /* open for reading and writing */
    char temporary
        [48]; /* its name until then; "" if the file system can create a file without a name */
};

/* The caller keeps dir. 0 or an errno. */
int bale_atomic_file_open(struct bale_atomic_file *file, int dir);
/* Gives the file its name and replaces whatever has that name, except a directory. 0 or an errno;
 * after a failure the file is gone. */
int bale_atomic_file_publish(struct bale_atomic_file *file, const char *name);
/* Closes the file, and removes it if it was not published. */
void bale_atomic_file_close(struct bale_atomic_file *file);

#endif
