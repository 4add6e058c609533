/* The faults of a fake GPU: words in BALE_FAKE_GPU, separated by commas:
 *
 *   open      opening fails
 *   full=N    the first N times for lack of the device's memory
 *   environment
 *             opening fails and says what CUDA would see in it
 *   batch     all batches fail       batch=N   each Nth does
 *   first=N   the first N batches fail
 *   item=N    each Nth item fails, with some of its output and its frame spoiled
 *   again=N   each Nth item is refused for now
 *   corrupt   what is decoded is always said to be corrupt
 *   hang=US   each batch ends after so long, the time of its watchdog, and fails
 *   late=N    the first batch of a direction and each Nth after it are given up while their items are
 *             written. The outputs become rubbish then, and again with each of the three batches
 *             that come next, which are refused for now and do not count
 *   late-hangs
 *             and with all batches after it: the device is never back
 *   lost=N    after N batches the device is lost
 *   pin=N     only N ranges can be pinned
 *   delay=US  a batch takes so long
 *   slow=US   and so long to open
 *   open-hangs, pin-hangs, end-hangs
 *             opening, pinning or destroying never comes back
 *   find, find-hangs, find-dies
 *             looking for devices fails, never comes back, ends the process
 *   exclusive what is found is somebody else's alone
 *   lacks     and has no codecs
 *   measure   measuring fails
 *   spoils    what was measured comes back with other bytes
 *   cells=N   no more than N chunks are measured
 *   any       memory need not be pinned
 *   keeps     the context is kept when the device is given back
 *   cold      each batch has to open the device first
 *   copy=N    the Nth copy fails */
#ifndef BALE_TESTS_SUPPORT_FAKE_WORDS_H
#define BALE_TESTS_SUPPORT_FAKE_WORDS_H

/* The number of a word in BALE_FAKE_GPU; 1 for a word without a number, 0 if the word is not
 * there. */
unsigned fake_word(const char *word);

void fake_pause_us(unsigned us);

/* Never comes back if the word was said. */
void fake_hang_if(const char *word);

#endif
