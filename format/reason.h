/* Why something failed, as one line of text for a message. */
#ifndef BALE_FORMAT_REASON_H
#define BALE_FORMAT_REASON_H

#ifdef __cplusplus
extern "C" {
#endif

#define BALE_REASON_SIZE 512

struct bale_reason {
    char text[BALE_REASON_SIZE]; /* ends with a zero byte; empty: nothing was set */
};

/* Writes the text, cut to fit. reason may be NULL: then nothing happens. The arguments may point
 * into other reasons, not into this one. */
void bale_reason_set(struct bale_reason *reason, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
