/* A fixed team of threads that runs one function over a range, in contiguous slabs. */
#ifndef WAVE_TEAM_H
#define WAVE_TEAM_H

struct wave_team;

enum { WAVE_THREADS_MAX = 256 };

/* Work on items first to last - 1. Called once by each thread whose slab is not empty. */
typedef void wave_team_work(void *arg, int first, int last);

/* The calling thread is one of the team, so 1 starts none. 0, or a negative errno; *out is NULL
 * then. Members (and the caller) treat denormal numbers as 0 where the processor offers it:
 * decaying fields are full of them, and they are a hundred times slower. */
int wave_team_create(int threads, struct wave_team **out);
void wave_team_destroy(struct wave_team *team);

/* Returns when all items are done. One caller at a time, the thread that created the team. */
void wave_team_run(struct wave_team *team, wave_team_work *work, void *arg, int items);

int wave_team_threads(const struct wave_team *team);

#endif
