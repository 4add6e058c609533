/* Rounding with AVX-512: the build allows it for this file. */
#include "kernels/round/loops.h"

#ifdef __x86_64__
#include <immintrin.h>

BALE_DEFINE_EXACT(__builtin_rint)

enum { VECTORS = 8 };
typedef __m512i WORDS;

static inline __m512i load(const uint8_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline void store(uint8_t *to, __m512i x)
{
    _mm512_storeu_si512(to, x);
}

static inline __m512i f32_swap_if(__m512i x, bool swaps)
{
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));

    return swaps ? _mm512_shuffle_epi8(x, order) : x;
}

static inline __m512i f64_swap_if(__m512i x, bool swaps)
{
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));

    return swaps ? _mm512_shuffle_epi8(x, order) : x;
}

/* The multiple, which may be -0. */
static inline __m512d multiple(const struct bale_rounding *rounding, __m512d x)
{
    const __m512d t = _mm512_mul_pd(x, _mm512_set1_pd(rounding->inverse));

    return _mm512_mul_pd(_mm512_roundscale_pd(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                         _mm512_set1_pd(rounding->step));
}

/* Of x, which lies at from. Halves come faster from there, if they need no swap. */
static inline __m512 f32_multiple(const struct bale_rounding *rounding, const uint8_t *from,
                                  __m512 x, bool swaps)
{
    const float *at = (const float *)(const void *)from;
    const __m256 low = swaps ? _mm512_castps512_ps256(x) : _mm256_loadu_ps(at);
    const __m256 high = swaps ? _mm512_extractf32x8_ps(x, 1) : _mm256_loadu_ps(at + 8);
    const __m256 y_low = _mm512_cvtpd_ps(multiple(rounding, _mm512_cvtps_pd(low)));
    const __m256 y_high = _mm512_cvtpd_ps(multiple(rounding, _mm512_cvtps_pd(high)));

    return _mm512_add_ps(_mm512_insertf32x8(_mm512_castps256_ps512(y_low), y_high, 1),
                         _mm512_setzero_ps());
}

static inline __m512d f64_multiple(const struct bale_rounding *rounding, const uint8_t *from,
                                   __m512d x, bool swaps)
{
    (void)from;
    (void)swaps;
    return _mm512_add_pd(multiple(rounding, x), _mm512_setzero_pd());
}

#define PASTED(name, suffix) _mm512_##name##_##suffix
#define PASTE(name, suffix) PASTED(name, suffix)
#define OP(name) PASTE(name, SUFFIX)
#define COMPARED(suffix) _mm512_cmp_##suffix##_mask
#define COMPARING(suffix) COMPARED(suffix)
#define MASK unsigned
#define COMPARE(a, b, how) COMPARING(SUFFIX)(a, b, how)
#define EITHER(m, n) ((m) | (n))
#define BOTH(m, n) ((m) & (n))
#define ANY(m) ((m) != 0)
#define MAGNITUDE(a) OP(abs)(a)

#define OF(name) f32_##name
#define ELEMENT float
#define QUICK_LOG2 21
#define VECTOR __m512
#define SUFFIX ps
#define PICK(m, a, b) OP(mask_mov)(b, (__mmask16)(m), a)
#include "kernels/round/quick.inc"

#undef PICK
#define OF(name) f64_##name
#define ELEMENT double
#define QUICK_LOG2 49
#define VECTOR __m512d
#define SUFFIX pd
#define PICK(m, a, b) OP(mask_mov)(b, (__mmask8)(m), a)
#include "kernels/round/quick.inc"

void bale_round_avx512(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,
                       size_t count)
{
    (rounding->type == BALE_ROUND_F32 ? f32_round : f64_round)(rounding, out, in, count);
}
#endif
