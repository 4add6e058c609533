#include "tools/mount/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/common/gpu_options.h"
#include "tools/common/options.h"
#include "tools/common/size.h"

#define MEMORY_MIN (32u << 20)
#define THREADS_MAX 4096
#define AGE_MAX 5.0
#define IDLE_MAX (7u * 24 * 3600)

/* Options that are passed to the kernel or to fusermount3. */
static const char *const for_kernel[] = {
    "dev",        "nodev",       "suid",         "nosuid",      "exec",        "noexec",
    "atime",      "noatime",     "diratime",     "nodiratime",  "sync",        "async",
    "dirsync",    "relatime",    "norelatime",   "strictatime", "max_read=",   "context=",
    "fscontext=", "defcontext=", "rootcontext=", "symfollow",   "nosymfollow",
};

#define MISSING "its value is missing"

/* True if word is name or, if name ends with '=', begins with it. */
static bool is_word(const char *word, const char *name, const char **value)
{
    size_t length = strlen(name);

    *value = NULL;
    if (name[length - 1] != '=')
        return strcmp(word, name) == 0;
    *value = word + length;
    return strncmp(word, name, length) == 0;
}

static int refuse(struct bale_reason *why, const char *word, const char *must)
{
    bale_reason_set(why, "-o %s: %s", word, must);
    return BALE_E_INVALID;
}

static int pass_on(struct bale_mount_words *words, const char *word, struct bale_reason *why)
{
    size_t used = strlen(words->extra);
    int length =
        snprintf(words->extra + used, sizeof words->extra - used, "%s%s", used ? "," : "", word);

    words->options.extra = words->extra;
    return (size_t)length < sizeof words->extra - used ? BALE_OK
                                                       : refuse(why, word, "too many options");
}

static int take_memory(struct bale_mount_options *options, const char *word, const char *value,
                       struct bale_reason *why)
{
    if (!bale_size_parse(value, &options->memory) || options->memory < MEMORY_MIN)
        return refuse(why, word, "give a size of 32M or more");
    return BALE_OK;
}

static int take_threads(struct bale_mount_options *options, const char *word, const char *value,
                        struct bale_reason *why)
{
    uint64_t count;

    if (!bale_count_parse(value, 1, THREADS_MAX, &count))
        return refuse(why, word, "give a whole number from 1 to 4096");
    options->threads = (unsigned)count;
    return BALE_OK;
}

static int take_age(struct bale_mount_options *options, const char *word, const char *value,
                    struct bale_reason *why)
{
    char *end;
    double seconds = strtod(value, &end);

    if (*end || !(seconds >= 0.1 && seconds <= AGE_MAX))
        return refuse(why, word, "give seconds from 0.1 to 5");
    options->age_ms = (unsigned)(seconds * 1000);
    return BALE_OK;
}

static int take_idle(struct bale_mount_options *options, const char *word, const char *value,
                     struct bale_reason *why)
{
    uint64_t seconds;

    if (!bale_seconds_parse(value, IDLE_MAX, &seconds) || seconds == 0)
        return refuse(why, word, "give a time, as 90, 30s, 10m or 2h");
    options->idle = (unsigned)seconds;
    return BALE_OK;
}

static int take_log_level(struct bale_mount_options *options, const char *word, const char *value,
                          struct bale_reason *why)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};

    for (int i = 0; i < 4; i++)
        if (strcmp(value, names[i]) == 0) {
            options->log_least = (enum bale_level)i;
            return BALE_OK;
        }
    return refuse(why, word, "it is error, warning, info or debug");
}

static int take_takeover(struct bale_mount_options *options, const char *word, const char *value,
                         struct bale_reason *why)
{
    if (strlen(value) >= sizeof options->takeover)
        return refuse(why, word, "give the boot id that the refusal of the mount names");
    snprintf(options->takeover, sizeof options->takeover, "%s", value);
    return BALE_OK;
}

static int take_io(struct bale_mount_options *options, const char *word, const char *value,
                   struct bale_reason *why)
{
    options->direct = strcmp(value, "direct") == 0;
    return options->direct || strcmp(value, "cached") == 0
               ? BALE_OK
               : refuse(why, word, "it is cached or direct");
}

static int take_engine(struct bale_mount_options *options, const char *word, const char *value,
                       struct bale_reason *why)
{
    const char *wrong = bale_engine_choice_parse(value, &options->engine.choice);

    return wrong ? refuse(why, word, wrong) : BALE_OK;
}

static int add_gpu(struct bale_mount_options *options, const char *number, struct bale_reason *why)
{
    const char *wrong = bale_gpu_number_add(&options->engine.gpu, number);
    char word[64];

    snprintf(word, sizeof word, "gpu=%s", number);
    return wrong ? refuse(why, word, wrong) : BALE_OK;
}

static int take_gpu(struct bale_mount_options *options, const char *word, const char *value,
                    struct bale_reason *why)
{
    (void)word;
    options->engine.gpu.device_count = 0;
    return add_gpu(options, value, why);
}

static int take_gpu_memory(struct bale_mount_options *options, const char *word, const char *value,
                           struct bale_reason *why)
{
    const char *wrong = bale_gpu_memory_parse(&options->engine.gpu, value);

    return wrong ? refuse(why, word, wrong) : BALE_OK;
}

static int take_gpu_idle(struct bale_mount_options *options, const char *word, const char *value,
                         struct bale_reason *why)
{
    uint64_t seconds;

    if (!bale_seconds_parse(value, IDLE_MAX, &seconds) || seconds == 0)
        return refuse(why, word, "give a time from 1s to 168h");
    options->engine.gpu.release_ms = (unsigned)(seconds * 1000);
    return BALE_OK;
}

static int take_verify(struct bale_mount_options *options, const char *word, const char *value,
                       struct bale_reason *why)
{
    bool verify;
    const char *wrong = bale_gpu_verify_parse(&verify, value);

    options->unverified = !verify;
    return wrong ? refuse(why, word, wrong) : BALE_OK;
}

static int take_own(struct bale_mount_options *options, const char *word, const char *value,
                    struct bale_reason *why)
{
    (void)options;
    (void)value;
    return refuse(why, word, "balefs sets this itself, to the store and to balefs: leave it out");
}

/* Explains where codec and extent size are set, because they belong to the store. how: the option
 * as it was given. */
static void explain_setting(struct bale_reason *why, const char *how, bool codec, const char *value)
{
    bale_reason_set(why,
                    "%s: a mount has no %s of its own: balefs init --%s %s makes a store with it, "
                    "balefs set %s%s%s sets it in a mount",
                    how, codec ? "codec" : "extent size", codec ? "codec" : "extent", value,
                    codec ? "MNT " : "--extent ", value, codec ? "" : " MNT");
}

int bale_mount_setting_error(const struct bale_command *command, bool codec, const char *value)
{
    struct bale_reason why;
    char how[BALE_TEXT * 4];

    snprintf(how, sizeof how, "--%s %s", codec ? "codec" : "extent", value);
    explain_setting(&why, how, codec, value);
    return bale_usage_error(command, "%s", why.text);
}

static int take_setting(struct bale_mount_options *options, const char *word, const char *value,
                        struct bale_reason *why)
{
    char how[BALE_TEXT * 4];

    (void)options;
    snprintf(how, sizeof how, "-o %s", word);
    explain_setting(why, how, *word == 'c', value);
    return BALE_E_INVALID;
}

static int take_set_id(struct bale_mount_options *options, const char *word, const char *value,
                       struct bale_reason *why)
{
    (void)value;
    options->set_id = true;
    return geteuid() == 0 ? BALE_OK
                          : refuse(why, word, "only a mount of root hides them: leave it out");
}

static int take_flag(struct bale_mount_options *options, const char *word, const char *value,
                     struct bale_reason *why)
{
    (void)value;
    (void)why;
    if (strcmp(word, "ro") == 0 || strcmp(word, "rw") == 0)
        options->read_only = word[1] == 'o';
    else if (strcmp(word, "allow_other") == 0)
        options->allow_other = true;
    else if (strcmp(word, "create") == 0)
        options->create = true;
    else if (strcmp(word, "auto_unmount") == 0)
        options->auto_unmount = true;
    else if (strcmp(word, "untrusted") == 0)
        options->trust = BALE_UNTRUSTED;
    else if (strcmp(word, "trusted") == 0)
        options->trust = BALE_TRUSTED;
    return BALE_OK; /* defaults and default_permissions are always on */
}

static const struct {
    const char *name;
    int (*take)(struct bale_mount_options *options, const char *word, const char *value,
                struct bale_reason *why);
} ours[] = {
    {"ro", take_flag},
    {"rw", take_flag},
    {"allow_other", take_flag},
    {"default_permissions", take_flag},
    {"defaults", take_flag},
    {"create", take_flag},
    {"untrusted", take_flag},
    {"trusted", take_flag},
    {"set_id", take_set_id},
    {"auto_unmount", take_flag},
    {"codec=", take_setting},
    {"extent=", take_setting},
    {"takeover=", take_takeover},
    {"io=", take_io},
    {"memory=", take_memory},
    {"threads=", take_threads},
    {"engine=", take_engine},
    {"gpu=", take_gpu},
    {"gpu-memory=", take_gpu_memory},
    {"gpu-idle=", take_gpu_idle},
    {"verify=", take_verify},
    {"age=", take_age},
    {"idle=", take_idle},
    {"log_level=", take_log_level},
    {"fsname=", take_own},
    {"subtype=", take_own},
};

static int check_access(struct bale_mount_words *words, const char *word, struct bale_reason *why)
{
    words->ro |= strcmp(word, "ro") == 0;
    words->rw |= strcmp(word, "rw") == 0;
    return words->ro && words->rw
               ? refuse(why, word, "ro and rw contradict each other: leave one out")
               : BALE_OK;
}

/* In gpu=0,1 the comma belongs to the value. */
static bool goes_on(const struct bale_mount_words *words, const char *word)
{
    return words->in_gpu && *word >= '0' && *word <= '9';
}

static int take_word(struct bale_mount_words *words, const char *word, struct bale_reason *why)
{
    const char *value;

    if (goes_on(words, word))
        return add_gpu(&words->options, word, why);
    words->in_gpu = is_word(word, "gpu=", &value);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (is_word(word, ours[i].name, &value)) {
            int err = value && !*value ? refuse(why, word, MISSING)
                                       : ours[i].take(&words->options, word, value, why);
            return err == BALE_OK ? check_access(words, word, why) : err;
        }
    for (size_t i = 0; i < sizeof for_kernel / sizeof *for_kernel; i++)
        if (is_word(word, for_kernel[i], &value))
            return value && !*value ? refuse(why, word, MISSING) : pass_on(words, word, why);
    return refuse(why, word, "unknown option");
}

int bale_mount_words(struct bale_mount_words *words, char *text, struct bale_reason *why)
{
    char *word;
    int err = BALE_OK;

    words->in_gpu = false;
    while (err == BALE_OK && (word = strsep(&text, ",")))
        if (*word)
            err = take_word(words, word, why);
    return err;
}
