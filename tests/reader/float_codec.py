"""A decoder of the codec float, written from kernels/float/spec.md alone."""
from __future__ import annotations

import struct
from typing import NamedTuple, Optional

MANTISSA = {2: 10, 4: 23, 8: 52}
STRIDE_MAX = 1 << 26
DECIMAL = 1 << 15
DIGITS_MAX = {4: 10, 8: 22}


class Corrupt(Exception):
    """A part or chunk that breaks a rule."""


def require(good: bool) -> None:
    if not good:
        raise Corrupt


class Layout(NamedTuple):
    size: int
    floats: bool
    order: str
    lead: int
    shift: int
    exponent: int
    passes: list[tuple[int, int]]     # order and stride along x, y and z


class Bits:
    def __init__(self, data: bytes) -> None:
        self.value, self.at, self.length = int.from_bytes(data, "little"), 0, len(data)

    def take(self, count: int) -> int:
        taken = self.value >> self.at & ((1 << count) - 1)
        self.at += count
        return taken

    def end(self) -> None:
        require(-(-self.at // 8) == self.length and self.value >> self.at == 0)


def read_part(part: bytes) -> Layout:
    require(len(part) == 13)
    kind, shift, orders = part[0], part[1], part[12]
    exponent, row, plane = (int.from_bytes(part[a:b], "little") for a, b in ((2, 4), (4, 8), (8, 12)))
    require(kind & 3 > 0 and kind < 128)
    size, floats, lead = 1 << (kind & 3), kind & 4 != 0, kind >> 4
    mantissa = MANTISSA[size]
    require(lead < size and shift < 8 * size and (not floats or shift <= mantissa))
    if exponent >= DECIMAL:
        require(floats and size > 2 and shift == 0 and exponent - DECIMAL <= DIGITS_MAX[size])
    else:
        require(exponent == 0 or floats and mantissa - shift >= 3 and exponent < 1 << (8 * size - 1 - mantissa))
    x, y, z = orders & 7, orders >> 3 & 7, orders >> 6
    require(x <= 4 and y <= 4)
    for order, stride in ((y, row), (z, plane)):
        require(stride <= STRIDE_MAX and (order > 0) == (stride > 0))
    return Layout(size, floats, "big" if kind & 8 else "little", lead, shift, exponent, [(x, 1), (y, row), (z, plane)])


def decimal_of(layout: Layout, value: int) -> int:
    """The pattern of an integer divided by a power of ten. Both are rounded once: of f32, rounding in f64 first changes nothing."""
    letter = {4: "f", 8: "d"}[layout.size]
    signed = value - (1 << 8 * layout.size if value >> (8 * layout.size - 1) else 0)
    number, = struct.unpack("<" + letter, struct.pack("<" + letter, float(signed)))
    return int.from_bytes(struct.pack("<" + letter, number / float(10 ** (layout.exponent - DECIMAL))), "little")


def with_exceptions(patterns: list[int], stored: bytes, size: int) -> list[int]:
    require(len(stored) % (4 + size) == 0)
    last = -1
    for at in range(0, len(stored), 4 + size):
        i = int.from_bytes(stored[at:at + 4], "little")
        require(last < i < len(patterns))
        patterns[i], last = int.from_bytes(stored[at + 4:at + 4 + size], "little"), i
    return patterns


def read_numbers(stored: bytes, at: int, count: int, width_max: int) -> tuple[list[int], int]:
    """The zigzag numbers of the elements, and where they end."""
    blocks = -(-count // 64)
    headers, at = stored[at:at + blocks], at + blocks
    require(at <= len(stored))
    widths = []
    for block, header in enumerate(headers):
        groups = -(-min(64, count - 64 * block) // 8)
        most, length = header & 63, header >> 6
        most = 64 if width_max == 64 and most == 63 else most
        require(most <= width_max and at + length <= len(stored))
        for group in range(8):
            delta = sum((stored[at + i] >> group & 1) << i for i in range(length))
            require(delta <= most and (group < groups or delta == 0))
            if group < groups:
                widths.append(most - delta)
        at += length
    numbers = []
    for width in widths:
        require(at + width <= len(stored))
        planes, at = stored[at:at + width], at + width
        numbers += [sum((plane >> j & 1) << i for i, plane in enumerate(planes)) for j in range(8)]
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


def decode_all(part: bytes, stored: bytes, length: int) -> bytes:
    layout = read_part(part)
    size = layout.size
    lead = min(layout.lead, length)
    count = (length - lead) // size
    tail = length - lead - count * size
    require(lead + tail <= len(stored))
    numbers, at = read_numbers(stored, lead + tail, count, 8 * size)
    mask = (1 << 8 * size) - 1
    values = [(z >> 1 if z % 2 == 0 else ~(z >> 1)) & mask for z in numbers]
    for order, stride in layout.passes:
        for turn in range(order, 0, -1):
            for i in range(turn * stride, count):
                values[i] = (values[i] + values[i - stride]) & mask
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
