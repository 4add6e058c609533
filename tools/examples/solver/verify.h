/* Checks the solver against exact solutions. */
#ifndef WAVE_VERIFY_H
#define WAVE_VERIFY_H

#include "team.h"

/* Prints a line for each check to stdout. 0; -EDOM if a check fails; another negative errno, after
 * a message. */
int wave_verify(struct wave_team *team);

#endif
