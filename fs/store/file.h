/* Files inside .balefs, and the reasons of failures. Only for fs/store and its tests. */
#ifndef BALE_FS_STORE_FILE_H
#define BALE_FS_STORE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "format/reason.h"

/* Names in .balefs that several sources need. */
#define BALE_LOCK "lock"
#define BALE_VOLUME "volume.json"
#define BALE_VOLUME_COPY "volume-copy.json"
#define BALE_SESSIONS "sessions.json"

#define BALE_JSON_MAX (1u << 20) /* bytes: a longer JSON file is refused */

void bale_text_printable(char *text); /* control characters become '?' */

/* Sets why (may be NULL) to one printable line and returns err. */
int bale_store_fail(struct bale_reason *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a call that failed with errno: "PATH/NAME: cannot be WHAT: ERRNO'S TEXT", with
 * advice for some errors. Returns the bale_err of errno. */
int bale_store_fail_errno(struct bale_reason *why, const char *path, const char *name,
                          const char *what);

/* BALE_E_NOENT and why: path is not a store. */
int bale_store_not_one(const char *path, struct bale_reason *why);

/* Opens an existing regular file of the directory dir. Refuses anything else without opening it. On
 * failure errno is set: ELOOP a symbolic link, EISDIR a directory, EINVAL another type of file. */
int bale_store_file_open(int dir, const char *name, int flags, int *fd);
/* Makes a file of mode 0600, owned by the directory's owner if that is permitted, and opens it for
 * reading and writing. errno EEXIST: there is one. */
int bale_store_file_create(int dir, const char *name, int *fd);
/* Opens .balefs of the directory root, which must be a real directory on the same mount. A caller
 * who may not read it gets it with O_PATH, which is enough to open files in it by name. */
int bale_store_directory_open(int root, int *fd);
/* Opens the directory name in dir with O_PATH, as strictly. */
int bale_store_subdirectory_open(int dir, const char *name, int *fd);
/* Reads a file of at most max bytes; *text is NUL-terminated, and the caller frees it. errno EFBIG:
 * the file is longer; EAGAIN: it is replaced again and again. */
int bale_store_file_read(int dir, const char *name, size_t max, char **text, size_t *length);
/* replace.c */
/* Replaces a file, atomically and durably, by one of mode 0644. spare: NAME.new, the file that it
 * was, stays and takes the next contents, so that a replacement needs no space on a full disk. Only
 * one caller at a time for each name. errno is set on failure. */
int bale_store_file_replace(int dir, const char *name, const char *text, size_t length, bool spare);
int bale_store_file_replace_json(int dir, const char *name, const json_t *json, bool spare);
/* Call it for a new file whose contents are to be replaced in place: where that would need space
 * for a copy (btrfs), makes the file one that is written to in place. */
void bale_store_file_keep_place(int fd);
/* fsync of a directory. A file system that does not know it is assumed not to need it. */
int bale_sync_directory(int fd);
/* Reads a JSON object, which the caller releases. path is the store's, for why. */
int bale_store_file_read_json(int dir, const char *path, const char *name, json_t **json,
                              struct bale_reason *why);

#endif
