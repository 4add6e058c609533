/* Sizes of splits and of tables of slots (spec.md). Streams have these; tests/bench/paper-fsst
 * compiles the codec with others, in a program of its own, to show what they are worth. */
#ifndef BALE_KERNELS_FSST_SIZES_H
#define BALE_KERNELS_FSST_SIZES_H

#ifndef BALE_FSST_SPLIT_LOG2
#define BALE_FSST_SPLIT_LOG2 9 /* raw bytes of a split */
#define BALE_FSST_LONG_LOG2 10 /* slots of symbols of three bytes and more */
#define BALE_FSST_PAIR_LOG2 9  /* slots of symbols of two bytes */
#endif

#endif
