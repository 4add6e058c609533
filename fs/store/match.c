/* Match lines: "GLOB CODEC". */
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/internal.h"
#include "kernels/frame/setting.h"

int bale_setting_check_spread(struct bale_setting setting, struct bale_reason *reason)
{
    if (!bale_codec_is_lossy(setting.codec))
        return BALE_OK;
    bale_reason_set(reason,
                    "%s changes values, so it is for a file, or for a match line of the directory "
                    "that the file is made in.",
                    bale_codec_name(setting.codec));
    return BALE_E_INVALID;
}

int bale_match_parse(const char *line, size_t *glob, struct bale_setting *setting,
                     struct bale_reason *reason)
{
    const char *codec = strrchr(line, ' ');
    size_t length = codec ? (size_t)(codec - line) : 0;

    while (length > 0 && line[length - 1] == ' ')
        length--;
    if (length == 0 || strchr(line, '\n')) {
        bale_reason_set(reason, "A match is a glob, a space and a codec, as in \"*.log zstd:3\".");
        return BALE_E_INVALID;
    }
    if (memchr(line, '/', length)) {
        bale_reason_set(reason, "A glob is for names, which have no \"/\".");
        return BALE_E_INVALID;
    }
    *glob = length;
    return bale_setting_parse(codec + 1, setting, reason);
}
