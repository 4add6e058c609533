/* The findings of balefs doctor. */
#ifndef BALE_TOOLS_DOCTOR_DOCTOR_H
#define BALE_TOOLS_DOCTOR_DOCTOR_H

#include <stdbool.h>

#include <jansson.h>

enum bale_finding {
    BALE_FINDING_FINE,
    BALE_FINDING_NOTE, /* works, with restrictions */
    BALE_FINDING_BAD,  /* something will not work */
};

struct bale_doctor {
    json_t *json;  /* an array, or NULL: lines on stdout */
    bool bad;      /* one finding was BALE_FINDING_BAD */
    bool open_gpu; /* bale_doctor_gpu opens the GPU as a mount would, and reports the times */
};

/* Reports one finding. advice: what the user can do, or NULL; a BALE_FINDING_BAD always has advice.
 */
void bale_doctor_report(struct bale_doctor *doctor, const char *name, enum bale_finding finding,
                        const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Checks this machine, for this user. */
void bale_doctor_machine(struct bale_doctor *doctor);
/* Checks the GPU, and what a mount would do with it; part of bale_doctor_machine. */
void bale_doctor_gpu(struct bale_doctor *doctor);
/* What concerns clusters: other machines, mount options, quotas, and programs that remove old
 * files. */
void bale_doctor_cluster(struct bale_doctor *doctor, const char *path);
/* The last of these alone. shared: several machines have the file system mounted. */
void bale_doctor_purge(struct bale_doctor *doctor, const char *path, bool shared);
/* Checks the file system of path, a store or a directory that may become one. */
void bale_doctor_store(struct bale_doctor *doctor, const char *path);

#endif
