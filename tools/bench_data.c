#include "tools/bench_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/options.h"
#include "tools/pack.h"

ssize_t bale_bench_read(const char *name, uint8_t *bytes, size_t room)
{
    struct stat st;
    struct bale_source source = {.name = name, .fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    ssize_t got;

    if (source.fd < 0) {
        bale_complain("%s: cannot be opened: %s", name, strerror(errno));
        return -1;
    }
    if (fstat(source.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        bale_complain("%s: is a directory: name files in it", name);
        close(source.fd);
        return -1;
    }
    got = bale_source_read(&source, bytes, room);
    close(source.fd);
    return got;
}

void bale_bench_name(const char *name, char *text, size_t size)
{
    const char *slash = strrchr(name, '/');

    bale_clean_text(slash && slash[1] ? slash + 1 : name, text, size);
}
