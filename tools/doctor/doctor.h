/* What balefs doctor finds. */
#ifndef BALE_TOOLS_DOCTOR_DOCTOR_H
#define BALE_TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>

#include <jansson.h>

enum bale_finding {
    BALE_FINDING_FINE,
    BALE_FINDING_NOTE, /* works, with less */
    BALE_FINDING_BAD,  /* something will not work */
};

struct bale_doctor {
    json_t *json; /* an array, or NULL: lines on stdout */
    bool bad;     /* one of them was */
};

/* One line. advice: what to do, or NULL where nothing is to be done; every BALE_FINDING_BAD has
 * some. */
void bale_doctor_report(struct bale_doctor *doctor, const char *name, enum bale_finding finding,
                        const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* This machine, for this user. */
void bale_doctor_machine(struct bale_doctor *doctor);
/* Its GPU, and what a mount would do with it; part of the machine. */
void bale_doctor_gpu(struct bale_doctor *doctor);
/* path: a store, or a directory that is to become one. */
void bale_doctor_store(struct bale_doctor *doctor, const char *path);

#endif
