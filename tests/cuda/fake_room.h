/* Memory of a fake device that several processes share. BALE_FAKE_ROOM names a file that says how
 * many bytes are free, and is locked by who reads or changes it; without it all are. */
#ifndef BALE_TESTS_CUDA_FAKE_ROOM_H
#define BALE_TESTS_CUDA_FAKE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* UINT64_MAX: all are. */
uint64_t fake_room_free(void);
/* Takes so many bytes, or none: false. */
bool fake_room_take(uint64_t bytes);
void fake_room_give(uint64_t bytes);

#endif
