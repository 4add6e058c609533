#include "tools/quality/describe.h"

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/frame/field.h"
#include "kernels/frame/setting.h"
#include "kernels/round/npy.h"
#include "tools/common/message.h"
#include "tools/common/options.h"

enum { VALUE = 512 }; /* bytes of an option with what it means in a setting */

/* False, after a message: the file does not begin with a header of NumPy's format. */
static bool read_header_of(int fd, const char *name, struct bale_field *field)
{
    uint8_t begin[1 << 16];
    const ssize_t got = pread(fd, begin, sizeof begin, 0);

    if (got > 0 && bale_npy_read(begin, (size_t)got, field))
        return true;
    bale_message("%s: its beginning is no header of NumPy's format for an array of f32 or f64",
                 name);
    return false;
}

/* With npy: what the headers say of the array, which is the same. False after a message. */
static bool read_headers(struct bale_quality_pair *pair)
{
    struct bale_field copy = pair->field;

    if (pair->field.type != BALE_FIELD_NPY)
        return true;
    if (!read_header_of(pair->original, pair->original_name, &pair->field) ||
        !read_header_of(pair->copy, pair->copy_name, &copy))
        return false;
    if (bale_field_equal(&pair->field, &copy))
        return true;
    bale_message("%s: its header describes another array than that of %s: type, byte order, shape "
                 "and the header's length have to be the same",
                 pair->copy_name, pair->original_name);
    return false;
}

/* Whether a setting may have the words. */
static bool read_words(const char *words, struct bale_field *field)
{
    return bale_field_parse("the array", BALE_CODEC_CUSZ, words, field, NULL, NULL) == BALE_OK;
}

/* Whether a setting may have the value behind the words, and nothing more. */
static bool is_value(const char *words, const char *value, const char *behind)
{
    struct bale_field field;
    char text[VALUE];
    const int length = snprintf(text, sizeof text, "%s%s%s", words, value, behind);

    return length > 0 && (size_t)length < sizeof text && !strchr(value, ',') &&
           read_words(text, &field);
}

/* Each option by itself. 0, or the exit status after a message. */
static int check_options(const struct bale_command *command, const struct bale_quality_said *said)
{
    const struct {
        const char *option, *value, *words, *behind, *what;
    } options[] = {
        {"--type", said->type, "", ",abs=1", "it is f32, f64 or npy"},
        {"--dims", said->dims, "f32,abs=1,dims=", "",
         "give the elements along one to four dimensions, as 100x100x50"},
        {"--offset", said->offset, "f32,abs=1,offset=", "", "give a number of bytes"},
        {"--bound", said->bound, "f32,abs=", "", "give a number from 2.3e-308 to 1.1e307, as 1e-3"},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value && !is_value(options[i].words, options[i].value, options[i].behind))
            return bale_usage_error(command, "%s %s: %s", options[i].option, options[i].value,
                                    options[i].what);
    if (strcmp(said->type, "npy") == 0 && (said->dims || said->offset || said->big_endian))
        return bale_usage_error(command, "--type npy: give neither --dims, --offset nor "
                                         "--big-endian, because the file's header has them");
    return 0;
}

/* What the options say about the array; they are parsed like those of a setting. */
static int field_of_options(const struct bale_command *command,
                            const struct bale_quality_said *said, struct bale_quality_pair *pair)
{
    char text[4 * VALUE]; /* always enough for what was checked */
    int status = check_options(command, said);

    if (status)
        return status;
    snprintf(text, sizeof text, "%s,abs=%s%s%s%s%s%s", said->type, said->bound ? said->bound : "1",
             said->dims ? ",dims=" : "", said->dims ? said->dims : "",
             said->offset ? ",offset=" : "", said->offset ? said->offset : "",
             said->big_endian ? ",be" : "");
    if (!read_words(text, &pair->field))
        return bale_usage_error(command, "--dims %s: no file has so many elements", said->dims);
    pair->bound = said->bound ? bale_field_bound(pair->field.step) : 0;
    return 0;
}

/* What the copy's attribute says about the array. */
static int field_of_copy(const struct bale_command *command, struct bale_quality_pair *pair)
{
    char text[VALUE];
    const ssize_t length = fgetxattr(pair->copy, "user.balefs.codec", text, sizeof text - 1);
    struct bale_setting setting = {.codec = BALE_CODEC_STORE};

    if (length > 0) {
        text[length] = '\0';
        bale_setting_parse(text, &setting, NULL);
    }
    pair->field = setting.field;
    pair->bound = bale_field_bound(setting.field.step);
    if (pair->field.type == BALE_FIELD_F32 || pair->field.type == BALE_FIELD_F64 ||
        pair->field.type == BALE_FIELD_NPY)
        return 0;
    return bale_usage_error(command, "%s: has no attribute with a type: give --type",
                            pair->copy_name);
}

int bale_quality_describe(const struct bale_command *command, const struct bale_quality_said *said,
                          struct bale_quality_pair *pair)
{
    const int status =
        said->type ? field_of_options(command, said, pair) : field_of_copy(command, pair);

    if (status)
        return status;
    return read_headers(pair) ? 0 : BALE_EXIT_FAILED;
}
