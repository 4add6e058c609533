/* Which codecs --codec and --match choose for an import. */
#include <fnmatch.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/frame/setting.h"
#include "tools/common/options.h"
#include "tools/transfer/import.h"

int bale_import_take_codec(const struct bale_command *command, const char *text,
                           struct bale_import_choice *all)
{
    struct bale_reason why;

    *all = (struct bale_import_choice){.glob = "*"};
    if (bale_setting_parse(text, &all->setting, &why) != BALE_OK)
        return bale_codec_error(command, "--codec %s: %s", text, why.text);
    if (bale_codec_is_lossy(all->setting.codec))
        return bale_usage_error(command,
                                "--codec %s: changes values, and not every file is an array: name "
                                "those that are, as with --match '*.f32 %s'",
                                text, text);
    return 0;
}

int bale_import_take_match(const struct bale_command *command, char *line,
                           struct bale_import *import)
{
    struct bale_import_choice choice = {.glob = line};
    char *codec = strrchr(line, ' ');
    struct bale_reason why;

    if (!codec || codec == line || memchr(line, '/', (size_t)(codec - line)))
        return bale_usage_error(
            command,
            "--match '%s': it is a glob for names, a space and a codec, as in '*.log zstd:3'",
            line);
    if (import->choice_count == BALE_IMPORT_CHOICES - 1)
        return bale_usage_error(command, "--match: %d at most", BALE_IMPORT_CHOICES - 1);
    if (bale_setting_parse_relative(codec + 1, &choice.setting, &choice.relative, &why) != BALE_OK)
        return bale_codec_error(command, "--match '%s': %s", line, why.text);
    *codec = '\0';
    import->choices[import->choice_count++] = choice;
    return 0;
}

int bale_import_end_choices(const struct bale_command *command, struct bale_import *import,
                            const struct bale_import_choice *all, bool move)
{
    for (size_t i = 0; move && i < import->choice_count; i++)
        if (bale_codec_is_lossy(import->choices[i].setting.codec))
            return bale_usage_error(command,
                                    "--match for %s: changes values, and --move gives up no "
                                    "original for that: import without --move",
                                    import->choices[i].glob);
    if (all->glob)
        import->choices[import->choice_count++] = *all;
    return 0;
}

const struct bale_import_choice *bale_import_choice_of(const struct bale_import *import,
                                                       const char *name)
{
    for (size_t i = 0; i < import->choice_count; i++)
        if (fnmatch(import->choices[i].glob, name, 0) == 0)
            return &import->choices[i];
    return NULL;
}
