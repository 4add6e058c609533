"""A decoder of the codec cusz, written from kernels/cusz/spec.md alone."""
from __future__ import annotations

import math
import struct
from typing import Optional

RUNS, CLASSES, TOKENS, LONGEST, CHUNK = 16, 143, 371, 15, 1 << 20
GROUP = 1 << 8
F64, BIG_ENDIAN, MATCHES, TURNED, LOW_RUNS, LISTED = 1, 2, 128, 64, 128, 128


class Corrupt(Exception):
    """A part or stream that breaks a rule."""


def require(good: bool) -> None:
    if not good:
        raise Corrupt


class Part:
    def __init__(self, part: bytes) -> None:
        require(len(part) >= 10)
        self.matches = part[0] & MATCHES > 0
        self.width = 8 if part[0] & F64 else 4
        self.order = ">" if part[0] & BIG_ENDIAN else "<"
        self.lead = part[1] & ~(TURNED | LOW_RUNS)
        self.turned, self.low_runs = part[1] & TURNED > 0, part[1] & LOW_RUNS > 0
        self.step = struct.unpack("<d", part[2:10])[0]
        require(not (self.matches and (self.turned or self.low_runs)))
        require(self.lead < self.width and 2.0**-1021 <= self.step <= 2.0**1021)
        order, at = part[0] >> 2 & 3, 10
        self.strides = [1][:order]
        for _ in range(order - 1):
            require(len(part) >= at + 4)
            self.strides.append(int.from_bytes(part[at:at + 4], "little"))
            require(self.strides[-1] > 0)
            at += 4
        self.codes = read_codes(part[at:])


def read_codes(part: bytes) -> dict[tuple[int, int], int]:
    """Tokens by length and code."""
    halves = [half for byte in part for half in (byte & 15, byte >> 4)]
    lengths: list[int] = []
    at = 0
    while at < len(halves):
        more = 0
        if halves[at] == 0:
            if at + 1 == len(halves):
                break
            more = halves[at + 1]
        require(len(lengths) + more < TOKENS)
        lengths += [halves[at]] + [0] * more
        at += 1 if halves[at] else 2
    require(sum(1 << LONGEST - length for length in lengths if length) == 1 << LONGEST)
    codes, code = {}, 0
    for length in range(1, LONGEST + 1):
        code <<= 1
        for token, of in enumerate(lengths):
            if of == length:
                codes[length, code] = token
                code += 1
    return codes


class Bits:
    """Bits [at, end) of a number of `length` bits."""

    def __init__(self, number: int, length: int, at: int, end: int) -> None:
        self.number, self.length, self.at, self.end = number, length, at, end

    def take(self, count: int) -> int:
        require(self.at + count <= self.end)
        self.at += count
        return self.number >> self.length - self.at & (1 << count) - 1

    def token(self, codes: dict[tuple[int, int], int]) -> int:
        code = 0
        for length in range(1, LONGEST + 1):
            code = code << 1 | self.take(1)
            if (length, code) in codes:
                return codes[length, code]
        raise Corrupt


def match(words: list[int], token: int, bits: Bits) -> list[int]:
    """Words that equal earlier ones of the segment."""
    length, distance = 257, 1
    if token < 15:
        low = token if token < 8 else token - 7
        length = (1 << low) + 2 + bits.take(low)
        distance = 1 if token < 8 else 1 + bits.take(8)
    require(distance <= len(words))
    source = words[-distance:]
    return [source[i % distance] for i in range(length)]


def segment(part: Part, bits: Bits, count: int) -> list[int]:
    words: list[int] = []
    while len(words) < count:
        token = bits.token(part.codes)
        if part.matches and 0 < token < RUNS:
            words += match(words, token, bits)
            continue
        if token < RUNS:
            words += [0] * ((1 << token) + (bits.take(token) if part.low_runs else 0))
            continue
        folded = token - 15
        if token >= CLASSES:
            low = (token - CLASSES) // 4 + 5
            folded = (4 + (token - CLASSES) % 4 << low | bits.take(low)) % (1 << 8 * part.width)
        words.append(-(folded + 1) // 2 if folded & 1 else folded // 2)
    require(len(words) == count and bits.at == bits.end)
    return words


def turned_back(part: Part, words: list[int]) -> list[int]:
    """Words of a chunk, of which each was negated if the one before it in its group that is not 0 is negative."""
    least, last, result = -1 << 8 * part.width - 1, 0, []
    for i, word in enumerate(words):
        last = last if i % GROUP else 0
        result.append(-word if last < 0 and word != least else word)
        last = result[-1] or last
    return result


def number(part: Part, word: int) -> bytes:
    half = 1 << 8 * part.width - 1
    product = float((word + half) % (2 * half) - half) * part.step
    kind = part.order + ("d" if part.width == 8 else "f")
    try:
        return struct.pack(kind, product)
    except OverflowError:
        return struct.pack(kind, math.copysign(math.inf, product))


def decode_all(part_bytes: bytes, stored: bytes, length: int) -> bytes:
    part = Part(part_bytes)
    count = (length - part.lead) // part.width
    require(count > 0 and length <= CHUNK)
    tail = length - part.lead - count * part.width
    log2, at, listed = stored[0] & 127, 1, 0
    require(8 <= log2 <= 15)
    if stored[0] & LISTED:
        listed, at = int.from_bytes(stored[1:5], "little"), 5
        require(len(stored) >= 5 and 0 < listed <= count)
    lead_bytes, at = stored[at:at + part.lead], at + part.lead
    tail_bytes, at = stored[at:at + tail], at + tail
    segments = (count - 1 >> log2) + 1
    ends = at + 2 * segments
    list_at = len(stored) - listed * (4 + part.width)
    require(ends <= list_at)
    codes = stored[ends:list_at]
    bits, words = int.from_bytes(codes, "big"), []
    begin = 0
    for i in range(segments):
        end = begin + int.from_bytes(stored[at + 2 * i:at + 2 * i + 2], "little")
        require(end <= 8 * len(codes))
        words += segment(part, Bits(bits, 8 * len(codes), begin, end), min(1 << log2, count - (i << log2)))
        begin = end
    require(-(-begin // 8) == len(codes) and bits & (1 << 8 * len(codes) - begin) - 1 == 0)
    if part.turned:
        words = turned_back(part, words)
    for stride in part.strides:
        for i in range(stride, count):
            words[i] += words[i - stride]
    elements = [number(part, word) for word in words]
    before = -1
    for i in range(listed):
        position = int.from_bytes(stored[list_at + 4 * i:list_at + 4 * i + 4], "little")
        require(before < position < count)
        value = list_at + 4 * listed + part.width * i
        elements[position] = stored[value:value + part.width]
        before = position
    return lead_bytes + b"".join(elements) + tail_bytes


def decode(part: bytes, stored: bytes, length: int) -> Optional[bytes]:
    """The raw bytes of a chunk; None if it or the part breaks a rule."""
    try:
        return decode_all(part, stored, length)
    except Corrupt:
        return None
