#include "tests/support/fake_quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 3 };

static struct fake_range output_of(const struct bale_item *item)
{
    if (item->kind == BALE_ITEM_ENCODE)
        return (struct fake_range){item->stored, item->capacity};
    return (struct fake_range){item->raw, item->frame.raw_length};
}

void fake_quarantine_begin(struct fake_quarantine *late, const struct bale_gpu_options *options,
                           const struct bale_item *list)
{
    const char *what = list->kind == BALE_ITEM_ENCODE ? "encode" : "decode";
    char text[BALE_REASON_SIZE];

    for (const struct bale_item *item = list; item; item = item->next) {
        late->outputs = realloc(late->outputs, (late->count + 1) * sizeof *late->outputs);
        if (!late->outputs)
            abort();
        late->outputs[late->count++] = output_of(item);
    }
    late->options = options;
    late->batches = BATCHES;
    snprintf(text, sizeof text, "GPU: Fake GPU: given up: a batch to %s", what);
    options->log(BALE_GPU_INFO, text);
    if (options->quarantine)
        options->quarantine(options->arg, true);
}

void fake_quarantine_write(const struct fake_quarantine *late)
{
    for (unsigned i = 0; i < late->count; i++)
        memset(late->outputs[i].start, FAKE_RUBBISH, late->outputs[i].size);
}

bool fake_quarantine_refuses(struct fake_quarantine *late, bool comes_back)
{
    if (!late->options)
        return false;
    fake_quarantine_write(late);
    late->batches -= comes_back;
    if (late->batches == 0)
        fake_quarantine_end(late);
    return true;
}

void fake_quarantine_end(struct fake_quarantine *late)
{
    if (late->options && late->options->quarantine)
        late->options->quarantine(late->options->arg, false);
    free(late->outputs);
    *late = (struct fake_quarantine){0};
}
