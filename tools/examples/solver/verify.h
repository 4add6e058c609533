/* The solver against what is known exactly. */
#ifndef WAVE_VERIFY_H
#define WAVE_VERIFY_H

#include "team.h"

/* Prints a line for each check on stdout. 0; -EDOM when one fails; another negative errno,
 * reported. */
int wave_verify(struct wave_team *team);

#endif
