/* How far a scrub of a store has come, in .balefs/scrub.json, so that the next run goes on
 * there. */
#ifndef BALE_TOOLS_INSPECT_SCRUB_STATE_H
#define BALE_TOOLS_INSPECT_SCRUB_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/reason.h"

struct bale_scrub_state {
    int fd;          /* of the file, locked; -1: it cannot be written, and nothing is kept */
    char begun[24];  /* UTC, as 2026-11-02T10:11:12Z */
    char *path;      /* the last file that was read, relative to the store; NULL: none yet */
    uint64_t offset; /* up to which it was; UINT64_MAX: all of it */
    uint64_t files, bytes, damaged; /* bytes as they are stored */
    json_t *problems;               /* as bale_fault_json */
    bool continued;                 /* what an earlier run had read is in it */
};

/* Takes over what an earlier run has left, unless it had finished or restart is set. root: the
 * store's directory. BALE_OK; why is then empty, or says why nothing can be kept. BALE_E_BUSY:
 * another scrub of the store is at work. */
int bale_scrub_state_open(int root, bool restart, struct bale_scrub_state *state,
                          struct bale_reason *why);

/* *path and offset are what was read last. */
void bale_scrub_state_move(struct bale_scrub_state *state, const char *path, uint64_t offset);

/* Writes the state. False: it could not be written. */
bool bale_scrub_state_keep(const struct bale_scrub_state *state, bool finished);

void bale_scrub_state_close(struct bale_scrub_state *state);

/* The order in which files are read: depth first, by name. Less than 0, 0, more. */
int bale_scrub_order(const char *a, const char *b);

#endif
