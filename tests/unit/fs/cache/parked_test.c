/* Users whose writes wait for memory take turns. */
#include "fs/cache/parked.h"

#include "tests/check.h"

enum { FLOOD = 1000 };

static struct bale_parked_write writes[FLOOD + 3];

/* The place of a write in the order. */
static unsigned place_of(const struct bale_parked_write *list,
                         const struct bale_parked_write *write)
{
    unsigned place = 0;

    for (; list && list != write; list = list->next)
        place++;
    CHECK(list == write);
    return place;
}

int main(void)
{
    for (unsigned i = 0; i < FLOOD + 3; i++)
        writes[i] = (struct bale_parked_write){.user = 1001,
                                               .next = i + 1 < FLOOD + 3 ? &writes[i + 1] : NULL};
    writes[FLOOD].user = 1002;
    writes[FLOOD + 1].user = 0;
    writes[FLOOD + 2].user = 1002;
    struct bale_parked_write *list = bale_parked_take_turns(writes);
    CHECK(place_of(list, &writes[FLOOD]) < 3);
    CHECK(place_of(list, &writes[FLOOD + 1]) < 3);
    CHECK(place_of(list, &writes[FLOOD + 2]) < 6);
    CHECK(place_of(list, &writes[FLOOD]) < place_of(list, &writes[FLOOD + 2]));
    for (unsigned i = 1; i < FLOOD; i++)
        CHECK(place_of(list, &writes[i - 1]) < place_of(list, &writes[i]));
    CHECK(bale_parked_take_turns(NULL) == NULL);
    return check_result();
}
