/* The notation of codec settings. */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"

static void test_good(void)
{
    static const struct {
        const char *text;
        const char *printed;
        uint8_t codec;
        int16_t parameter;
    } rows[] = {
        {"auto", "auto", BALE_CODEC_AUTO, 0},
        {"auto:for=ratio", "auto", BALE_CODEC_AUTO, 0},
        {"auto:for=speed", "auto:for=speed", BALE_CODEC_AUTO, 1},
        {"store", "store", BALE_CODEC_STORE, 0},
        {"lz4", "lz4", BALE_CODEC_LZ4, 0},
        {"zstd", "zstd:1", BALE_CODEC_ZSTD, 1},
        {"zstd:1", "zstd:1", BALE_CODEC_ZSTD, 1},
        {"zstd:19", "zstd:19", BALE_CODEC_ZSTD, 19},
        {"zstd:-7", "zstd:-7", BALE_CODEC_ZSTD, -7},
        {"zstd:level=3", "zstd:3", BALE_CODEC_ZSTD, 3},
        {"zstd:level=-1", "zstd:-1", BALE_CODEC_ZSTD, -1},
        {"zstd:007", "zstd:7", BALE_CODEC_ZSTD, 7},
        {"lzr", "lzr:1", BALE_CODEC_LZR, 1},
        {"lzr:2", "lzr:2", BALE_CODEC_LZR, 2},
        {"lzr:level=1", "lzr:1", BALE_CODEC_LZR, 1},
        {"culzss", "culzss:2", BALE_CODEC_CULZSS, 2},
        {"culzss:v=1", "culzss:1", BALE_CODEC_CULZSS, 1},
        {"culzss:v=2", "culzss:2", BALE_CODEC_CULZSS, 2},
        {"culzss:1", "culzss:1", BALE_CODEC_CULZSS, 1},
        {"gpulz", "gpulz", BALE_CODEC_GPULZ, 0x21ff},
        {"gpulz:s=0,w=255,c=4096", "gpulz", BALE_CODEC_GPULZ, 0x21ff},
        {"gpulz:level=4", "gpulz", BALE_CODEC_GPULZ, 0x21ff},
        {"gpulz:level=1", "gpulz:w=32", BALE_CODEC_GPULZ, 0x2120},
        {"gpulz:level=2,s=4", "gpulz:s=4,w=64", BALE_CODEC_GPULZ, 0x1140},
        {"gpulz:c=2048,level=3", "gpulz:w=128,c=2048", BALE_CODEC_GPULZ, 0x2080},
        {"gpulz:s=1", "gpulz:s=1", BALE_CODEC_GPULZ, 0x01ff},
        {"gpulz:s=2,w=128", "gpulz:s=2,w=128", BALE_CODEC_GPULZ, 0x0980},
        {"gpulz:c=65536,w=254,s=8", "gpulz:s=8,w=254,c=65536", BALE_CODEC_GPULZ, 0x1dfe},
        {"gpulz:w=0033", "gpulz:w=33", BALE_CODEC_GPULZ, 0x2121},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bale_setting setting = {.codec = 77, .parameter = 77};
        char text[BALE_SETTING_TEXT];

        if (!CHECK_EQ(bale_setting_parse(rows[i].text, &setting, NULL), BALE_OK))
            continue;
        CHECK_EQ(setting.codec, rows[i].codec);
        CHECK_EQ(setting.parameter, rows[i].parameter);
        CHECK(bale_setting_valid(setting));
        bale_setting_print(setting, text, sizeof text);
        CHECK_EQ_STR(text, rows[i].printed);
    }
}

static void test_bad(void)
{
    static const char known[] = "Known are auto, store, zero, lz4, zstd, ";
    static const char option[] = "which has level=NUMBER.";
    static const char version[] = "not an option of culzss, which has v=NUMBER.";
    static const char range[] = "-7 to 19 without 0";
    static const char word[] = "not an option of auto, which has for=ratio and for=speed.";
    static const char several[] = "not an option of gpulz, which has level=, s=, w= and c=NUMBER.";
    static const struct {
        const char *text;
        const char *why; /* a part of it */
    } rows[] = {
        {"", known},
        {":", known},
        {"Auto", known},
        {"zst", known},
        {"zstdx", known},
        {" zstd", known},
        {"gzip", "\"gzip\""},
        {"lz4\n", "\"lz4?\""},
        {"zstd:3\r\n", "\"3??\""},
        {"zero:1", "The codec zero has no options."},
        {"auto:1", word},
        {"auto:", word},
        {"auto:for", word},
        {"auto:for=", word},
        {"auto:speed", word},
        {"auto:for=speed ", word},
        {"auto:for=speed,for=speed", word},
        {"auto:for=Speed", "\"for=Speed\""},
        {"lz4:", "The codec lz4 has no options."},
        {"store:level=1", "The codec store has no options."},
        {"zstd:", option},
        {"zstd:level", option},
        {"zstd:level=", option},
        {"zstd:levels=1", option},
        {"zstd:window=1", "\"window=1\""},
        {"zstd:+1", option},
        {"zstd: 1", option},
        {"zstd:1 ", option},
        {"zstd:1,", option},
        {"zstd:1,2", option},
        {"zstd:level=1,level=1", option},
        {"zstd:--1", option},
        {"zstd:-", option},
        {"zstd:0x1", option},
        {"zstd:99999999999999999999", option},
        {"zstd:99999999", "not 99999999."},
        {"zstd:0", range},
        {"zstd:-0", range},
        {"zstd:-8", range},
        {"zstd:20", range},
        {"zstd:level=22", "not 22."},
        {"culzss:", version},
        {"culzss:v", version},
        {"culzss:v=", version},
        {"culzss:w=1", version},
        {"culzss:v=1,v=1", version},
        {"culzss:v=0", "The v of culzss is 1 to 2, not 0."},
        {"culzss:v=3", "The v of culzss is 1 to 2, not 3."},
        {"culzss:-1", "The v of culzss is 1 to 2, not -1."},
        {"gpulz:", several},
        {"gpulz:3", several},
        {"gpulz:s", several},
        {"gpulz:s=", several},
        {"gpulz:s=1,", several},
        {"gpulz:,s=1", several},
        {"gpulz:s=-1", several},
        {"gpulz:s= 1", several},
        {"gpulz:w=32;s=1", several},
        {"gpulz:w=0000000255", several},
        {"gpulz:size=1", "\"size=1\""},
        {"gpulz:s=3", "The s of gpulz is 1, 2, 4, 8, or 0 for the best of these, not 3."},
        {"gpulz:s=16", "not 16."},
        {"gpulz:w=31", "The w of gpulz is 32 to 255, not 31."},
        {"gpulz:w=256", "not 256."},
        {"gpulz:c=1024", "The c of gpulz is a power of two from 2048 to 65536, not 1024."},
        {"gpulz:c=3000", "not 3000."},
        {"gpulz:c=99999", "not 99999."},
        {"gpulz:level=0", "The level of gpulz is 1 to 4, not 0."},
        {"gpulz:level=5", "not 5."},
        {"gpulz:s=1,s=1", "\"s=1\" is given twice, or level and w both."},
        {"gpulz:level=1,c=2048,w=32", "\"w=32\" is given twice"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bale_setting setting = {.codec = 77, .parameter = 77};
        struct bale_reason why = {0};

        CHECK_EQ(bale_setting_parse(rows[i].text, &setting, &why), BALE_E_INVALID);
        if (!CHECK(strstr(why.text, rows[i].why) != NULL))
            fprintf(stderr, "\"%s\": %s\n", rows[i].text, why.text);
        CHECK(strchr(why.text, '\n') == NULL && why.text[strlen(why.text) - 1] == '.');
        CHECK_EQ(setting.codec, 77);
        CHECK_EQ(bale_setting_parse(rows[i].text, &setting, NULL), BALE_E_INVALID);
    }
}

static void test_long(void)
{
    struct bale_setting setting;
    char text[5000];
    struct bale_reason why;

    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ(bale_setting_parse(text, &setting, &why), BALE_E_INVALID);
    memcpy(text, "zstd:", 5);
    CHECK_EQ(bale_setting_parse(text, &setting, &why), BALE_E_INVALID);
}

/* Every pair a root could hold: it is valid exactly if it prints to a text that parses to it. */
static void test_pairs(void)
{
    for (int codec = 0; codec < 256; codec++) {
        const struct codec_case *c = codec_case_of((uint8_t)codec);
        unsigned valid = 0;
        for (int parameter = INT16_MIN; parameter <= INT16_MAX; parameter++) {
            struct bale_setting setting = {.codec = (uint8_t)codec,
                                           .parameter = (int16_t)parameter};
            struct bale_setting parsed;
            char text[BALE_SETTING_TEXT];

            if (!bale_setting_valid(setting))
                continue;
            valid++;
            bale_setting_print(setting, text, sizeof text);
            if (CHECK_EQ(bale_setting_parse(text, &parsed, NULL), BALE_OK))
                CHECK(parsed.codec == codec && parsed.parameter == parameter);
        }
        CHECK_EQ_U(valid, c ? c->setting_parameters : 0);
    }
}

static void test_registry(void)
{
    for (int id = 0; id < 256; id++) {
        const struct bale_codec *codec = bale_codec_find((uint8_t)id);

        if (id == BALE_CODEC_AUTO)
            CHECK_EQ_STR(bale_codec_name((uint8_t)id), "auto");
        else
            CHECK_EQ_STR(bale_codec_name((uint8_t)id), codec ? codec->name : NULL);
        CHECK(!codec == (!codec_case_of((uint8_t)id) || id == BALE_CODEC_AUTO));
        if (codec) {
            CHECK_EQ(codec->id, id);
            CHECK(!codec->encode == !codec->decode);
        }
    }
}

/* The parameters that a frame may have. */
static void test_frame_parameters(void)
{
    const struct codec_case *c;

    for (size_t i = 0; (c = codec_case_at(i)); i++) {
        unsigned valid = 0;
        for (unsigned parameter = 0; parameter <= UINT16_MAX; parameter++)
            valid += bale_codec_about(c->id)->in_frame((uint16_t)parameter);
        CHECK_EQ_U(valid, c->frame_parameters);
    }
}

/* Every codec is named. */
static void test_known(void)
{
    const struct bale_codec_about *codec;
    struct bale_setting setting;
    struct bale_reason why;

    CHECK_EQ(bale_setting_parse("gzip", &setting, &why), BALE_E_INVALID);
    for (size_t i = 0; (codec = bale_codec_at(i)); i++)
        CHECK(strstr(strstr(why.text, "Known are "), codec->name) != NULL);
}

/* Each codec has settings for the tests that go through all codecs. */
static void test_settings_of_tests(void)
{
    const struct bale_codec_about *codec;

    for (size_t c = 0; (codec = bale_codec_at(c)) != NULL; c++)
        for (unsigned set = 1; set < SETTINGS_END; set <<= 1) {
            const char *text;
            bool found =
                codec->built_in ||
                (set == SETTINGS_CHUNK_SIZES && codec->chunk_log2 < BALE_CHUNK_LOG2_MAX) ||
                (set == SETTINGS_DAMAGE && bale_codec_has_cells(codec->id)) ||
                ((set & (SETTINGS_API | SETTINGS_GPU_API)) != 0 && bale_codec_is_lossy(codec->id));
            for (size_t s = 0; (text = codec_settings_next(set, &s)) != NULL;)
                found |= codec_setting_parse(text).codec == codec->id;
            if (!CHECK(found))
                fprintf(stderr, "    %s has no setting in set %u\n", codec->name, set);
        }
}

int main(void)
{
    test_settings_of_tests();
    test_good();
    test_bad();
    test_long();
    test_known();
    test_pairs();
    test_frame_parameters();
    test_registry();
    return check_result();
}
