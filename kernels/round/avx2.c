/* Rounding with AVX2: the build allows it for this file. */
#include "kernels/round/loops.h"

#ifdef __x86_64__
#include <immintrin.h>

BALE_DEFINE_EXACT(__builtin_rint)

enum { VECTORS = 8 };
typedef __m256i WORDS;

static inline __m256i load(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline void store(uint8_t *to, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)to, x);
}

static inline __m256i f32_swap_if(__m256i x, bool swaps)
{
    const __m256i order = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3,
                                           2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);

    return swaps ? _mm256_shuffle_epi8(x, order) : x;
}

static inline __m256i f64_swap_if(__m256i x, bool swaps)
{
    const __m256i order = _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7,
                                           6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);

    return swaps ? _mm256_shuffle_epi8(x, order) : x;
}

/* The multiple, which may be -0. */
static inline __m256d multiple(const struct bale_rounding *rounding, __m256d x)
{
    const __m256d t = _mm256_mul_pd(x, _mm256_set1_pd(rounding->inverse));

    return _mm256_mul_pd(_mm256_round_pd(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                         _mm256_set1_pd(rounding->step));
}

/* Of x, which lies at from. Halves come faster from there, if they need no swap. */
static inline __m256 f32_multiple(const struct bale_rounding *rounding, const uint8_t *from,
                                  __m256 x, bool swaps)
{
    const float *at = (const float *)(const void *)from;
    const __m128 low = swaps ? _mm256_castps256_ps128(x) : _mm_loadu_ps(at);
    const __m128 high = swaps ? _mm256_extractf128_ps(x, 1) : _mm_loadu_ps(at + 4);
    const __m128 y_low = _mm256_cvtpd_ps(multiple(rounding, _mm256_cvtps_pd(low)));
    const __m128 y_high = _mm256_cvtpd_ps(multiple(rounding, _mm256_cvtps_pd(high)));

    return _mm256_add_ps(_mm256_set_m128(y_high, y_low), _mm256_setzero_ps());
}

static inline __m256d f64_multiple(const struct bale_rounding *rounding, const uint8_t *from,
                                   __m256d x, bool swaps)
{
    (void)from;
    (void)swaps;
    return _mm256_add_pd(multiple(rounding, x), _mm256_setzero_pd());
}

#define PASTED(name, suffix) _mm256_##name##_##suffix
#define PASTE(name, suffix) PASTED(name, suffix)
#define OP(name) PASTE(name, SUFFIX)
#define MASK VECTOR
#define COMPARE(a, b, how) OP(cmp)(a, b, how)
#define EITHER(m, n) OP(or)(m, n)
#define BOTH(m, n) OP (and)(m, n)
#define ANY(m) (OP(movemask)(m) != 0)
#define PICK(m, a, b) OP(blendv)(b, a, m)
#define MAGNITUDE(a) OP(andnot)(OP(set1)((ELEMENT)-0.0), a)

#define OF(name) f32_##name
#define ELEMENT float
#define QUICK_LOG2 21
#define VECTOR __m256
#define SUFFIX ps
#include "kernels/round/quick.inc"

#define OF(name) f64_##name
#define ELEMENT double
#define QUICK_LOG2 49
#define VECTOR __m256d
#define SUFFIX pd
#include "kernels/round/quick.inc"

void bale_round_avx2(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,
                     size_t count)
{
    (rounding->type == BALE_ROUND_F32 ? f32_round : f64_round)(rounding, out, in, count);
}
#endif
