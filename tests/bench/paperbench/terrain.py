"""Height fields: value noise of several octaves, in integers, so that every machine makes the same."""

import itertools
import operator
import random

LEVEL_LOG2 = 12  # a level of height is that many units


def _knots(source, count, most):
    return [source.randrange(most) for _ in range(count)]


def _octave(source, width, log2, most):
    """Rows of one octave: between random heights, 2^log2 apart, linear both ways; up to most << 2 log2."""
    step = 1 << log2
    count = width // step + 2
    below = _knots(source, count, most)
    while True:
        above, below = below, _knots(source, count, most)
        for y in range(step):
            line = [a * (step - y) + b * y for a, b in zip(above, below)]
            cells = (range(a * step, b * step, b - a) if a != b else itertools.repeat(a * step, step)
                     for a, b in zip(line, line[1:]))
            yield list(itertools.islice(itertools.chain.from_iterable(cells), width))


def rows(seed, width, octaves=(8, 6, 4)):
    """Rows of heights without end. Each octave is half as high as the one before it."""
    sources = [random.Random(f"{seed} {log2}") for log2 in octaves]
    top = 2 * octaves[0]
    each = [_octave(source, width, log2, 128 << (top - 2 * log2 - number))
            for number, (source, log2) in enumerate(zip(sources, octaves))]
    shift = top - LEVEL_LOG2
    while True:
        total = next(each[0])
        for octave in each[1:]:
            total = list(map(operator.add, total, next(octave)))
        yield [value >> shift for value in total]
