/* Reports the GPU, and what a mount would do with it. The plug-in is queried in a child process,
 * because a driver may hang or end the process. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/engine/timeline.h"
#include "tools/common/size.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/gpu_opening.h"

#define PATIENCE_S 20 /* a driver without persistence mode takes seconds for each device */

/* The plug-in's answer. */
struct answer {
    int err; /* of loading the plug-in, or of its query */
    struct bale_reason why;
    char file[PATH_MAX]; /* the plug-in; "": there is none that can be used */
    struct bale_gpu_found found;
    struct bale_doctor_opening opening; /* only if it was asked for */
};

enum outcome { ANSWERED, SILENT, DIED };

static void __attribute__((noreturn)) be_child(int fd, bool open_it, struct answer *answer)
{
    uint64_t begin_ns = bale_clock_ns();
    const struct bale_gpu *gpu;
    Dl_info info;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
    (void)dup2(STDOUT_FILENO, STDERR_FILENO);
    bale_plugin_set_environment();
    answer->err = bale_plugin_load(NULL, &gpu, &answer->why);
    if (answer->err == BALE_OK) {
        bool known = dladdr(gpu, &info) && info.dli_fname;
        snprintf(answer->file, sizeof answer->file, "%s",
                 known ? info.dli_fname : BALE_GPU_LIBRARY);
        if (open_it)
            bale_doctor_open_gpu(gpu, begin_ns, &answer->opening);
        answer->err = gpu->find(&answer->found, &answer->why);
    }
    _exit(write(fd, answer, sizeof *answer) != (ssize_t)sizeof *answer);
}

static int milliseconds_left(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t gone = (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
    return gone < PATIENCE_S * 1000 ? (int)(PATIENCE_S * 1000 - gone) : 0;
}

static enum outcome read_answer(int fd, struct answer *answer)
{
    struct pollfd said = {.fd = fd, .events = POLLIN};
    struct timespec start;
    size_t used = 0;
    ssize_t got = 1;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (used < sizeof *answer && got > 0) {
        int ready = poll(&said, 1, milliseconds_left(&start));
        if (ready == 0)
            return SILENT;
        if (ready > 0 && (got = read(fd, (char *)answer + used, sizeof *answer - used)) > 0)
            used += (size_t)got;
    }
    return used == sizeof *answer ? ANSWERED : DIED;
}

/* Does not wait for the child: if it hangs in the kernel, it would not even die of SIGKILL. */
static enum outcome query_plugin(bool open_it, struct answer *answer)
{
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) != 0)
        return SILENT;
    pid_t child = fork();
    if (child == 0)
        be_child(pipes[1], open_it, answer);
    close(pipes[1]);
    enum outcome outcome = child > 0 ? read_answer(pipes[0], answer) : SILENT;
    close(pipes[0]);
    if (child > 0)
        kill(child, SIGKILL);
    return outcome;
}

/* True if there is a driver. */
static bool report_driver(struct bale_doctor *doctor)
{
    char version[256] = "", path[32];
    unsigned devices = 0, usable = 0;
    FILE *file = fopen("/proc/driver/nvidia/version", "re");

    if (file && fgets(version, sizeof version, file))
        version[strcspn(version, "\n")] = '\0';
    if (file)
        fclose(file);
    for (unsigned i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/dev/nvidia%u", i);
        devices += access(path, F_OK) == 0;
        usable += access(path, R_OK | W_OK) == 0;
    }
    if (version[0] || devices)
        bale_doctor_report(doctor, "GPU", BALE_FINDING_FINE, NULL,
                           "%s; %u devices, %u for this user",
                           version[0] ? version : "NVIDIA, no driver", devices, usable);
    else
        bale_doctor_report(doctor, "GPU", BALE_FINDING_NOTE, NULL,
                           "no NVIDIA driver here%s: the CPU compresses",
                           access("/dev/kfd", F_OK) == 0 ? ", but an AMD one" : "");
    return version[0] || devices;
}

static void no_plugin(struct bale_doctor *doctor, const struct answer *answer, bool has_driver)
{
    const char *advice =
        answer->err != BALE_E_NOENT ? "install the one that was built with this program, or none"
        : has_driver ? "build balefs with -DBALEFS_CUDA=on; it is looked for in ../lib/balefs from "
                       "the program, and where the system has its libraries"
                     : NULL;

    bale_doctor_report(doctor, "GPU engine", BALE_FINDING_NOTE, advice, "%s", answer->why.text);
}

static void report_devices(struct bale_doctor *doctor, const struct bale_gpu_found *found)
{
    static const char *const modes[] = {"default", "exclusive", "prohibited"};

    for (unsigned i = 0; i < found->device_count; i++) {
        const struct bale_gpu_device *device = &found->devices[i];
        char name[32], memory[BALE_TEXT], left[BALE_TEXT] = "unknown how much";
        if (device->free != UINT64_MAX)
            bale_size_text(device->free, left);
        snprintf(name, sizeof name, "GPU %u", i);
        bale_doctor_report(doctor, name, device->mode ? BALE_FINDING_NOTE : BALE_FINDING_FINE, NULL,
                           "%s, %s of memory, %s free, compute mode %s", device->name,
                           bale_size_text(device->memory, memory), left, modes[device->mode]);
    }
}

/* An option that makes a mount use the GPU, or NULL. */
static const char *advice_for(const struct answer *answer, const struct bale_gpu_device *chosen)
{
    if (answer->err == BALE_E_NOMEM)
        return "mount with a smaller -o gpu-memory, or with -o engine=gpu";
    return chosen->mode == BALE_GPU_EXCLUSIVE ? "-o engine=gpu uses it anyway" : NULL;
}

/* Prints "store, lz4, zstd to level 3, gpulz". zero is left out: it is detected with the others. */
static void report_codecs(struct bale_doctor *doctor, const struct bale_gpu_found *found)
{
    char text[BALE_REASON_SIZE] = "";
    size_t length = 0, count;

    for (uint8_t id = 0; id < 32 && length < sizeof text; id++) {
        const struct bale_codec_about *codec = bale_codec_about(id);
        if (!codec || !(found->codecs >> id & 1) || id == BALE_CODEC_ZERO)
            continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                   length > 0 ? ", " : "", codec->name);
        if (codec->most < INT16_MAX && length < sizeof text)
            length += (size_t)snprintf(text + length, sizeof text - length, " to %s %d",
                                       bale_codec_options(id, &count)->key, codec->most);
    }
    if (length > 0 && found->device_count > 0)
        bale_doctor_report(doctor, "codecs of GPUs", BALE_FINDING_FINE, NULL, "%s", text);
}

/* Reports what engine=auto would do, and why. */
static void report_engine(struct bale_doctor *doctor, const struct answer *answer)
{
    const struct bale_gpu_found *found = &answer->found;
    unsigned ordinal = found->chosen < found->device_count ? found->chosen : 0;
    const struct bale_gpu_device *chosen = &found->devices[ordinal];

    if (answer->err == BALE_OK)
        bale_doctor_report(doctor, "GPU engine", BALE_FINDING_FINE, NULL,
                           "%s: engine=auto takes GPU %u, %s, for what it does faster",
                           answer->file, ordinal, chosen->name);
    else
        bale_doctor_report(doctor, "GPU engine", BALE_FINDING_NOTE, advice_for(answer, chosen),
                           "%s: engine=auto leaves everything to the CPU: %s", answer->file,
                           answer->why.text[0] ? answer->why.text : bale_err_text(answer->err));
    report_devices(doctor, found);
    report_codecs(doctor, found);
    if (found->missing.text[0] && found->device_count > 0)
        bale_doctor_report(
            doctor, "nvCOMP", BALE_FINDING_NOTE,
            "pip install nvidia-libnvcomp-cu13, and put its libnvcomp.so.6 where the "
            "system has its libraries, or beside the engine",
            "%s: zstd and lz4 stay on the CPU", found->missing.text);
    else if (found->device_count > 0)
        bale_doctor_report(doctor, "nvCOMP", BALE_FINDING_FINE, NULL,
                           "found: the GPU does zstd and lz4");
}

/* Reports how long a mount would wait for the GPU. */
static void report_opening(struct bale_doctor *doctor, const struct answer *answer)
{
    const struct bale_doctor_opening *opening = &answer->opening;
    char text[BALE_TIMELINE_TEXT];

    if (opening->err == BALE_OK)
        bale_doctor_report(doctor, "GPU opening", BALE_FINDING_FINE, NULL, "%s",
                           bale_timeline_text(&opening->timeline, text));
    else
        bale_doctor_report(doctor, "GPU opening", BALE_FINDING_NOTE, NULL, "it does not open: %s",
                           opening->why.text[0] ? opening->why.text : bale_err_text(opening->err));
}

void bale_doctor_gpu(struct bale_doctor *doctor)
{
    struct answer answer = {0};
    bool has_driver = report_driver(doctor);
    enum outcome outcome = query_plugin(doctor->open_gpu, &answer);

    if (outcome == SILENT)
        bale_doctor_report(doctor, "GPU engine", BALE_FINDING_NOTE,
                           "see the kernel's log; -o engine=cpu leaves the GPU alone",
                           "the driver does not answer within %d s", PATIENCE_S);
    else if (outcome == DIED)
        bale_doctor_report(doctor, "GPU engine", BALE_FINDING_BAD,
                           "mount with -o engine=cpu, or remove " BALE_GPU_LIBRARY,
                           "the process that queried the GPU crashed");
    else if (!answer.file[0])
        no_plugin(doctor, &answer, has_driver);
    else
        report_engine(doctor, &answer);
    if (doctor->open_gpu && outcome == ANSWERED && answer.file[0])
        report_opening(doctor, &answer);
}
