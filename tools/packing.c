#include "tools/packing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/options.h"

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

static bool open_source(const char *name, struct bale_source *source)
{
    *source = (struct bale_source){.fd = STDIN_FILENO, .name = "standard input"};
    if (!is_stdin(name)) {
        source->name = name;
        source->is_file = true;
        source->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (source->fd < 0 || fstat(source->fd, &source->st) != 0) {
        bale_complain("%s: cannot be opened: %s", source->name, strerror(errno));
        return false;
    }
    if (S_ISDIR(source->st.st_mode)) {
        bale_complain("%s: a directory: give files, or pipe tar into balefs compress", name);
        close(source->fd);
        return false;
    }
    return true;
}

static void close_source(struct bale_source *source)
{
    if (source->is_file)
        close(source->fd);
}

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), suffix = strlen(BALE_SUFFIX);
    const char *slash = strrchr(name, '/');
    size_t base = slash ? (size_t)(slash + 1 - name) : 0;

    return length > base + suffix && strcmp(name + length - suffix, BALE_SUFFIX) == 0;
}

/* The output's name beside the input's; the caller's to free. NULL after a message. */
static char *name_beside(const struct bale_packing *packing, const struct bale_source *source)
{
    char *name = NULL;

    if (!S_ISREG(source->st.st_mode)) {
        bale_complain("%s: not a regular file: say with -o or -c where to write", source->name);
    } else if (packing->unpacks && !has_suffix(source->name)) {
        bale_complain("%s: does not end in " BALE_SUFFIX ": say with -o or -c where to write",
                      source->name);
    } else if (!packing->unpacks && !packing->force && has_suffix(source->name)) {
        bale_complain("%s: ends in " BALE_SUFFIX " already: -f compresses it all the same",
                      source->name);
    } else if (packing->unpacks) {
        name = strndup(source->name, strlen(source->name) - strlen(BALE_SUFFIX));
    } else if (asprintf(&name, "%s" BALE_SUFFIX, source->name) < 0) {
        name = NULL;
    }
    return name;
}

static void report(const struct bale_packing *packing, const struct bale_source *source,
                   const struct bale_packed *packed)
{
    char name[4096], raw[BALE_TEXT], stored[BALE_TEXT], ratio[BALE_TEXT];

    if (packing->verbose)
        fprintf(stderr, "%s: %s, compressed %s, ratio %s%s\n",
                bale_clean_text(source->name, name, sizeof name), bale_size_text(packed->raw, raw),
                bale_size_text(packed->stored, stored),
                bale_ratio_text(packed->raw, packed->stored, ratio), packing->test ? ", good" : "");
}

/* path: of the output, NULL for standard output. */
static bool convert(struct bale_packing *packing, const struct bale_source *source,
                    const char *path)
{
    struct bale_target target = {.fd = -1};
    struct bale_target *to = packing->test ? NULL : &target;
    const struct bale_target_rules rules = {
        .sources = &source->st, .count = 1, .replace = packing->force, .holes = packing->unpacks};
    struct bale_packed packed;
    bool good;

    if (to && !bale_target_open(path, &rules, to))
        return false;
    bale_progress_begin(&packing->pack.progress, "");
    good = packing->unpacks ? bale_unpack(&packing->pack, source, to, &packed)
                            : bale_pack(&packing->pack, source, to, &packed);
    bale_progress_end(&packing->pack.progress);
    if (to && good)
        good = bale_target_finish(to, source->is_file ? &source->st : NULL);
    else if (to)
        bale_target_drop(to);
    if (good)
        report(packing, source, &packed);
    return good;
}

/* Nobody wants to see compressed bytes, nor types them. */
static bool shuns_terminal(const struct bale_packing *packing, const struct bale_source *source,
                           const char *path)
{
    if (!packing->unpacks && !path && !packing->force && isatty(STDOUT_FILENO)) {
        bale_complain("standard output is a terminal: say with -o where to write");
        return false;
    }
    if (packing->unpacks && !source->is_file && isatty(STDIN_FILENO)) {
        bale_complain("standard input is a terminal: give a file");
        return false;
    }
    return true;
}

static bool run_one(struct bale_packing *packing, const char *name)
{
    struct bale_source source;
    const char *path = packing->output;
    char *made = NULL;
    bool good = false;

    if (!open_source(name, &source))
        return false;
    if (packing->to_stdout || packing->test || (!path && !source.is_file))
        path = NULL;
    else if (!path)
        path = made = name_beside(packing, &source);
    if ((path || packing->to_stdout || packing->test || !source.is_file) &&
        shuns_terminal(packing, &source, path))
        good = convert(packing, &source, path);
    free(made);
    close_source(&source);
    return good;
}

int bale_packing_run(struct bale_packing *packing, int count, char **names)
{
    static char dash[] = "-";
    char *none[] = {dash};
    int status = BALE_EXIT_DONE;
    int err;

    if (packing->pack.threads == 0)
        packing->pack.threads = bale_cpus();
    err = bale_engine_cpu_create(packing->pack.threads, &packing->pack.engine);
    if (err < 0) {
        bale_complain("%u threads cannot be started: %s: give fewer with --threads",
                      packing->pack.threads, bale_err_text(err));
        return BALE_EXIT_FAILED;
    }
    if (count == 0) {
        count = 1;
        names = none;
    }
    for (int i = 0; i < count; i++)
        if (!run_one(packing, names[i]))
            status = BALE_EXIT_FAILED;
    bale_engine_destroy(packing->pack.engine);
    return status;
}
