/* Compresses or decompresses files one after the other, for balefs compress and balefs decompress.
 */
#ifndef BALE_TOOLS_STREAM_PACKING_H
#define BALE_TOOLS_STREAM_PACKING_H

#include "kernels/engine/dispatch.h"
#include "tools/stream/pack.h"

#define BALE_SUFFIX ".bale"

struct bale_packing {
    struct bale_pack pack;
    double relative; /* not 0: the bound of pack.setting is this part of each file's range */
    enum bale_engine_choice engine;
    const char *output; /* -o, or NULL */
    bool unpacks;
    bool to_stdout;
    bool force;
    bool test; /* decompresses to nowhere */
    bool verbose;
};

/* names: count files, where "-" is standard input; without files standard input is used. Creates
 * the engine. Returns the exit code. */
int bale_packing_run(struct bale_packing *packing, int count, char **names);

#endif
