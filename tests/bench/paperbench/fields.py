"""What paper-gpulz compresses, in kind of the data sets of gpuLZ (4.1): drawn, the same each time."""

import array
import itertools
import math
import operator
import random
import sys

from mountbench.machine import run

from . import terrain

WIDTH = 2048
FIELD = 1 << 20  # values of one or two dimensions that are quantised together
BOUND = 1e-3  # of the range of the values
RADIUS = 512  # codes are below twice that; 0 is for what is not among them
WORDS = """about above accounts across after against along among asymptotes attainments beneath beside between
blithely bold boost braids busily cajole carefully daring deposits detect dependencies doggedly dolphins doze dugouts
engage epitaphs escapades even excuses express final foxes frays furiously grow haggle hockey ideas idly instructions
integrate ironic kindle lose maintain nag never orbits packages packets patterns pearls pending pinto platelets
players poach quickly quietly realms regular requests ruthless sauternes sentiments sheaves silent slyly solve special
stealthy theodolites thinly tithes unusual unwind wake warhorses warthogs waters""".split()


def floats_1d(count, _work, _solver):
    source = random.Random("float-1d")
    steps = map(operator.sub, source.randbytes(count), source.randbytes(count))
    noise = map(operator.add, source.randbytes(count), source.randbytes(count))
    return array.array("f", (walk / 4 + 2 * rough for walk, rough in zip(itertools.accumulate(steps), noise)))


def floats_2d(count, _work, _solver):
    source = random.Random("float-2d")
    values = array.array("f")
    for row in terrain.rows("float-2d", WIDTH):
        values.extend(height + rough >> 7 for height, rough in zip(row, source.randbytes(WIDTH)))
        if len(values) >= count:
            return values[:count]
    return values


def _edge(count):
    """Of the fields of three dimensions."""
    return 64 if count >= 64**3 else 32


def floats_3d(count, work, solver, steps=200):
    """Snapshots of a simulation: in the first steps most is at rest, as in seismic imaging."""
    edge = _edge(count)
    fields = -(-count // edge**3)
    results = work / "solver"
    steps = max(steps, 4 * fields)
    run(solver, "--size", edge, "--steps", steps, "--snapshot-every", steps // fields, "--checkpoint-every", 0,
        "--out", results)
    values = array.array("f")
    for path in sorted(results.glob("field_*.f32"))[:fields]:
        values.frombytes(path.read_bytes())
    run("rm", "-rf", results)
    return values[:count]


def _differences(values, block, shift):
    """Each value less the one so many before it in its block."""
    out = []
    for begin in range(0, len(values), block):
        part = values[begin:begin + block]
        out += part[:shift]
        out += map(operator.sub, part[shift:], part)
    return out


def quantise(values, shape):
    """Codes of cuSZ of one field: multiples of twice the bound, less what Lorenzo's predictor says of their neighbours.
    shape: the lengths, the last varies fastest."""
    step = 2 * BOUND * (max(values) - min(values) or 1)
    codes = [round(value / step) for value in values]
    shift = 1
    for length in reversed(shape):
        codes = _differences(codes, shift * length, shift)
        shift *= length
    return array.array("H", (code + RADIUS if -RADIUS < code < RADIUS else 0 for code in codes))


def integers(count, _work, _solver):
    source = random.Random("int32").random
    values, order = array.array("i"), 0
    while len(values) < count:
        order += 1 if order % 32 < 8 else 25
        for line in range(1, 2 + int(7 * source())):
            part = 1 + int(200000 * source())
            values.extend((order, part, 1 + part * 7 % 10000, line, 1 + int(50 * source())))
    return values[:count]


def sentences(count, _work, _solver):
    source = random.Random("string")
    text = bytearray()
    while len(text) < count:
        words = " ".join(source.choices(WORDS, k=source.randrange(4, 14)))
        text += words.encode() + source.choice((b". ", b"; ", b"\n", b"\n", b"? "))
    return array.array("B", text[:count])


def _codes(values, shape):
    """Of one field after the other."""
    codes, field = array.array("H"), math.prod(shape)
    for begin in range(0, len(values), field):
        codes += quantise(values[begin:begin + field], shape)
    return codes


def codes_1d(count, work, solver):
    return _codes(floats_1d(count, work, solver), (FIELD,))


def codes_2d(count, work, solver):
    return _codes(floats_2d(count, work, solver), (FIELD // WIDTH, WIDTH))


def codes_3d(count, work, solver):
    return _codes(floats_3d(count, work, solver, 1000), (_edge(count),) * 3)


# By kind: what makes that many values, the bytes of one, what it is.
MAKERS = {
    "quant-3d": (codes_3d, 2, "quantisation codes, u16, of fields like float-3d's, 1000 steps long"),
    "quant-2d": (codes_2d, 2, "quantisation codes, u16, of float-2d"),
    "quant-1d": (codes_1d, 2, "quantisation codes, u16, of float-1d"),
    "int32": (integers, 4, "rows of order, part, supplier, line, quantity, as in TPC-H's lineitem"),
    "string": (sentences, 1, "sentences of some eighty words, as in TPC-H's comments"),
    "float-3d": (floats_3d, 4, "f32, 64^3 each: fields of bale-solver, 200 steps long"),
    "float-2d": (floats_2d, 4, "f32, 2048 a row: value noise of three octaves, and noise, of 15 bits, as measured"),
    "float-1d": (floats_1d, 4, "f32: a random walk, and noise, as velocities of particles"),
}
KINDS = tuple(MAKERS)


def make(kind, size, work, solver):
    """A file of that kind and size."""
    generate, width, what = MAKERS[kind]
    values = generate(size // width, work, solver)
    if sys.byteorder == "big":
        values.byteswap()
    path = work / kind
    path.write_bytes(values.tobytes())
    return path, what
