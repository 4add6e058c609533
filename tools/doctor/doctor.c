/* balefs doctor: reports what this machine and the file system of a store lack. */
#include "tools/doctor/doctor.h"

#include <stdio.h>

#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/options.h"

static const char help[] =
    "usage: balefs doctor [--gpu] [--json] [STORE]\n"
    "\n"
    "Prints what balefs finds on this machine for this user: versions, kernel, /dev/fuse,\n"
    "fusermount3, user namespaces, limits, log, GPU; and for STORE, a store or a directory\n"
    "that may become one, what its file system lacks, and what clusters have: root squash,\n"
    "noexec, quotas, and what removes old files. Put the output into bug reports.\n"
    "Lines that begin with ! name what will not work, and say what to do. Creates and\n"
    "removes a directory in STORE if it may.\n"
    "\n"
    "      --gpu   also opens the GPU as a mount does, compresses 2 MiB with it, and prints\n"
    "              how long each step took\n"
    "      --json  {\"works\", \"checks\": [{\"name\", \"finding\": \"fine\", \"note\" or\n"
    "              \"bad\", \"found\", \"advice\"}]}\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs doctor\n"
    "  balefs doctor --gpu\n"
    "  balefs doctor --json /scratch | jq .works\n"
    "\n"
    "Exit status: 0 all works, 1 something will not work, 2 wrong usage.\n";

enum { OPTION_JSON = 256, OPTION_GPU };

static const struct option long_options[] = {
    {"gpu", no_argument, NULL, OPTION_GPU},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int doctor_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_doctor doctor = {0};
    bool printed = true;
    int option;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        if (option == OPTION_GPU)
            doctor.open_gpu = true;
        else if (option != OPTION_JSON)
            return bale_options_status(command, option);
        else if (!doctor.json)
            doctor.json = json_array();
    if (argc - optind > 1)
        return bale_usage_error(command, "one STORE at a time");
    bale_doctor_machine(&doctor);
    if (optind < argc)
        bale_doctor_store(&doctor, argv[optind]);
    if (doctor.json) {
        json_t *all = json_object();
        json_object_set_new(all, "works", json_boolean(!doctor.bad));
        json_object_set_new(all, "checks", doctor.json);
        printed = bale_json_print(all);
    }
    return doctor.bad || !printed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

const struct bale_command bale_command_doctor = {
    .name = "doctor",
    .summary = "checks what this machine lacks for balefs",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = doctor_run,
};
