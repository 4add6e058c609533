"""Decimals stored as doubles, for `fields`: what programs write who read text, and ALP's ratio on them."""
from __future__ import annotations

from collections import Counter

import numpy as np

VECTOR, GROUP = 1024, 100           # elements of ALP's vectors, and vectors of a row group
SAMPLES, EACH, TRIED = 8, 32, 5     # vectors of a group that are sampled, elements of one; pairs that a vector tries
EXPONENT_MAX = 18
HEADER = 8 + 4                      # bytes of a vector: the least integer, the pair, the width, the exceptions' number
EXCEPTION = 8 + 2


def kinds(n: int) -> dict[str, np.ndarray]:
    """Eight kinds of n doubles or a few less."""
    dice = np.random.default_rng(1)

    def walk(count: int, step: float) -> np.ndarray:
        return np.cumsum(dice.normal(0, step, count))

    def measured(count: int) -> np.ndarray:
        daily = 8 * np.sin(np.arange(count) * 2 * np.pi / 1440)
        return np.round(15 + daily + 0.05 * walk(count, 1) + dice.normal(0, 0.1, count), 1)

    def amounts(count: int) -> np.ndarray:
        return np.round(dice.lognormal(3, 1.2, count), 2)

    def table(*columns: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.column_stack(columns)).reshape(-1)

    q, s = n // 4, n // 6
    missing = measured(q)
    missing[dice.random(q) < 0.02] = np.nan
    quantity, price = dice.integers(1, 20, s).astype(float), np.round(dice.choice(amounts(200), s), 2)
    return {
        "prices, a walk in cents": np.round(100 + walk(n, 0.03), 2),
        "sensors, a table of four, three digits": table(*(
            np.round(base + walk(q, step) + dice.normal(0, noise, q), 3)
            for base, step, noise in ((21, 0.002, 0.01), (1013, 0.01, 0.05), (45, 0.02, 0.2), (3, 0.001, 0.004)))),
        "amounts, nine in ten zero": np.where(dice.random(n) < 0.9, 0, amounts(n)),
        "coordinates, pairs with six digits": table(*(np.round(at + walk(n // 2, 1e-4), 6) for at in (52.5, 13.4))),
        "percentages, one digit": np.round(100 * dice.beta(2, 5, n), 1),
        "timestamps, seconds with three digits": np.round(1.76e9 + np.cumsum(dice.exponential(0.8, n)), 3),
        "a CSV file of six columns": table(
            1e5 + np.arange(s), np.floor(1.76e9 + np.cumsum(dice.exponential(30, s))), quantity, price,
            np.round(quantity * price, 2), dice.choice([0, 0.07, 0.19], s)),
        "mixed: columns behind each other": np.concatenate(
            [np.round(100 + walk(q, 0.03), 2), missing, dice.integers(0, 500, q) / dice.integers(1, 500, q), amounts(q)]),
    }


def integers(x: np.ndarray, e: int, f: int) -> tuple[np.ndarray, np.ndarray]:
    """ALP's integers of elements with an exponent and a factor, and which elements they are."""
    with np.errstate(all="ignore"):
        rounded = np.rint(x * 10.0 ** e * 10.0 ** -f)
        fits = np.abs(rounded) < 2.0 ** 62
        d = np.where(fits, rounded, 0).astype(np.int64)
        back = d.astype(float) * 10.0 ** f * 10.0 ** -e
    return d, fits & (back.view(np.uint64) == x.view(np.uint64))


def vector_bits(x: np.ndarray, e: int, f: int) -> int:
    """What elements take: offsets from the least integer, all of one width, and the exceptions."""
    d, fits = integers(x, e, f)
    exceptions = 8 * EXCEPTION * int(len(x) - fits.sum())
    return exceptions + (int(d[fits].max() - d[fits].min()).bit_length() * len(x) if fits.any() else 0)


def best_pair(x: np.ndarray) -> tuple[int, int]:
    return min(((e, f) for e in range(EXPONENT_MAX, -1, -1) for f in range(e, -1, -1)),
               key=lambda pair: vector_bits(x, *pair))


def real_bits(group: np.ndarray, sample: np.ndarray) -> int:
    """ALP_rd, for groups that are no decimals: the left bits by a dictionary of eight, and the others as they are."""
    def cost(x: np.ndarray, left: int) -> int:
        counts = [count for _, count in Counter((x >> np.uint64(64 - left)).tolist()).most_common(8)]
        index = (len(counts) - 1).bit_length()
        return len(x) * (64 - left + index) + (len(x) - sum(counts)) * 32

    left = min(range(1, 17), key=lambda bits: cost(sample.view(np.uint64), bits))
    return cost(group.view(np.uint64), left)


def alp(x: np.ndarray) -> int:
    """The bytes that ALP takes (Afroozeh, Kuffo, Boncz: SIGMOD 2024, section 3)."""
    stored = 0

    for at in range(0, len(x), VECTOR * GROUP):
        vectors = [x[k:k + VECTOR] for k in range(at, min(at + VECTOR * GROUP, len(x)), VECTOR)]
        sampled = [v[::max(1, len(v) // EACH)][:EACH] for v in vectors[::max(1, len(vectors) // SAMPLES)][:SAMPLES]]
        pairs = [pair for pair, _ in Counter(best_pair(v) for v in sampled).most_common(TRIED)]
        group = x[at:at + VECTOR * GROUP]
        decimal = sum(HEADER * 8 + min(vector_bits(v, *pair) for pair in pairs) for v in vectors)
        stored += min(decimal, real_bits(group, np.concatenate(sampled))) // 8
    return stored
