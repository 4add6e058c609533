/* A program that knows the header and the library and nothing else: compresses FILE, writes the
 * stream to OUT, and decompresses it again.
 *
 *   program CODEC FILE OUT VERSION [ENGINE] */
#include <balefs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    long size;
    void *bytes;

    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        return NULL;
    rewind(file);
    bytes = malloc((size_t)size + 1);
    *length = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
    fclose(file);
    return bytes;
}

static int write_file(const char *path, const struct bale_buffer *buffer)
{
    FILE *file = fopen(path, "wb");
    size_t wrote = file ? fwrite(buffer->data, 1, buffer->length, file) : 0;

    return file && fclose(file) == 0 && wrote == buffer->length;
}

static int fail(const struct bale_context *context, int err)
{
    fprintf(stderr, "program: %s: %s\n", bale_error_text(err), bale_context_message(context));
    return EXIT_FAILURE;
}

static int round_trip(struct bale_context *context, char **argv, const void *in, size_t length)
{
    struct bale_params params = BALE_PARAMS_INIT;
    struct bale_buffer stream = {NULL, 0, 0}, back = {NULL, 0, 0};
    uint64_t size = 0;
    int err, same;

    params.codec = argv[1];
    err = bale_compress(context, &params, in, length, &stream);
    if (err != BALE_API_OK)
        return fail(context, err);
    if (stream.length > bale_compress_bound(&params, length) || !write_file(argv[3], &stream))
        return EXIT_FAILURE;
    err = bale_raw_size(stream.data, stream.length, &size);
    if (err != BALE_API_OK || size != length)
        return EXIT_FAILURE;
    back.capacity = length + 1; /* the most we would take */
    err = bale_decompress(context, NULL, stream.data, stream.length, &back);
    if (err != BALE_API_OK)
        return fail(context, err);
    same = back.length == length && memcmp(back.data, in, length) == 0;
    bale_buffer_free(&back);
    bale_buffer_free(&stream);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct bale_context_params params = BALE_CONTEXT_PARAMS_INIT;
    struct bale_context *context;
    size_t length;
    void *in;
    int status;

    if (argc < 5 || argc > 6 || strcmp(bale_version_text(), argv[4]) != 0 ||
        bale_version() !=
            10000 * BALE_VERSION_MAJOR + 100 * BALE_VERSION_MINOR + BALE_VERSION_PATCH) {
        fprintf(stderr, "program: version %s\n", bale_version_text());
        return 2;
    }
    in = read_file(argv[2], &length);
    params.threads = 2;
    params.engine = argc > 5 ? argv[5] : NULL;
    if (!in)
        return EXIT_FAILURE;
    status = bale_context_create(&params, &context);
    if (status != BALE_API_OK)
        return fail(NULL, status);
    status = round_trip(context, argv, in, length);
    bale_context_destroy(context);
    free(in);
    return status;
}
