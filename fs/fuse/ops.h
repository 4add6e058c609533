/* The handlers of this room. fs/daemon/negotiate.c puts them into libfuse's table;
 * fuse_lowlevel.h says what each does. They run in the session's threads, without locks. The
 * arguments are valid until the handler returns; each request gets exactly one reply, then or
 * later, from any thread. */
#ifndef BALE_FS_FUSE_OPS_H
#define BALE_FS_FUSE_OPS_H

#include <fuse_lowlevel.h>

#define BALE_DIRECTORY_BYTES 32768u /* of memory, for an open directory that is kept open */

/* lookup.c */
void bale_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void bale_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups);
void bale_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
/* attr.c, setattr.c */
void bale_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void bale_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                     struct fuse_file_info *fi);
void bale_op_statfs(fuse_req_t req, fuse_ino_t ino);
/* dir.c */
void bale_op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void bale_op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                     struct fuse_file_info *fi);
void bale_op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                         struct fuse_file_info *fi);
void bale_op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* One more reference to the open directory of a request; false: it is closed. And one less. */
bool bale_directory_ref(uint64_t handle);
void bale_directory_unref(uint64_t handle);
void bale_op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
/* open.c, create.c */
void bale_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void bale_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void bale_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                    struct fuse_file_info *fi);
void bale_op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi);
void bale_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
/* data.c, write.c, seek.c, copy_range.c */
void bale_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                  struct fuse_file_info *fi);
void bale_op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                   struct fuse_file_info *fi);
void bale_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void bale_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void bale_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                       struct fuse_file_info *fi);
void bale_op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                             struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                             struct fuse_file_info *fi_out, size_t length, int flags);
void bale_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
                   struct fuse_file_info *fi);
/* names.c, rename.c */
void bale_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void bale_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void bale_op_readlink(fuse_req_t req, fuse_ino_t ino);
void bale_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void bale_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void bale_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                    const char *new_name, unsigned flags);
void bale_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name);
/* xattr.c, xattr_set.c */
void bale_op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                      size_t size, int flags);
void bale_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void bale_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void bale_op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
/* After the last request: closes the directories that the kernel has not released. */
void bale_directories_close_all(void);

#endif
