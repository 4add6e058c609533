#include "tests/support/fake_late.h"

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

void fake_late_begin(struct fake_late *late, const struct bale_gpu_options *options,
                     const struct bale_item *list)
{
    const char *what = list->kind == BALE_ITEM_ENCODE ? "encode" : "decode";
    char text[BALE_GPU_WHY];

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
    if (options->late)
        options->late(options->arg, true);
}

void fake_late_write(const struct fake_late *late)
{
    for (unsigned i = 0; i < late->count; i++)
        memset(late->outputs[i].start, FAKE_RUBBISH, late->outputs[i].size);
}

bool fake_late_refuses(struct fake_late *late, bool comes_back)
{
    if (!late->options)
        return false;
    fake_late_write(late);
    late->batches -= comes_back;
    if (late->batches == 0)
        fake_late_end(late);
    return true;
}

void fake_late_end(struct fake_late *late)
{
    if (late->options && late->options->late)
        late->options->late(late->options->arg, false);
    free(late->outputs);
    *late = (struct fake_late){0};
}
