#include "kernels/engine/engine.h"

void bale_engine_destroy(struct bale_engine *engine)
{
    if (engine)
        engine->ops->destroy(engine);
}
