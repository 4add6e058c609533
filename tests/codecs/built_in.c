/* auto, and the codecs that the frame layer does itself. */
#include "tests/codecs/cases.h"

static const struct codec_setting auto_settings[] = {
    {"auto", SETTINGS_ALL & ~(unsigned)SETTINGS_DAMAGE},
    {"auto:for=speed", SETTINGS_MOST},
    {.text = NULL}};
static const struct codec_setting store_settings[] = {{"store", SETTINGS_ALL}, {.text = NULL}};
static const struct codec_setting zero_settings[] = {{"zero", SETTINGS_API | SETTINGS_RANDOM},
                                                     {.text = NULL}};

extern const struct codec_case codec_case_auto, codec_case_store, codec_case_zero;
const struct codec_case codec_case_auto = {
    .id = BALE_CODEC_AUTO, .settings = auto_settings, .setting_parameters = 2};
const struct codec_case codec_case_store = {.id = BALE_CODEC_STORE,
                                            .defined = true,
                                            .settings = store_settings,
                                            .setting_parameters = 1,
                                            .frame_parameters = 1};
const struct codec_case codec_case_zero = {.id = BALE_CODEC_ZERO,
                                           .defined = true,
                                           .settings = zero_settings,
                                           .setting_parameters = 1,
                                           .frame_parameters = UINT8_MAX + 1};
