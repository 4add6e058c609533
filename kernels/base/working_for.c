#include "kernels/base/working_for.h"

_Thread_local uint32_t bale_working_for;
