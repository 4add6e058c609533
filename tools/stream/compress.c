/* balefs compress and balefs decompress: convert files and pipes. */
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/gpu_options.h"
#include "tools/common/options.h"
#include "tools/common/size.h"
#include "tools/stream/packing.h"

static const char compress_help[] =
    "usage: balefs compress [OPTIONS] [FILE...]\n"
    "\n"
    "Compresses FILE to FILE.bale, and leaves FILE as it is; without FILE, or with -,\n"
    "standard input to standard output. The new file has mode, times and, as far as\n"
    "allowed, the owner of FILE, and appears when it is complete. The outputs of several\n"
    "commands may be joined with cat. Nothing is written into the directory of a store.\n"
    "With cusz, elements change within the bound; files that are no arrays stay exact. Of\n"
    "rel=E without range= the bound is E times the range of the finite values in FILE, a\n"
    "regular file, which is then read twice.\n"
    "\n"
    "  -o, --output FILE    writes to FILE\n"
    "  -c, --stdout         writes to standard output\n"
    "  -f, --force          replaces existing files; writes to a terminal; compresses files\n"
    "                       that end in .bale\n"
    "      --codec CODEC    {codecs}\n"
    "                       [auto] (balefs help codecs). There is no short -c for it: it is\n"
    "                       short for --stdout here, as with gzip\n"
    "  -e, --extent SIZE    bytes that become one frame [128K; with a codec for arrays 1M]:\n"
    "                       16K to 64M, in steps of 4K\n"
    "      --chunk SIZE     bytes of a frame compressed together [64K]: 4K to 64M, a power\n"
    "                       of two; more gives smaller files\n"
    "  -j, --threads N      uses N threads [as many as there are CPUs]\n"
    "      --engine ENGINE  compresses with: cpu, gpu, or auto, the faster one [cpu]. The CPU\n"
    "                       does what a GPU cannot do\n"
    "  -v, --verbose        prints the result for each file\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs compress --codec zstd:9 out.dat\n"
    "  tar -c run1 | balefs compress > run1.tar.bale\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

static const char decompress_help[] =
    "usage: balefs decompress [OPTIONS] [FILE...]\n"
    "\n"
    "Decompresses FILE.bale to FILE, and leaves FILE.bale as it is; without FILE, or with -,\n"
    "standard input to standard output. The new file has mode, times and, as far as\n"
    "allowed, the owner of FILE.bale, and appears when it is complete; zeros in it become\n"
    "holes. Every byte is checked. Nothing is written into the directory of a store.\n"
    "\n"
    "  -o, --output FILE  writes to FILE\n"
    "  -c, --stdout       writes to standard output, including what comes before damage\n"
    "  -t, --test         writes nothing, but checks that the files are complete and good\n"
    "  -f, --force        replaces existing files\n"
    "  -j, --threads N    uses N threads [as many as there are CPUs]\n"
    "      --engine ENGINE\n"
    "                     decompresses with: cpu, gpu, or auto, the faster one [cpu]. The CPU\n"
    "                     does what a GPU cannot do, and zstd and lz4 from pipes and from\n"
    "                     files of other users, which are kept from NVIDIA's decoders\n"
    "  -v, --verbose      prints the result for each file\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs decompress out.dat.bale\n"
    "  balefs decompress -c run1.tar.bale | tar -x\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_CODEC = 256, OPTION_CHUNK, OPTION_ENGINE };

static const char compress_shorts[] = ":o:cfe:j:vh";
static const struct option compress_longs[] = {
    {"output", required_argument, NULL, 'o'},
    {"stdout", no_argument, NULL, 'c'},
    {"force", no_argument, NULL, 'f'},
    {"codec", required_argument, NULL, OPTION_CODEC},
    {"extent", required_argument, NULL, 'e'},
    {"chunk", required_argument, NULL, OPTION_CHUNK},
    {"threads", required_argument, NULL, 'j'},
    {"verbose", no_argument, NULL, 'v'},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char decompress_shorts[] = ":o:ctfj:vh";
static const struct option decompress_longs[] = {
    {"output", required_argument, NULL, 'o'},
    {"stdout", no_argument, NULL, 'c'},
    {"test", no_argument, NULL, 't'},
    {"force", no_argument, NULL, 'f'},
    {"threads", required_argument, NULL, 'j'},
    {"verbose", no_argument, NULL, 'v'},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int take_number(const struct bale_command *command, int option, struct bale_pack *pack)
{
    switch (option) {
    case 'e':
        return bale_extent_size_parse(optarg, &pack->extent)
                   ? 0
                   : bale_usage_error(command, "--extent %s: it is 16K to 64M, in steps of 4K",
                                      optarg);
    case OPTION_CHUNK:
        return bale_chunk_parse(optarg, &pack->chunk_log2)
                   ? 0
                   : bale_usage_error(command, "--chunk %s: it is a power of two from 4K to 64M",
                                      optarg);
    default:
        return bale_count_take(command, "threads", 4096, &pack->threads);
    }
}

static int take_engine(const struct bale_command *command, struct bale_packing *packing)
{
    const char *wrong = bale_engine_choice_parse(optarg, &packing->engine);

    return wrong ? bale_usage_error(command, "--engine %s: %s", optarg, wrong) : 0;
}

/* 0, or the exit code. */
static int take_option(const struct bale_command *command, int option, struct bale_packing *packing)
{
    struct bale_reason why;

    switch (option) {
    case 'o':
        packing->output = optarg;
        return 0;
    case 'c':
        packing->to_stdout = true;
        return 0;
    case 'f':
        packing->force = true;
        return 0;
    case 't':
        packing->test = true;
        return 0;
    case 'v':
        packing->verbose = true;
        return 0;
    case OPTION_ENGINE:
        return take_engine(command, packing);
    case OPTION_CODEC:
        if (bale_setting_parse_relative(optarg, &packing->pack.setting, &packing->relative, &why) !=
            BALE_OK)
            return bale_codec_error(command, "--codec %s: %s", optarg, why.text);
        return 0;
    default:
        return take_number(command, option, &packing->pack);
    }
}

static int check_usage(const struct bale_command *command, struct bale_packing *packing, int files)
{
    if (packing->output && strcmp(packing->output, "-") == 0) {
        packing->output = NULL;
        packing->to_stdout = true;
    }
    if (packing->output && packing->to_stdout)
        return bale_usage_error(command, "--output and --stdout contradict each other");
    if (packing->test && (packing->output || packing->to_stdout))
        return bale_usage_error(command,
                                "--test writes nothing, also not with --output or --stdout");
    if (!bale_codec_takes_chunks(packing->pack.setting.codec, packing->pack.chunk_log2))
        return bale_usage_error(command, "--chunk: chunks of %s are 64K at most",
                                bale_codec_name(packing->pack.setting.codec));
    if (packing->output && files > 1)
        return bale_usage_error(command, "--output is for one FILE: several go to one place with "
                                         "--stdout");
    return 0;
}

static int compress_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_packing packing = {
        .pack = {.setting = {.codec = BALE_CODEC_AUTO}, .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT},
        .engine = BALE_ENGINE_CPU,
        .unpacks = command == &bale_command_decompress,
    };
    const char *shorts = packing.unpacks ? decompress_shorts : compress_shorts;
    const struct option *longs = packing.unpacks ? decompress_longs : compress_longs;
    int option, status;

    while ((option = bale_options_next(command, argc, argv, shorts, longs)) != BALE_OPTION_END) {
        if (option == BALE_OPTION_BAD || option == BALE_OPTION_HELP)
            return bale_options_status(command, option);
        status = take_option(command, option, &packing);
        if (status != 0)
            return status;
    }
    if (packing.pack.extent == 0)
        packing.pack.extent = bale_codec_has_field(packing.pack.setting.codec)
                                  ? BALE_EXTENT_WITH_PART
                                  : BALE_EXTENT_DEFAULT;
    status = check_usage(command, &packing, argc - optind);
    return status != 0 ? status : bale_packing_run(&packing, argc - optind, argv + optind);
}

const struct bale_command bale_command_compress = {
    .name = "compress",
    .summary = "compresses files and pipes",
    .help = compress_help,
    .usage = BALE_EXIT_USAGE,
    .run = compress_run,
};

const struct bale_command bale_command_decompress = {
    .name = "decompress",
    .summary = "decompresses what compress made",
    .help = decompress_help,
    .usage = BALE_EXIT_USAGE,
    .run = compress_run,
};
