#include "tools/inspect/fault.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/common/json.h"

void bale_fault_text(const struct bale_fault *fault, char *text, size_t size)
{
    bool hex = (fault->expected | fault->found) >>
               48; /* these are checksums and ids: no count is so large */
    int used = snprintf(text, size, "offset %" PRIu64 ": %s", fault->offset, fault->what);

    if (fault->expected != fault->found)
        used += snprintf(text + used, size - (size_t)used,
                         hex ? ": expected 0x%016" PRIx64 " found 0x%016" PRIx64
                             : ": expected %" PRIu64 " found %" PRIu64,
                         fault->expected, fault->found);
    if (fault->position)
        snprintf(text + used, size - (size_t)used, " (position %" PRIu64 ")", fault->position);
}

json_t *bale_fault_json(const char *below, const struct bale_fault *fault)
{
    json_t *object = json_object();

    bale_json_path(object, "path", below);
    bale_json_text(object, "what", fault->what);
    bale_json_count(object, "offset", fault->offset);
    bale_json_count(object, "length", fault->length);
    bale_json_count(object, "position", fault->position);
    bale_json_hex(object, "expected", fault->expected);
    bale_json_hex(object, "found", fault->found);
    return object;
}
