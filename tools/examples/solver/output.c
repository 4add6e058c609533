#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

static int fail(const char *what, const char *name)
{
    int rc = -errno;
    char text[256];

    snprintf(text, sizeof text, "cannot %s %s", what, name);
    return wave_report(rc, text);
}

int wave_output_open(struct wave_output *out, const char *path)
{
    *out = (struct wave_output){.dir = -1, .path = path};
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return fail("make directory", path);
    out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return out->dir >= 0 ? 0 : fail("open directory", path);
}

void wave_output_close(struct wave_output *out)
{
    if (out->dir >= 0)
        close(out->dir); /* opened for reading only: nothing can be lost here */
    out->dir = -1;
}

int wave_file_create(struct wave_file *f, struct wave_output *out, const char *name,
                     enum wave_file_mode mode)
{
    *f = (struct wave_file){.out = out, .fd = -1};
    snprintf(f->name, sizeof f->name, "%s", name);
    if (mode == WAVE_FILE_REPLACE)
        snprintf(f->temporary, sizeof f->temporary, "%s.part", f->name);
    const char *made = f->temporary[0] ? f->temporary : f->name;
    f->fd = openat(out->dir, made, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return f->fd >= 0 ? 0 : fail("create", made);
}

int wave_file_write(struct wave_file *f, const void *data, size_t length, off_t offset)
{
    const char *p = data;

    while (length > 0) {
        ssize_t n = pwrite(f->fd, p, length, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return fail("write", f->name);
        p += n;
        offset += n;
        length -= (size_t)n;
    }
    if ((uint64_t)offset > f->bytes)
        f->bytes = (uint64_t)offset;
    return 0;
}

int wave_file_read(struct wave_file *f, void *data, size_t length, off_t offset)
{
    char *p = data;

    while (length > 0) {
        ssize_t n = pread(f->fd, p, length, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return fail("read", f->name);
        p += n;
        offset += n;
        length -= (size_t)n;
    }
    return 0;
}

/* After the rename is durable as well, neither name nor content can be lost. */
static int publish(struct wave_file *f)
{
    if (renameat(f->out->dir, f->temporary, f->out->dir, f->name) != 0)
        return fail("rename", f->temporary);
    if (fsync(f->out->dir) != 0)
        return fail("sync the directory of", f->name);
    return 0;
}

int wave_file_finish(struct wave_file *f, int what)
{
    if (f->fd < 0)
        return what;
    int rc = what;
    if (rc == 0 && f->temporary[0] && fsync(f->fd) != 0)
        rc = fail("sync", f->name);
    if (close(f->fd) != 0 && rc == 0)
        rc = fail("close", f->name);
    f->fd = -1;
    if (rc == 0 && f->temporary[0])
        rc = publish(f);
    if (rc != 0 && f->temporary[0])
        unlinkat(f->out->dir, f->temporary, 0); /* another error is already being returned */
    if (rc == 0)
        f->out->bytes += f->bytes;
    return rc;
}
