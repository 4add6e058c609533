#include <stdio.h>

#include "format/err.h"
#include "format/reason.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/fake_words.h"

/* Known figures: half the bytes, as many GB/s as the codec's id is, and back four times that. */
static int measure_one(struct bale_gpu_trial *trial)
{
    uint32_t lacking = ~fake_codecs() | 1u << BALE_CODEC_STORE | 1u << BALE_CODEC_ZERO;
    uint64_t raw = 0;

    trial->measured =
        fake_word("cells") && fake_word("cells") < trial->count ? fake_word("cells") : trial->count;
    for (size_t i = 0; i < trial->count; i++) {
        const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
        struct bale_setting setting = {.codec = trial->codec,
                                       .parameter = (int16_t)chunk->parameter};
        if (lacking >> trial->codec & 1 || chunk->length > 64 << 10 ||
            bale_setting_is_open(setting) ||
            setting.parameter > bale_codec_about(trial->codec)->most)
            return BALE_E_INVALID;
        if (i < trial->measured)
            raw += chunk->length;
    }
    trial->stored = raw / 2;
    trial->encode_ns = raw / trial->codec;
    trial->decode_ns = trial->encode_ns / 4;
    return fake_word("spoils") ? BALE_E_CORRUPT : BALE_OK;
}

int fake_measure(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                 size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                 struct bale_reason *why)
{
    (void)options;
    if (fake_word("measure")) {
        bale_reason_set(why, "no memory: BALE_FAKE_GPU says so");
        return BALE_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (tick)
            tick(argument, i);
        trials[i].status = measure_one(&trials[i]);
    }
    return BALE_OK;
}
