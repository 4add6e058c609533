/* frames_test DIRECTORY: reads every frame of INDEX and demands what its name promises. */
#include <dirent.h>

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/vectors/craft.h"

static struct bale_scratch *scratch;
static const char *directory;

struct file {
    uint8_t *data;
    size_t length;
};

static struct file read_file(const char *name, const char *ending)
{
    struct file file = {.length = 0};
    char path[4096];
    long length;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.%s", directory, name, ending);
    f = fopen(path, "rb");
    if (!f)
        perror(path);
    REQUIRE(f && fseek(f, 0, SEEK_END) == 0 && (length = ftell(f)) > 0);
    rewind(f);
    file.length = (size_t)length;
    file.data = malloc(file.length);
    REQUIRE(file.data && fread(file.data, 1, file.length, f) == file.length);
    fclose(f);
    return file;
}

/* Room as the head asks for it, but within reason. */
static uint32_t promised_length(const struct file *in)
{
    uint32_t length =
        in->length >= FRAME_AT_RAW_LENGTH + 4 ? bale_get32(in->data + FRAME_AT_RAW_LENGTH) : 1;

    return length >= 1 && length <= BALE_EXTENT_MAX ? length : 1;
}

static int decode(const struct file *in, uint8_t **raw, struct bale_frame *frame)
{
    uint32_t length = promised_length(in);

    *raw = malloc(length);
    REQUIRE(*raw);
    return bale_frame_decode(scratch, in->data, in->length, *raw, length, frame);
}

/* The setting that the vector was made with. */
static struct bale_setting setting_of(const char *name, const struct bale_frame *frame)
{
    const struct codec_sample *s = codec_case_of(frame->codec)->samples;
    const char *what = name + strlen("good-") + strlen(bale_codec_name(frame->codec)) + 1;

    for (; s && s->name; s++)
        if (strcmp(s->name, what) == 0)
            return codec_setting_parse(s->setting);
    if (bale_codec_about(frame->codec)->built_in)
        return (struct bale_setting){.codec = BALE_CODEC_STORE};
    return (struct bale_setting){.codec = frame->codec, .parameter = (int16_t)frame->parameter};
}

/* A codec whose every byte is defined must encode it again, byte for byte. */
static void check_encode(const char *name, const struct file *in, const struct file *raw,
                         struct bale_frame frame)
{
    const struct bale_setting setting = setting_of(name, &frame);
    uint8_t *out = malloc(bale_frame_bound(frame.raw_length, frame.chunk_log2));
    size_t length;

    REQUIRE(out);
    CHECK_EQ(bale_frame_encode(scratch, setting, raw->data, &frame, out, &length), BALE_OK);
    if (CHECK_EQ_U(length, in->length))
        CHECK_EQ_MEM(out, in->data, length);
    free(out);
}

/* Likewise each chunk, with the frame's extent part: by hand, or by the first encoder, it is
 * another one than learn makes. */
static void check_encode_chunks(const struct file *in, const struct file *raw,
                                const struct bale_frame *frame)
{
    const struct bale_codec *codec = bale_codec_find(frame->codec);
    const struct bale_extent_part part = {in->data + frame->head_length, frame->part.stored};
    const uint8_t *stored = in->data + bale_frame_chunks_at(frame);

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        uint32_t expected = bale_frame_chunk(in->data, frame, i).stored;
        uint8_t *out = malloc(length);
        int64_t made;

        REQUIRE(out);
        made = codec->encode(bale_scratch_work(scratch, codec->id), (int16_t)frame->parameter, part,
                             raw->data + ((size_t)i << frame->chunk_log2), length, out, length - 1);
        if (CHECK_EQ(made, expected < length ? expected : 0))
            CHECK_EQ_MEM(out, stored, (size_t)made);
        stored += expected;
        free(out);
    }
}

static void check_chunks(const struct file *in, const struct file *raw,
                         const struct bale_frame *frame)
{
    const uint8_t *part = in->data + frame->head_length;
    const uint8_t *stored = in->data + bale_frame_chunks_at(frame);

    for (uint32_t i = 0; i < frame->chunks; i++) {
        uint32_t length = bale_frame_chunk_raw(frame, i);
        uint8_t *out = malloc(length);
        REQUIRE(out);
        CHECK_EQ(bale_frame_decode_chunk(scratch, in->data, frame, i, part, stored, out,
                                         (struct bale_wanted){0, bale_frame_chunk_raw(frame, i)}),
                 BALE_OK);
        CHECK_EQ_MEM(out, raw->data + ((size_t)i << frame->chunk_log2), length);
        stored += bale_frame_chunk(in->data, frame, i).stored;
        free(out);
    }
}

static void check_good(const char *name)
{
    struct file in = read_file(name, "frame");
    struct file raw = read_file(name, "raw");
    struct bale_frame frame;
    uint8_t *out;

    if (CHECK_EQ(decode(&in, &out, &frame), BALE_OK) && CHECK_EQ_U(frame.raw_length, raw.length)) {
        CHECK_EQ_MEM(out, raw.data, raw.length);
        CHECK(strncmp(name + strlen("good-"), bale_codec_name(frame.codec),
                      strlen(bale_codec_name(frame.codec))) == 0);
        check_chunks(&in, &raw, &frame);
        if (strstr(name, "-by-hand") || strstr(name, "-first-"))
            check_encode_chunks(&in, &raw, &frame);
        else if (codec_case_of(frame.codec)->defined)
            check_encode(name, &in, &raw, frame);
    }
    free(out);
    free(raw.data);
    free(in.data);
}

static void check_refused(const char *name, int err)
{
    struct file in = read_file(name, "frame");
    uint8_t *out;

    CHECK_EQ(decode(&in, &out, NULL), err);
    free(out);
    free(in.data);
}

static void check_one(const char *name)
{
    unsigned long before = atomic_load(&check_failures);

    if (strncmp(name, "good-", 5) == 0)
        check_good(name);
    else if (strncmp(name, "bad-", 4) == 0)
        check_refused(name, BALE_E_CORRUPT);
    else if (CHECK(strncmp(name, "unsupported-", 12) == 0))
        check_refused(name, BALE_E_UNSUPPORTED);
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "in %s\n", name);
}

static unsigned count_frames(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    unsigned count = 0;

    REQUIRE(dir);
    while ((entry = readdir(dir)))
        count += strstr(entry->d_name, ".frame") != NULL;
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    char line[1024];
    unsigned count = 0;
    FILE *listing;

    REQUIRE(argc == 2);
    directory = argv[1];
    snprintf(line, sizeof line, "%s/INDEX", directory);
    listing = fopen(line, "r");
    REQUIRE(listing && bale_scratch_create(&scratch) == BALE_OK);
    while (fgets(line, sizeof line, listing)) {
        line[strcspn(line, ":")] = '\0';
        check_one(line);
        count++;
    }
    CHECK(count > 0);
    CHECK_EQ_U(count_frames(), count);
    bale_scratch_destroy(scratch);
    fclose(listing);
    return check_result();
}
