#include "tools/stream/packing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/plugin_loader.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/common/relative.h"
#include "tools/common/size.h"

/* for engine auto: the CPU converts about so much while a GPU is opened */
#define GPU_AFTER ((uint64_t)1 << 30)

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* beside: the output goes beside the source, which must then be a regular file. A fifo in its place
 * must not keep this process waiting for a writer. */
static bool open_source(const char *name, bool beside, struct bale_source *source)
{
    *source = (struct bale_source){.fd = STDIN_FILENO, .name = "standard input"};
    if (!is_stdin(name)) {
        source->name = name;
        source->is_file = true;
        source->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | (beside ? O_NONBLOCK : 0));
    }
    if (source->fd < 0 || fstat(source->fd, &source->st) != 0) {
        bale_message("%s: cannot be opened: %s", source->name, strerror(errno));
        return false;
    }
    if (S_ISDIR(source->st.st_mode)) {
        bale_message("%s: a directory: give files, or pipe tar into balefs compress", name);
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

/* The name of the output beside the input; the caller frees it. NULL after a message. */
static char *name_beside(const struct bale_packing *packing, const struct bale_source *source)
{
    char *name = NULL;

    if (!S_ISREG(source->st.st_mode))
        bale_message("%s: not a regular file: give -o or -c", source->name);
    else if (packing->unpacks && !has_suffix(source->name))
        bale_message("%s: does not end in " BALE_SUFFIX ": give -o or -c", source->name);
    else if (!packing->unpacks && !packing->force && has_suffix(source->name))
        bale_message("%s: ends in " BALE_SUFFIX " already: -f compresses it anyway", source->name);
    else if (packing->unpacks)
        name = strndup(source->name, strlen(source->name) - strlen(BALE_SUFFIX));
    else if (asprintf(&name, "%s" BALE_SUFFIX, source->name) < 0)
        name = NULL;
    return name;
}

static void report(const struct bale_packing *packing, const struct bale_source *source,
                   const struct bale_packed *packed)
{
    char name[4096], raw[BALE_TEXT], stored[BALE_TEXT], ratio[BALE_TEXT];

    if (packed->bound > 0)
        bale_message("%s: rounded, each element by %.9g at most", source->name, packed->bound);
    if (packing->verbose)
        fprintf(stderr, "%s: %s, compressed %s, ratio %s%s\n",
                bale_clean_text(source->name, name, sizeof name), bale_size_text(packed->raw, raw),
                bale_size_text(packed->stored, stored),
                bale_ratio_text(packed->raw, packed->stored, ratio), packing->test ? ", good" : "");
}

/* Gives a relative bound the source's range. False after a message. */
static bool find_range(struct bale_packing *packing, const struct bale_source *source)
{
    struct bale_reason why;

    switch (
        bale_relative_setting(source->fd, packing->relative, NULL, &packing->pack.setting, &why)) {
    case BALE_RELATIVE_BOUND:
        return true;
    case BALE_RELATIVE_EXACT:
        bale_message("%s: stored without loss: %s", source->name, why.text);
        return true;
    default:
        bale_message("%s: %s", source->name, why.text);
        return false;
    }
}

static bool pack(struct bale_packing *packing, const struct bale_source *source,
                 struct bale_output *output, struct bale_packed *packed)
{
    const struct bale_setting said = packing->pack.setting;
    const bool good = (packing->relative == 0 || find_range(packing, source)) &&
                      bale_pack(&packing->pack, source, output, packed);

    packing->pack.setting = said;
    return good;
}

/* path: the output, or NULL for standard output. beside: the path was made from the source's. */
static bool convert(struct bale_packing *packing, const struct bale_source *source,
                    const char *path, bool beside)
{
    struct bale_output output = {.fd = -1};
    struct bale_output *to = packing->test ? NULL : &output;
    const struct bale_output_rules rules = {.sources = &source->st,
                                            .count = 1,
                                            .replace = packing->force,
                                            .holes = packing->unpacks,
                                            .beside = beside};
    struct bale_packed packed;
    bool good;

    if (to && !bale_output_open(path, &rules, to))
        return false;
    bale_progress_begin(&packing->pack.progress, "");
    good = packing->unpacks ? bale_unpack(&packing->pack, source, to, &packed)
                            : pack(packing, source, to, &packed);
    bale_progress_end(&packing->pack.progress);
    if (to && good)
        good = bale_output_finish(to, source->is_file ? &source->st : NULL);
    else if (to)
        bale_output_drop(to);
    if (good)
        report(packing, source, &packed);
    return good;
}

/* Refuses to print compressed bytes to a terminal, or to read them from one, after a message. */
static bool shuns_terminal(const struct bale_packing *packing, const struct bale_source *source,
                           const char *path)
{
    if (!packing->unpacks && !path && !packing->force && isatty(STDOUT_FILENO)) {
        bale_message("standard output is a terminal: give -o FILE");
        return false;
    }
    if (packing->unpacks && !source->is_file && isatty(STDIN_FILENO)) {
        bale_message("standard input is a terminal: give a file");
        return false;
    }
    return true;
}

static bool run_one(struct bale_packing *packing, const char *name)
{
    struct bale_source source;
    const char *path = packing->output;
    char *made = NULL;
    bool beside = !path && !packing->to_stdout && !packing->test && !is_stdin(name);
    bool good = false;

    if (!open_source(name, beside, &source))
        return false;
    if (packing->to_stdout || packing->test)
        path = NULL;
    else if (beside)
        path = made = name_beside(packing, &source);
    if ((path || packing->to_stdout || packing->test || !source.is_file) &&
        shuns_terminal(packing, &source, path))
        good = convert(packing, &source, path, beside);
    free(made);
    close_source(&source);
    return good;
}

static void log_gpu(int level, const char *text)
{
    if (level == BALE_GPU_ERROR)
        bale_message("%s", text);
}

static void gpu_opened(void *pack)
{
    struct bale_staging *staging = ((struct bale_pack *)pack)->staging;

    bale_staging_pin(staging, bale_staging_size(staging));
}

/* True if this user owns all files that are decompressed. A pipe may come from anybody. */
static bool is_ours(int count, char **names)
{
    struct stat st;

    for (int i = 0; i < count; i++) {
        int err = is_stdin(names[i]) ? fstat(STDIN_FILENO, &st) : stat(names[i], &st);
        if (err == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
            return false;
    }
    return true;
}

static int create_dispatcher(struct bale_packing *packing, bool untrusted)
{
    struct bale_pack *pack = &packing->pack;
    struct bale_dispatch_options options = {.threads = pack->threads,
                                            .choice = packing->engine,
                                            .untrusted_input = untrusted,
                                            .gpu = {.verify = true, .log = log_gpu},
                                            .opened = gpu_opened,
                                            .arg = pack};
    int err;

    bale_plugin_set_environment();
    err = bale_dispatch_create(&options, &pack->engine);
    if (err < 0)
        return err;
    pack->gpu_after = GPU_AFTER;
    err = bale_staging_create(pack->engine, BALE_STAGING_DEFAULT, &pack->staging);
    if (err < 0)
        bale_engine_destroy(pack->engine);
    return err;
}

/* The user asked for a GPU: opens it, or prints a message that says why that failed. */
static bool insist_on_gpu(struct bale_pack *pack)
{
    struct bale_reason why;

    pack->gpu_after = 0;
    bale_dispatch_open(pack->engine);
    if (bale_dispatch_wait(pack->engine, BALE_DISPATCH_PATIENCE_MS, &why) == BALE_OK)
        return true;
    bale_message("--engine gpu: %s: balefs doctor shows what this machine lacks", why.text);
    return false;
}

static bool open_engine(struct bale_packing *packing, bool untrusted)
{
    struct bale_pack *pack = &packing->pack;
    int err;

    if (pack->threads == 0)
        pack->threads = bale_cpus();
    err = packing->engine == BALE_ENGINE_CPU ? bale_engine_cpu_create(pack->threads, &pack->engine)
                                             : create_dispatcher(packing, untrusted);
    if (err == BALE_OK)
        return true;
    bale_message("%u threads cannot be started: %s: give fewer with --threads", pack->threads,
                 bale_err_text(err));
    return false;
}

static void close_engine(struct bale_pack *pack)
{
    bool touched = pack->staging && bale_staging_is_touched(pack->staging);

    bale_engine_destroy(pack->engine);
    bale_staging_destroy(pack->staging, touched);
}

int bale_packing_run(struct bale_packing *packing, int count, char **names)
{
    static char dash[] = "-";
    char *none[] = {dash};
    int status = BALE_EXIT_DONE;

    if (count == 0) {
        count = 1;
        names = none;
    }
    if (!open_engine(packing, packing->unpacks && !is_ours(count, names)))
        return BALE_EXIT_FAILED;
    if (packing->engine == BALE_ENGINE_GPU && !insist_on_gpu(&packing->pack)) {
        count = 0;
        status = BALE_EXIT_FAILED;
    }
    for (int i = 0; i < count; i++)
        if (!run_one(packing, names[i]))
            status = BALE_EXIT_FAILED;
    close_engine(&packing->pack);
    return status;
}
