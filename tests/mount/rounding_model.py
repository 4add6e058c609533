"""Arrays whose elements are rounded, as kernels/round/spec.md says, and data for them."""
import math
import os
import struct
import sys
from fractions import Fraction

PAGE = 4096
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of HDF5, behind a user block at a power of two of PAGE bytes or more
LINES = ["*.f32 cusz:f32,abs=0.001", "*.odd cusz:f32,abs=0.25,offset=7", "*.f64 cusz:f64,abs=1e-7,be", "*.npy cusz:npy,abs=0.01"]
FILES = ("a.f32", "a.odd", "a.f64")


def bound_of(text):
    """The greatest binary64 that is not above the decimal text."""
    bound = float(text)
    return bound if Fraction(bound) <= Fraction(text) else math.nextafter(bound, 0) if hasattr(math, "nextafter") else \
        struct.unpack("<d", struct.pack("<q", struct.unpack("<q", struct.pack("<d", bound))[0] - 1))[0]


def between_parts(at, data):
    """What of a write of data lies between parts of a signature at its ends, the rest of which it has not."""
    begin, end = at, at + len(data)
    for place in (1 << n for n in range(12, 63)):
        part = SIGNATURE[max(0, at - place):][:len(data)]
        if place < at < place + len(SIGNATURE) and data.startswith(part):
            begin += len(part)
        if at <= place < end < place + len(SIGNATURE) and SIGNATURE.startswith(data[place - at:]):
            end = place
    return begin, end


class Kind:
    """Type, bound and place of an array."""

    def __init__(self, code, bound, offset=0):
        self.code, self.bound, self.offset = code, bound_of(bound), offset
        self.width = struct.calcsize(code)

    def multiple(self, x):
        step = 2 * self.bound
        q = x * (1 / step)
        y = float(round(q)) * step if math.isfinite(q) else q
        try:
            return struct.unpack(self.code, struct.pack(self.code, y))[0]
        except OverflowError:
            return math.inf

    def rounded(self, raw):
        """The bytes of one element after rounding, from kernels/round/spec.md."""
        x = struct.unpack(self.code, raw)[0]
        if not math.isfinite(x):
            return raw
        y = self.multiple(x)
        if not math.isfinite(y) or abs(Fraction(x) - Fraction(y)) > Fraction(self.bound):
            return raw
        y += 0.0
        bits = struct.pack(self.code, y)
        return bits if struct.pack(self.code, self.multiple(y) + 0.0) == bits else raw

    def whole(self, at, data):
        """Where the elements begin that lie in data at `at` as a whole, and not across a page, nor have a part of what
        may be one of a signature."""
        begin, end = between_parts(at, data)
        first = max(begin, self.offset)
        first += (self.offset - first) % self.width
        for place in range(first, end - self.width + 1, self.width):
            if place // PAGE == (place + self.width - 1) // PAGE:
                yield place

    def write(self, content, at, data):
        """What a write makes of a bytearray; `content` grows as a file does."""
        if len(content) < at + len(data):
            content.extend(bytes(at + len(data) - len(content)))
        content[at : at + len(data)] = data
        for place in self.whole(at, data):
            content[place : place + self.width] = self.rounded(bytes(content[place : place + self.width]))


KINDS = {".f32": Kind("<f", "0.001"), ".odd": Kind("<f", "0.25", 7), ".f64": Kind(">d", "1e-7")}


def kind_of(name):
    return KINDS[os.path.splitext(name)[1]]


def wrong(text):
    print(f"rounding: {text}", file=sys.stderr)
    sys.exit(1)


def same(got, want, what):
    if got != want:
        at = next((i for i, pair in enumerate(zip(got, want)) if pair[0] != pair[1]), min(len(got), len(want)))
        wrong(f"{what}: differs from byte {at} on: {bytes(got[at:at + 8]).hex()}, not {bytes(want[at:at + 8]).hex()}; "
              f"{len(got)} bytes, not {len(want)}")


def draw(kind, count, rng):
    """Bytes of so many elements: of a field, and some that strain rounding."""
    strange = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324 if kind.width == 8 else 1e-45, 3e38, -kind.bound, kind.bound,
               3 * kind.bound, -5 * kind.bound]
    values = [rng.choice(strange) if rng.random() < 0.05 else math.sin(i / 9) * 40 + rng.random() for i in range(count)]
    return b"".join(struct.pack(kind.code, value) for value in values)


def read(path):
    with open(path, "rb") as file:
        return file.read()
