/* What the two arrays that are compared are: from options, attributes and headers. */
#ifndef BALE_TOOLS_QUALITY_DESCRIBE_H
#define BALE_TOOLS_QUALITY_DESCRIBE_H

#include "tools/balefs.h"
#include "tools/quality/compare.h"

/* The values of options, as they were given; NULL: not given. */
struct bale_quality_said {
    const char *type, *dims, *offset, *bound;
    bool big_endian;
};

/* Sets field and bound of a pair whose files are open: with a type what the options say, else what
 * the copy's attribute says; of npy what the headers say, which agree. 0, or the exit status after a
 * message. */
int bale_quality_describe(const struct bale_command *command, const struct bale_quality_said *said,
                          struct bale_quality_pair *pair);

#endif
