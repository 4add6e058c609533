"""A decoder of the codec lzr, written from kernels/lzr/spec.md and kernels/rans/spec.md alone."""
from __future__ import annotations

import struct
from itertools import accumulate
from typing import Optional, Sequence

LANES = 32
GROUP, GROUP_LITERALS = 256, 1024
RUN_ONLY, NO_MATCH = 26, 0
LITERALS, RUNS, MATCHES, OFFSETS = (256, 11), (27, 10), (61, 10), (62, 10)


class Corrupt(Exception):
    """A stream that breaks a rule."""


def require(good: bool) -> None:
    if not good:
        raise Corrupt


def run_class(c: int) -> tuple[int, int]:
    """Of a class of runs, matches or offsets: its least value, and its raw bits."""
    if c < 16:
        return c, 0
    if c < 20:
        return 16 + 2 * (c - 16), 1
    if c < 22:
        return 24 + 4 * (c - 20), 2
    return (32 + 8 * (c - 22), 3) if c < RUN_ONLY else (64, 0)


def match_class(c: int) -> tuple[int, int]:
    if c <= 16:
        return (2 + c if c else 0), 0
    k = (c - 17) // 4 + 2
    return 3 + ((4 + (c - 17) % 4) << k), k


def offset_class(c: int) -> tuple[int, int]:
    if c < 6:
        return c - 2, 0                 # of 0, 1 and 2 it is not used
    k = (c - 6) // 4
    return (4 + (c - 6) % 4) << k, k


RUN_CLASSES = [run_class(c) for c in range(RUNS[0])]
MATCH_CLASSES = [match_class(c) for c in range(MATCHES[0])]
OFFSET_CLASSES = [offset_class(c) if c > 2 else (-1 - c, 0) for c in range(OFFSETS[0])]


class Table:
    """The symbols of an alphabet: for each of 1 << bits slots the symbol, its frequency, and the slot less its cum."""

    def __init__(self, slots: list[tuple[int, int, int]], bits: int) -> None:
        self.slots, self.bits, self.mask = slots, bits, (1 << bits) - 1


class Input:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, length: int) -> bytes:
        require(self.at + length <= len(self.data))
        self.at += length
        return self.data[self.at - length:self.at]

    def table(self, alphabet: tuple[int, int]) -> Table:
        symbols, p = alphabet
        form, = self.take(1)
        if form == 0:
            return Table([], 0)
        require(form == p or 1 <= form & 127 <= 5)
        groups = int.from_bytes(self.take((symbols + 63) // 64), "little")
        occur = []
        for group in range(groups.bit_length()):
            if groups >> group & 1:
                mask, = self.take(1)
                require(mask != 0)
                occur += [8 * group + i for i in range(8) if mask >> i & 1]
        require(len(occur) > 0 and occur[-1] < symbols)
        weights = self.weights(form, p, len(occur))
        return Table(slots_of(occur, weights, 1 << p), p)

    def weights(self, form: int, p: int, count: int) -> list[int]:
        bits = form & 127
        above = [True] * count
        skip = 0
        if form & 128:
            flags = int.from_bytes(self.data[self.at:self.at + (count + 7) // 8], "little")
            above = [bool(flags >> i & 1) for i in range(count)]
            skip = count
        length = (skip + bits * sum(above) + 7) // 8
        rest = int.from_bytes(self.take(length), "little") >> skip
        weights = []
        for is_above in above:
            number = 0
            if is_above:
                number = (rest & (1 << bits) - 1) + (skip > 0)
                rest >>= bits
            weights.append(number if form == p else level_weight(number))
        require(rest == 0)
        require(form != p or sum(weights) == (1 << p) - count)
        return weights


def level_weight(e: int) -> int:
    return (2 + (e - 1) % 2) << (e - 1) // 2 if e else 0


def slots_of(occur: list[int], weights: list[int], m: int) -> list[tuple[int, int, int]]:
    if not any(weights):
        weights = [1] * len(weights)
    q = ((m - len(occur)) << 32) // sum(weights)
    below = [0, *accumulate(weights)]
    cum = [r + (below[r] * q >> 32) for r in range(len(occur))] + [m]
    return [(s, cum[r + 1] - cum[r], i) for r, s in enumerate(occur)
            for i in range(cum[r + 1] - cum[r])]


class Stream:
    """32 states and a stack of words. In a step the highest lane takes the last word."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = list(words)
        self.states = [0] * LANES
        for _ in range(2):
            for lane in reversed(range(LANES)):
                self.states[lane] = self.refilled(self.states[lane])
        require(all(1 << 15 <= x < 1 << 31 for x in self.states))

    def refilled(self, x: int) -> int:
        if not self.words:
            raise Corrupt
        return x << 16 | self.words.pop()

    def symbols(self, tables: Sequence[Optional[Table]]) -> list[int]:
        """A step: a symbol for each lane that has a table, and 0 for the others."""
        found = [0] * len(tables)
        states, words = self.states, self.words
        try:
            for lane in range(len(tables) - 1, -1, -1):
                table = tables[lane]
                if table is None:
                    continue
                x, bits = states[lane], table.bits
                found[lane], f, rest = table.slots[x & table.mask]
                x = f * (x >> bits) + rest
                states[lane] = x if x >= 1 << 15 else x << 16 | words.pop()
        except IndexError:              # a table without symbols, or no words are left
            raise Corrupt from None
        return found

    def raw(self, bits: Sequence[int]) -> list[int]:
        """A step: so many raw bits for each lane."""
        found = [0] * len(bits)
        if not any(bits):
            return found
        for lane in range(len(bits) - 1, -1, -1):
            if bits[lane]:
                x = self.states[lane]
                found[lane] = x & (1 << bits[lane]) - 1
                x >>= bits[lane]
                self.states[lane] = x if x >= 1 << 15 else self.refilled(x)
        return found

    def carries(self) -> list[int]:
        require(not self.words and all(x >> 16 == 1 for x in self.states))
        return [x & 0xFFFF for x in self.states]


# A run of literals, and a match's length and offset; an offset below 0 repeats one of those before.
Match = tuple[int, int, int]


class Decoder:
    def __init__(self, data: bytes, length: int) -> None:
        self.length = length
        self.out = bytearray()
        self.last = [1, 4, 8]
        head = Input(data)
        flags, = head.take(1)
        require(flags < 4)
        streams = 1 + (flags & 1)
        self.left = list(struct.unpack(f"<{streams}H", head.take(2 * streams)))
        first = int.from_bytes(head.take(2), "little") if streams == 2 else 0
        require(self.left[0] > 0)
        self.literals = [head.table(LITERALS) for _ in range(4 if flags & 2 else 1)]
        self.runs, self.matches, self.offsets = map(head.table, (RUNS, MATCHES, OFFSETS))
        if head.at % 2:
            require(head.take(1) == b"\0")
        rest = data[head.at:]
        require(len(rest) % 2 == 0)
        words = struct.unpack(f"<{len(rest) // 2}H", rest)
        require(first <= len(words))
        parts = [words[:first], words[first:]] if streams == 2 else [words]
        require(all(n > 0 or not part for n, part in zip(self.left, parts)))
        self.streams = [Stream(part) if n else None for n, part in zip(self.left, parts)]

    def round(self, stream: Stream, lanes: int) -> list[Match]:
        runs = stream.symbols([self.runs] * lanes)
        matches = stream.symbols([None if c == RUN_ONLY else self.matches for c in runs])
        offsets = stream.symbols([None if c == NO_MATCH else self.offsets for c in matches])
        classes = [(*OFFSET_CLASSES[offset], *MATCH_CLASSES[match], *RUN_CLASSES[run])
                   for offset, match, run in zip(offsets, matches, runs)]
        bits = [o + m + r for _, o, _, m, _, r in classes]
        both = stream.raw([k if k < 15 else 15 for k in bits])
        if max(bits) > 15:
            high = stream.raw([k - 15 if k > 15 else 0 for k in bits])
            both = [low | above << 15 for low, above in zip(both, high)]
        return [(run + (raw >> o + m & (1 << r) - 1), match + (raw >> o & (1 << m) - 1),
                 offset + (raw & (1 << o) - 1))
                for raw, (offset, o, match, m, run, r) in zip(both, classes)]

    def group(self, turn: int, stream: Stream) -> None:
        sequences: list[Match] = []
        count = 0
        while True:
            lanes = min(LANES, self.left[turn])
            found = self.round(stream, lanes)
            sequences += found
            self.left[turn] -= lanes
            count += sum(run for run, _, _ in found)
            if len(sequences) == GROUP or count >= GROUP_LITERALS or self.left[turn] == 0:
                break
        carried = min(count, 64) if self.left[turn] == 0 else 0
        literals = self.decode_literals(stream, sequences, count - carried)
        if self.left[turn] == 0:
            carries = stream.carries()
            both = bytes(c & 255 for c in carries) + bytes(c >> 8 for c in carries)
            require(not any(both[carried:]))
            literals += both[:carried]
        self.write(sequences, literals)

    def decode_literals(self, stream: Stream, sequences: list[Match], count: int) -> bytearray:
        at, tables = len(self.out), []
        phases = len(self.literals)
        for run, length, _ in sequences:
            if run:
                tables += [self.literals[i % phases] for i in range(at, at + run)]
            at += run + length
        literals = bytearray()
        for first in range(0, count, LANES):
            literals += bytes(stream.symbols(tables[first:min(first + LANES, count)]))
        return literals

    def write(self, sequences: list[Match], literals: bytes) -> None:
        at, out = 0, self.out
        first, second, third = self.last
        for run, length, offset in sequences:
            if run:
                out += literals[at:at + run]
                at += run
            if offset < 0:
                offset = (first, second, third)[-1 - offset]
            first, second, third = offset, first, second
            if length:
                start = len(out) - offset
                require(start >= 0 and len(out) + length <= self.length)
                piece = out[start:start + length]
                out += piece if length <= offset else (piece * (length // offset + 1))[:length]
        self.last = [first, second, third]
        require(len(out) <= self.length)

    def run(self) -> bytes:
        turn = 0
        while self.left[turn]:
            stream = self.streams[turn]
            assert stream
            self.group(turn, stream)
            turn = (turn + 1) % len(self.left)
        require(not any(self.left) and len(self.out) == self.length)
        return bytes(self.out)


def decode(data: bytes, length: int) -> Optional[bytes]:
    """The raw bytes, so many, of a chunk's stream; None if it breaks a rule."""
    try:
        require(length <= 1 << 16)
        return Decoder(data, length).run()
    except Corrupt:
        return None
