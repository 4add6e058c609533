#include "format/hash.h"

#include "tests/check.h"

enum { MOST = 4096 };

/* One length for each of XXH3's ways to hash; figures from xxHash's Python binding. */
static const struct {
    size_t length;
    uint64_t hash;
} cases[] = {
    {0, UINT64_C(0x2d06800538d394c2)},    {1, UINT64_C(0xc44bdff4074eecdb)},
    {3, UINT64_C(0xc3489259e968ad9e)},    {4, UINT64_C(0xd3d60c1519014e89)},
    {8, UINT64_C(0xb88dee77f6bf6980)},    {9, UINT64_C(0x03688dcad730d826)},
    {16, UINT64_C(0x9da23836adf2be1e)},   {17, UINT64_C(0xf34c3c9cf5a112d1)},
    {128, UINT64_C(0x65f3c2c00fa93185)},  {129, UINT64_C(0x28065c6ec25f5b25)},
    {240, UINT64_C(0x4917a75c0ef8eed7)},  {241, UINT64_C(0x541b19226f0052e8)},
    {1024, UINT64_C(0x71bee625238addb4)}, {1025, UINT64_C(0xd9b414f4e1bbf7ad)},
    {MOST, UINT64_C(0x5c722d9ceb6f9064)},
};

int main(void)
{
    uint8_t bytes[MOST + 1];

    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK_EQ_U(bale_hash(bytes, cases[i].length), cases[i].hash);

    /* Alignment makes no difference. */
    memmove(bytes + 1, bytes, MOST);
    CHECK_EQ_U(bale_hash(bytes + 1, MOST), cases[sizeof(cases) / sizeof(cases[0]) - 1].hash);
    return check_result();
}
