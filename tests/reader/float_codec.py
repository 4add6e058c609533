"""A decoder of the codec float, written from kernels/float/spec.md alone."""
from __future__ import annotations

import functools
import struct
from typing import Callable, NamedTuple, Optional

MANTISSA = {2: 10, 4: 23, 8: 52}
STRIDE_MAX = 1 << 26
DECIMAL = 1 << 15
DIGITS_MAX = {4: 10, 8: 22}
SINGLES_ABOVE = 16


class Corrupt(Exception):
    """A part or chunk that breaks a rule."""


def require(good: bool) -> None:
    if not good:
        raise Corrupt


class Layout(NamedTuple):
    size: int
    floats: bool
    order: str
    singles: bool
    lead: int
    shift: int
    exponent: int
    passes: list[tuple[int, int]]     # order and stride along x, y and z
    details: Optional[tuple[int, int]]     # of interpolated rows: orders along x of odd ones, and of those between two


class Bits:
    def __init__(self, data: bytes) -> None:
        self.value, self.at, self.length = int.from_bytes(data, "little"), 0, len(data)

    def take(self, count: int) -> int:
        taken = self.value >> self.at & ((1 << count) - 1)
        self.at += count
        return taken

    def end(self) -> None:
        require(-(-self.at // 8) == self.length and self.value >> self.at == 0)


def read_details(part: bytes) -> Optional[tuple[int, int]]:
    if len(part) == 13:
        return None
    odd, between = part[13] & 3, part[13] >> 2
    require(odd <= 2 and between <= 2)
    return odd, between


def read_part(part: bytes) -> Layout:
    require(len(part) in (13, 14))
    details = read_details(part)
    kind, shift, orders = part[0], part[1], part[12]
    exponent, row, plane = (int.from_bytes(part[a:b], "little") for a, b in ((2, 4), (4, 8), (8, 12)))
    require(kind & 3 > 0)
    size, floats, singles, lead = 1 << (kind & 3), kind & 4 != 0, kind & 128 != 0, kind >> 4 & 7
    mantissa = MANTISSA[size]
    require(not singles or size > 2)
    require(lead < size and shift < 8 * size and (not floats or shift <= mantissa))
    if exponent >= DECIMAL:
        require(floats and size > 2 and shift == 0 and exponent - DECIMAL <= DIGITS_MAX[size])
    else:
        require(exponent == 0 or floats and mantissa - shift >= 3 and exponent < 1 << (8 * size - 1 - mantissa))
    x, y, z = orders & 7, orders >> 3 & 7, orders >> 6
    require(x <= 4 and y <= 4 and (details is None or y <= 2 and z == 0))
    for used, stride in ((y > 0 or details is not None, row), (z > 0, plane)):
        require(stride <= STRIDE_MAX and used == (stride > 0))
    return Layout(size, floats, "big" if kind & 8 else "little", singles, lead, shift, exponent,
                  [(x, 1), (y, row), (z, plane)], details)


def signed(value: int, width: int) -> int:
    return value - (1 << width if value >> (width - 1) else 0)


def decimal_of(layout: Layout, value: int) -> int:
    """The pattern of an integer divided by a power of ten. Both are rounded once: of f32, rounding in f64 first changes nothing."""
    letter = {4: "f", 8: "d"}[layout.size]
    number, = struct.unpack("<" + letter, struct.pack("<" + letter, float(signed(value, 8 * layout.size))))
    return int.from_bytes(struct.pack("<" + letter, number / float(10 ** (layout.exponent - DECIMAL))), "little")


def with_exceptions(patterns: list[int], stored: bytes, size: int) -> list[int]:
    require(len(stored) % (4 + size) == 0)
    last = -1
    for at in range(0, len(stored), 4 + size):
        i = int.from_bytes(stored[at:at + 4], "little")
        require(last < i < len(patterns))
        patterns[i], last = int.from_bytes(stored[at + 4:at + 4 + size], "little"), i
    return patterns


def read_widths(deltas: bytes, most: int, groups: int) -> list[int]:
    widths = []
    for group in range(8):
        delta = sum((byte >> group & 1) << i for i, byte in enumerate(deltas))
        require(delta <= most and (group < groups or delta == 0))
        widths.append(most - delta)
    return widths[:groups]


def read_planes(planes: bytes, widths: list[int]) -> list[int]:
    numbers, at = [], 0
    for width in widths:
        numbers += [sum((plane >> j & 1) << i for i, plane in enumerate(planes[at:at + width])) for j in range(8)]
        at += width
    return numbers


def read_classes(deltas: bytes, elements: int) -> list[int]:
    words = [int.from_bytes(deltas[at:at + 8], "little") for at in (0, 8, 16)]
    classes = [sum((word >> j & 1) << i for i, word in enumerate(words)) for j in range(64)]
    require(all(c == 7 for c in classes[elements:]))
    return classes


def low_bits(c: int, most: int) -> int:
    return 0 if c == 7 else most - 6 if c == 6 else most - c - 1


def read_singles(planes: bytes, classes: list[int], most: int) -> list[int]:
    bits, numbers = Bits(planes), []
    for c in classes:
        length = low_bits(c, most)
        numbers.append(bits.take(length) + (1 << length if c < 6 else 0))
    return numbers


def read_numbers(stored: bytes, at: int, count: int, layout: Layout) -> tuple[list[int], int]:
    """The zigzag numbers of the elements, and where they end."""
    blocks, width_max = -(-count // 64), 8 * layout.size
    headers, at = stored[at:at + blocks], at + blocks
    require(at <= len(stored))
    planes: list[tuple[int, Callable[[bytes], list[int]]]] = []       # length, and what reads them
    for block, header in enumerate(headers):
        elements, most, length = min(64, count - 64 * block), header & 63, header >> 6
        most = 64 if width_max == 64 and most == 63 else most
        singles = layout.singles and length == 0 and most > SINGLES_ABOVE
        length = 24 if singles else length
        require(most <= width_max and at + length <= len(stored))
        deltas, at = stored[at:at + length], at + length
        if singles:
            classes = read_classes(deltas, elements)
            planes.append((-(-sum(low_bits(c, most) for c in classes) // 8),
                           functools.partial(read_singles, classes=classes, most=most)))
        else:
            widths = read_widths(deltas, most, -(-elements // 8))
            planes.append((sum(widths), functools.partial(read_planes, widths=widths)))
    numbers = []
    for length, read in planes:
        require(at + length <= len(stored))
        numbers += read(stored[at:at + length])
        at += length
    return numbers[:count], at


def pattern_of(layout: Layout, value: int, bits: Bits) -> int:
    width = 8 * layout.size
    if not layout.floats:
        return value << layout.shift & ((1 << width) - 1)
    sign = value >> (width - 1)
    a = value ^ ((1 << width) - 1) if sign else value
    m = a
    if layout.exponent > 0:
        mantissa = MANTISSA[layout.size] - layout.shift
        low = max(1, layout.exponent - mantissa + 2)
        if a == 0:
            m = 0
        elif a < 1 << (mantissa - (layout.exponent - low)):
            m = bits.take(((low << mantissa) - 1).bit_length())
        else:
            b = max(0, mantissa + 1 - a.bit_length())
            m = ((layout.exponent - 1 - b) << mantissa) + (a << b) + bits.take(b)
    return sign << (width - 1) | m << layout.shift & ((1 << (width - 1)) - 1)


def sum_up(values: list[int], order: int, stride: int, width: int) -> list[int]:
    for turn in range(order, 0, -1):
        for i in range(turn * stride, len(values)):
            values[i] = (values[i] + values[i - stride]) % (1 << width)
    return values


def steps_between(around: list[Optional[int]]) -> list[int]:
    """D_-4 to D_4 of v_-5 to v_5."""
    steps = {k: b - a for k, a, b in zip(range(-4, 5, 2), around, around[1:]) if a is not None and b is not None}
    if not steps:
        return [0] * 5
    first, last = min(steps), max(steps)
    for k in range(last + 2, 5, 2):
        steps[k] = 2 * steps[k - 2] - steps[k - 4] if k - 4 in steps else steps[k - 2]
    for k in range(first - 2, -5, -2):
        steps[k] = 2 * steps[k + 2] - steps[k + 4] if k + 4 in steps else steps[k + 2]
    return [steps[k] for k in range(-4, 5, 2)]


def prediction(around: list[Optional[int]], width: int) -> int:
    a, b, middle, c, d = steps_between(around)
    bend = signed((22 * (b - c) - 3 * (a - d) + 64) % (1 << width), width) // 128
    return (around[2] or 0) + signed((middle + bend + 1) % (1 << width), width) // 2


def without_differences(rows: list[list[int]], layout: Layout) -> None:
    """Of interpolated rows, undoes the differences: what is left of predictions, and each fourth row as it is."""
    width = 8 * layout.size
    (x, _), (y, row), _ = layout.passes
    odd, between = layout.details or (0, 0)
    for order, some in ((odd, rows[1::2]), (between, rows[2::4]), (x, rows[::4])):
        for one in some:
            sum_up(one, order, 1, width)
    fourth = sum_up(sum(rows[::4], []), y, row, width)
    rows[::4] = [fourth[at:at + row] for at in range(0, len(fourth), row)]


def with_predictions(rows: list[list[int]], width: int) -> None:
    for apart in (2, 1):
        for y in range(apart, len(rows), 2 * apart):
            around = [rows[at] if 0 <= at < len(rows) else [] for at in range(y - 5 * apart, y + 6 * apart, 2 * apart)]
            for i, left in enumerate(rows[y]):
                column = [one[i] if i < len(one) else None for one in around]
                rows[y][i] = (left + prediction(column, width)) % (1 << width)


def integers_of(layout: Layout, differences: list[int]) -> list[int]:
    width = 8 * layout.size
    if layout.details is None:
        for order, stride in layout.passes:
            sum_up(differences, order, stride, width)
        return differences
    row = layout.passes[1][1]
    rows = [differences[at:at + row] for at in range(0, len(differences), row)]
    without_differences(rows, layout)
    with_predictions(rows, width)
    return sum(rows, [])


def decode_all(part: bytes, stored: bytes, length: int) -> bytes:
    layout = read_part(part)
    size = layout.size
    lead = min(layout.lead, length)
    count = (length - lead) // size
    tail = length - lead - count * size
    require(lead + tail <= len(stored))
    numbers, at = read_numbers(stored, lead + tail, count, layout)
    mask = (1 << 8 * size) - 1
    values = integers_of(layout, [(z >> 1 if z % 2 == 0 else ~(z >> 1)) & mask for z in numbers])
    if layout.exponent >= DECIMAL:
        patterns = with_exceptions([decimal_of(layout, value) for value in values], stored[at:], size)
    else:
        bits = Bits(stored[at:])
        patterns = [pattern_of(layout, value, bits) for value in values]
        bits.end()
    raw = b"".join(pattern.to_bytes(size, layout.order) for pattern in patterns)
    return stored[:lead] + raw + stored[lead:lead + tail]


def decode(part: bytes, stored: bytes, length: int) -> Optional[bytes]:
    """The raw bytes of a chunk; None if it or the part breaks a rule."""
    try:
        return decode_all(part, stored, length)
    except Corrupt:
        return None
