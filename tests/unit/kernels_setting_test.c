/* The notation of codec settings. */
#include "format/err.h"
#include "kernels/codec.h"
#include "tests/check.h"

static void test_good(void)
{
    static const struct {
        const char *text;
        const char *printed;
        uint8_t codec;
        int16_t parameter;
    } rows[] = {
        {"auto", "auto", BALE_CODEC_AUTO, 0},
        {"store", "store", BALE_CODEC_STORE, 0},
        {"lz4", "lz4", BALE_CODEC_LZ4, 0},
        {"zstd", "zstd:1", BALE_CODEC_ZSTD, 1},
        {"zstd:1", "zstd:1", BALE_CODEC_ZSTD, 1},
        {"zstd:19", "zstd:19", BALE_CODEC_ZSTD, 19},
        {"zstd:-7", "zstd:-7", BALE_CODEC_ZSTD, -7},
        {"zstd:level=3", "zstd:3", BALE_CODEC_ZSTD, 3},
        {"zstd:level=-1", "zstd:-1", BALE_CODEC_ZSTD, -1},
        {"zstd:007", "zstd:7", BALE_CODEC_ZSTD, 7},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bale_setting setting = {77, 77};
        char text[BALE_SETTING_TEXT];

        if (!CHECK_EQ(bale_setting_parse(rows[i].text, &setting, NULL, 0), BALE_OK))
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
    static const char known[] = "Known are auto, store, zero, lz4 and zstd.";
    static const char option[] = "which has level=NUMBER.";
    static const char range[] = "-7 to 19 without 0";
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
        {"auto:1", "The codec auto has no options."},
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
        {"zstd:0", range},
        {"zstd:-0", range},
        {"zstd:-8", range},
        {"zstd:20", range},
        {"zstd:level=22", "not 22."},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bale_setting setting = {77, 77};
        char why[200] = "";

        CHECK_EQ(bale_setting_parse(rows[i].text, &setting, why, sizeof why), BALE_E_INVALID);
        if (!CHECK(strstr(why, rows[i].why) != NULL))
            fprintf(stderr, "\"%s\": %s\n", rows[i].text, why);
        CHECK(strchr(why, '\n') == NULL && why[strlen(why) - 1] == '.');
        CHECK_EQ(setting.codec, 77);
        CHECK_EQ(bale_setting_parse(rows[i].text, &setting, NULL, 0), BALE_E_INVALID);
        CHECK_EQ(bale_setting_parse(rows[i].text, &setting, why, 1), BALE_E_INVALID);
        CHECK_EQ_STR(why, "");
    }
}

static void test_long(void)
{
    struct bale_setting setting;
    char text[5000];
    char why[300];

    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ(bale_setting_parse(text, &setting, why, sizeof why), BALE_E_INVALID);
    memcpy(text, "zstd:", 5);
    CHECK_EQ(bale_setting_parse(text, &setting, why, sizeof why), BALE_E_INVALID);
}

/* Every pair a root could hold: it is valid exactly if it prints to a text that parses to it. */
static void test_pairs(void)
{
    unsigned valid = 0;

    for (int codec = 0; codec < 256; codec++)
        for (int parameter = INT16_MIN; parameter <= INT16_MAX; parameter++) {
            struct bale_setting setting = {(uint8_t)codec, (int16_t)parameter};
            struct bale_setting parsed;
            char text[BALE_SETTING_TEXT];

            if (!bale_setting_valid(setting))
                continue;
            valid++;
            bale_setting_print(setting, text, sizeof text);
            if (CHECK_EQ(bale_setting_parse(text, &parsed, NULL, 0), BALE_OK))
                CHECK(parsed.codec == codec && parsed.parameter == parameter);
        }
    CHECK_EQ_U(valid, 4 + 26);
}

static void test_registry(void)
{
    unsigned known = 0;

    for (int id = 0; id < 256; id++) {
        const struct bale_codec *codec = bale_codec_find((uint8_t)id);

        if (id == BALE_CODEC_AUTO)
            CHECK_EQ_STR(bale_codec_name((uint8_t)id), "auto");
        else
            CHECK_EQ_STR(bale_codec_name((uint8_t)id), codec ? codec->name : NULL);
        if (codec) {
            known++;
            CHECK_EQ(codec->id, id);
            CHECK(!codec->encode == !codec->decode);
        }
    }
    CHECK_EQ_U(known, 4);
}

int main(void)
{
    test_good();
    test_bad();
    test_long();
    test_pairs();
    test_registry();
    return check_result();
}
