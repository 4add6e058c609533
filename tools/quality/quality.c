/* balefs quality: says what a lossy copy of an array differs in from its original. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/output.h"
#include "tools/common/size.h"
#include "tools/quality/compare.h"
#include "tools/quality/describe.h"
#include "tools/quality/picture.h"

static const char help[] =
    "usage: balefs quality [OPTION...] ORIGINAL COPY\n"
    "\n"
    "Compares an array of numbers with a lossy copy: the largest error, whether the bound\n"
    "was kept, PSNR, NRMSE, ratio and a histogram of the errors. Without --type, what COPY's\n"
    "attribute user.balefs.codec says of the array holds, with its bound. Elements that are\n"
    "no finite numbers must be the same in both, bit for bit.\n"
    "\n"
    "      --type TYPE\n"
    "              f32 or f64; npy: what the headers of NumPy's format say of the array, the\n"
    "              same in both, which then needs nothing but --bound\n"
    "      --dims XxYxZ\n"
    "              elements along each dimension, the one first whose elements are adjacent;\n"
    "              for the slices of the picture; arrays of these dims may follow each other\n"
    "      --big-endian\n"
    "      --offset N\n"
    "              bytes before the first element\n"
    "      --bound E\n"
    "              the bound that is looked at\n"
    "      --json  an object: elements, numbers, low, high, largest_error, largest_error_at,\n"
    "              bound, kept, beyond, different, psnr, nrmse, size, stored, ratio, histogram\n"
    "      --svg OUT\n"
    "              draws slices of both arrays and of the errors side by side, and the\n"
    "              histogram, into OUT, an SVG picture (-: standard output)\n"
    "  -f, --force\n"
    "              replaces OUT even if it is not such a picture\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs quality --type f32 --dims 256x256x256 --bound 1e-3 run.f32 /mnt/scratch/run.f32\n"
    "  balefs quality --json --svg run.svg run.f32 /mnt/scratch/run.f32\n"
    "\n"
    "Exit status: 0 the bound was kept, or there is none; 1 failed, or it was not kept;\n"
    "2 wrong usage.\n";

enum {
    OPTION_TYPE = 256,
    OPTION_DIMS,
    OPTION_BE,
    OPTION_OFFSET,
    OPTION_BOUND,
    OPTION_JSON,
    OPTION_SVG
};

static const struct option long_options[] = {
    {"type", required_argument, NULL, OPTION_TYPE},
    {"dims", required_argument, NULL, OPTION_DIMS},
    {"big-endian", no_argument, NULL, OPTION_BE},
    {"offset", required_argument, NULL, OPTION_OFFSET},
    {"bound", required_argument, NULL, OPTION_BOUND},
    {"json", no_argument, NULL, OPTION_JSON},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"force", no_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct request {
    struct bale_quality_said said;
    const char *svg;
    bool json, force;
};

/* ---- What is printed ---- */

static void print_text(const struct bale_quality_pair *pair, const struct bale_quality *q,
                       uint64_t size, uint64_t stored)
{
    const long double nrmse = bale_quality_nrmse(q);
    char ratio[BALE_TEXT];

    printf("elements       %" PRIu64 ", %" PRIu64 " of them numbers in both\n", pair->elements,
           q->numbers);
    if (q->numbers > 0)
        printf("range          %.9g to %.9g\n", q->low, q->high);
    if (q->worst > 0)
        printf("largest error  %.9Lg, at element %" PRIu64 "\n", q->worst, q->worst_at);
    else
        printf("largest error  0\n");
    if (pair->bound > 0)
        printf("bound          %.9g: %s, %" PRIu64 " elements beyond it\n", pair->bound,
               q->beyond ? "not kept" : "kept", q->beyond);
    printf("different      %" PRIu64 " elements\n", q->different);
    if (nrmse > 0 && isfinite(nrmse))
        printf("PSNR           %.2Lf dB\nNRMSE          %.3Lg\n", -20 * log10l(nrmse), nrmse);
    printf("size           %" PRIu64 ", stored %" PRIu64 ", ratio %s\n", size, stored,
           bale_ratio_text(size, stored, ratio));
    if (q->reach > 0)
        printf("errors:\n");
    for (int i = 0; q->reach > 0 && i < BALE_QUALITY_BINS; i++)
        printf("  %11.3Lg to %-11.3Lg %" PRIu64 "\n", q->reach * (2.0L * i / BALE_QUALITY_BINS - 1),
               q->reach * (2.0L * (i + 1) / BALE_QUALITY_BINS - 1), q->histogram[i]);
    if (q->outside > 0)
        printf("  outside of these           %" PRIu64 "\n", q->outside);
}

/* JSON has no infinities, and what is beyond a double is one here: null. */
static void add_number(json_t *object, const char *key, long double number)
{
    const double x = (double)number;

    json_object_set_new(object, key, isfinite(x) ? json_real(x) : json_null());
}

static bool print_json(const struct bale_quality_pair *pair, const struct bale_quality *q,
                       uint64_t size, uint64_t stored)
{
    json_t *object = json_object(), *histogram = json_object(), *counts = json_array();
    const long double nrmse = bale_quality_nrmse(q);

    bale_json_count(object, "elements", pair->elements);
    bale_json_count(object, "numbers", q->numbers);
    add_number(object, "low", q->low);
    add_number(object, "high", q->high);
    add_number(object, "largest_error", q->worst);
    bale_json_count(object, "largest_error_at", q->worst_at);
    add_number(object, "bound", pair->bound > 0 ? pair->bound : INFINITY);
    json_object_set_new(object, "kept",
                        pair->bound > 0 ? json_boolean(q->beyond == 0) : json_null());
    bale_json_count(object, "beyond", q->beyond);
    bale_json_count(object, "different", q->different);
    add_number(object, "psnr", nrmse > 0 ? -20 * log10l(nrmse) : INFINITY);
    add_number(object, "nrmse", nrmse);
    bale_json_count(object, "size", size);
    bale_json_count(object, "stored", stored);
    bale_json_ratio(object, "ratio", size, stored);
    for (int i = 0; i < BALE_QUALITY_BINS; i++)
        json_array_append_new(counts, json_integer((json_int_t)q->histogram[i]));
    add_number(histogram, "from", 0 - q->reach);
    add_number(histogram, "to", q->reach);
    json_object_set_new(histogram, "counts", counts);
    bale_json_count(histogram, "outside", q->outside);
    json_object_set_new(object, "histogram", histogram);
    return bale_json_print(object);
}

/* ---- The picture ---- */

struct drawing {
    const struct bale_quality_pair *pair;
    const struct bale_quality *quality;
    const struct bale_quality_slice *slice;
};

static void write_picture(const void *arg, FILE *out)
{
    const struct drawing *d = arg;

    bale_quality_picture(d->pair, d->quality, d->slice, out);
}

static bool draw(const struct bale_quality_pair *pair, const struct bale_quality *quality,
                 const char *svg, bool force)
{
    struct stat sources[2];
    const struct bale_output_rules rules = {
        .sources = sources, .count = 2, .replace = force, .picture = true};
    struct bale_output output = {.fd = -1};
    struct bale_quality_slice *slice = NULL;
    bool good;

    bale_output_source(pair->original_name, &sources[0]);
    bale_output_source(pair->copy_name, &sources[1]);
    good = bale_quality_slice_read(pair, &slice) &&
           bale_output_open(strcmp(svg, "-") == 0 ? NULL : svg, &rules, &output) &&
           bale_output_draw(&output, write_picture, &(struct drawing){pair, quality, slice});
    bale_output_drop(&output);
    bale_quality_slice_free(slice);
    return good;
}

/* ---- The command ---- */

static bool open_file(const char *name, int *fd, struct stat *st)
{
    *fd = open(name, O_RDONLY | O_CLOEXEC);
    if (*fd >= 0 && fstat(*fd, st) == 0 && S_ISREG(st->st_mode))
        return true;
    bale_message("%s: cannot be compared: %s", name,
                 *fd < 0 ? strerror(errno) : "it is no regular file");
    return false;
}

/* How many elements are compared, all of the array: what a setting's dims leave is of the same array,
 * as a later time step, but NumPy's header says where it ends. 0 after a message. */
static uint64_t count_elements(const struct bale_quality_pair *pair, const struct stat *original,
                               const struct stat *copy)
{
    const uint64_t *dims = pair->field.dims, all = (uint64_t)original->st_size;
    const uint64_t size = pair->field.end > 0 && pair->field.end < all ? pair->field.end : all;
    const uint64_t width = bale_quality_width(&pair->field);
    uint64_t elements = size > pair->field.offset ? (size - pair->field.offset) / width : 0;
    uint64_t asked = dims[0] ? 1 : elements;

    if (original->st_size != copy->st_size) {
        bale_message("%s: has %jd bytes, and %s has %jd: compare arrays of the same size",
                     pair->original_name, (intmax_t)original->st_size, pair->copy_name,
                     (intmax_t)copy->st_size);
        return 0;
    }
    for (int i = 0; i < BALE_FIELD_DIMS && dims[i] > 0; i++)
        asked *= dims[i]; /* does not wrap around: checked with the field */
    if (asked == 0 || asked > elements) {
        bale_message("%s: has %" PRIu64 " elements: give other --dims or another --offset",
                     pair->original_name, elements);
        return 0;
    }
    return elements;
}

static int compare(const struct bale_command *command, const struct request *request,
                   struct bale_quality_pair *pair)
{
    struct stat original, copy;
    struct bale_quality quality;
    int status;

    if (!open_file(pair->original_name, &pair->original, &original) ||
        !open_file(pair->copy_name, &pair->copy, &copy))
        return BALE_EXIT_FAILED;
    status = bale_quality_describe(command, &request->said, pair);
    if (status)
        return status;
    pair->elements = count_elements(pair, &original, &copy);
    if (pair->elements == 0 || !bale_quality_compare(pair, &quality) ||
        (request->svg && !draw(pair, &quality, request->svg, request->force)))
        return BALE_EXIT_FAILED;
    if (request->json) {
        if (!print_json(pair, &quality, (uint64_t)copy.st_size, 512 * (uint64_t)copy.st_blocks))
            return BALE_EXIT_FAILED;
    } else if (!request->svg || strcmp(request->svg, "-") != 0) {
        print_text(pair, &quality, (uint64_t)copy.st_size, 512 * (uint64_t)copy.st_blocks);
    }
    return quality.beyond > 0 ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

static int quality_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_quality_pair pair = {.original = -1, .copy = -1};
    struct request request = {.svg = NULL};
    const struct bale_quality_said *said = &request.said;
    int option, status;

    while ((option = bale_options_next(command, argc, argv, ":fh", long_options)) >= 0) {
        switch (option) {
        case OPTION_TYPE:
            request.said.type = optarg;
            break;
        case OPTION_DIMS:
            request.said.dims = optarg;
            break;
        case OPTION_BE:
            request.said.big_endian = true;
            break;
        case OPTION_OFFSET:
            request.said.offset = optarg;
            break;
        case OPTION_BOUND:
            request.said.bound = optarg;
            break;
        case OPTION_JSON:
            request.json = true;
            break;
        case OPTION_SVG:
            request.svg = optarg;
            break;
        default:
            request.force = true;
        }
    }
    if (option != BALE_OPTION_END)
        return bale_options_status(command, option);
    if (argc - optind != 2)
        return bale_usage_error(command, "ORIGINAL and COPY are needed");
    if (!said->type && (said->dims || said->big_endian || said->offset || said->bound))
        return bale_usage_error(command, "--dims, --big-endian, --offset and --bound need --type");
    if (request.json && request.svg && strcmp(request.svg, "-") == 0)
        return bale_usage_error(command, "--svg -: --json is on standard output: name a file");
    pair.original_name = argv[optind];
    pair.copy_name = argv[optind + 1];
    status = compare(command, &request, &pair);
    if (pair.original >= 0)
        close(pair.original);
    if (pair.copy >= 0)
        close(pair.copy);
    return status;
}

const struct bale_command bale_command_quality = {
    .name = "quality",
    .summary = "compares an array of numbers with a lossy copy",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = quality_run,
};
