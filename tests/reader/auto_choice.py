"""What `auto` chooses, written from kernels/auto/spec.md alone."""
from __future__ import annotations

import functools
import operator
import struct
from typing import NamedTuple, Optional

KIB = 1024


def log(n: int) -> int:
    """log2 in 1/65536."""
    e = n.bit_length() - 1
    f = (n << 16 >> e) & 0xFFFF
    return 65536 * e + f + (f * (65536 - f) // 65536) * 22544 // 65536


def sample(raw: bytes) -> bytes:
    if len(raw) <= 8 * KIB:
        return raw
    n = max(8, min(64, len(raw) // (16 * KIB)))
    starts = [8 * ((len(raw) - KIB) * i // (n - 1) // 8) for i in range(n)]
    return b"".join(raw[at:at + KIB] for at in starts[0::2] + starts[1::2])


def matches(s: bytes) -> list[tuple[int, int, int]]:
    """Of the parse: position, length, distance."""
    found, table, p, misses = [], [0] * 4096, 1, 0
    while p + 4 <= len(s):
        h = int.from_bytes(s[p:p + 4], "little") * 2654435761 % 2**32 >> 20
        c, table[h] = table[h], p
        if s[c:c + 4] != s[p:p + 4]:
            p += 1 + misses // 16
            misses += 1
            continue
        n = 4
        while p + n < len(s) and s[c + n] == s[p + n]:
            n += 1
        found.append((p, n, p - c))
        p += n
        misses = 0
    return found


def lz4(s: bytes) -> int:
    size = behind = 0
    for p, n, _ in [*matches(s), (len(s), 0, 0)]:
        run = p - behind
        size += run + ((run - 15) // 255 + 1 if run >= 15 else 0)
        size += 3 if n else 0
        size += (n - 19) // 255 + 1 if n >= 19 else 0
        behind = p + n
    return size


def entropy(left: bytes) -> int:
    counts = [left.count(value) for value in range(256)]
    return min(sum(n * (log(len(left)) - log(n)) for n in counts if n) >> 19, len(left))


def zstd(s: bytes) -> tuple[int, int]:
    """The size, and K."""
    bits, last, left = 0, 0, bytearray()
    behind = 0
    for p, n, distance in matches(s):
        if n >= 6 or distance == last:
            bits += 5 + (distance.bit_length() - 1 if distance != last else 0)
            last = distance
            left += s[behind:p]
            behind = p + n
    left += s[behind:]
    return entropy(left) + bits // 8, len(left)


def is_noise(s: bytes) -> bool:
    z, k = zstd(s)
    return k == len(s) and z > k - k // 64


def closer_needs(s: bytes, needed: int) -> bool:
    """Whether zstd needs so many bytes, less 1/32, by a parse of its own."""
    bits, last, table, p, misses, behind, check = 0, 0, [0] * 4096, 1, 0, 0, 2048
    left: list[int] = []

    def reached() -> bool:
        counted = bytes(s[at] for at in left if at // 16 % 4 == 0 or len(s) < 32 * KIB)
        z = (entropy(counted) * len(left) // len(counted) if counted else len(left)) + bits // 8
        return z + z // 32 >= needed

    while p + 8 <= len(s):
        if p >= check:
            left += range(behind, p)
            behind, check = p, 4 * p
            if reached():
                return True
        w = int.from_bytes(s[p:p + 6], "little") << 16
        h = w * 0x9E3779B97F4A7C15 % 2**64 >> 52
        c, table[h] = table[h], p
        if last and s[p - last:p - last + 4] == s[p:p + 4]:
            c = p - last
        elif s[c:c + 6] != s[p:p + 6]:
            p += 1 + misses // 16
            misses += 1
            continue
        bits += 5 + ((p - c).bit_length() - 1 if p - c != last else 0)
        last = p - c
        left += range(behind, p)
        while p < len(s) and s[p - last] == s[p]:
            p += 1
        behind, misses = p, 0
    left += range(behind, len(s))
    return reached()


def gpulz(s: bytes, size: int) -> int:
    """With symbols of size bytes."""
    q, least, piece = len(s) // size, 2 // size + 1, 4096 // size
    symbols = [s[i * size:(i + 1) * size] for i in range(q)]
    table, p, misses, pointers, literals = [0] * 4096, 1, 0, 0, q
    while p + least <= q:
        word = int.from_bytes(s[p * size:(p + least) * size], "little")
        h = word * 0x9E3779B97F4A7C15 % 2**64 >> 52
        c, table[h] = table[h], p
        end = min(q, (p // piece + 1) * piece, p + 255 + least)
        n = 0
        if c // piece == p // piece and p - c <= 255:
            while p + n < end and symbols[c + n] == symbols[p + n]:
                n += 1
        if n < least:
            p += 1 + misses // 16
            misses += 1
            continue
        pointers += 1
        literals -= n
        p += n
        misses = 0
    return size * literals + 2 * pointers + (literals + pointers + 7) // 8 + len(s) % size


def fsst(s: bytes) -> int:
    apart = max(1, len(s) // KIB // 8) * KIB
    pieces = [s[at:at + KIB] for at in range(0, len(s), apart)[:4]]
    counts = [0] * 65536

    def slot(string: bytes) -> int:
        return (int.from_bytes(string, "little") << 64 - 8 * len(string)) * 0x9E3779B97F4A7C15 % 2**64 >> 48

    def walk(seen: int, learn: bool) -> int:
        size = 0
        for piece in pieces:
            at = 0
            while at < len(piece):
                slots = {n: slot(piece[at:at + n]) for n in (8, 6, 4, 3, 2) if n <= len(piece) - at}
                step = 1
                for n, h in slots.items():
                    if step == 1 and counts[h] >= 2 and counts[h] * n * 160 >= seen:
                        step = n
                    counts[h] = min(255, counts[h] + learn)
                size += 1
                if step == 1:
                    h = slot(piece[at:at + 1])
                    size += counts[h] * 3 * 160 < seen
                    counts[h] = min(255, counts[h] + learn)
                at += step
                seen += step if learn else 0
        return size

    total = sum(map(len, pieces))
    walk(0, True)
    return walk(total, False) * len(s) // total


def gpulz_all(s: bytes) -> dict[int, int]:
    g = {8: gpulz(s, 8), 4: gpulz(s, 4)}
    if g[4] <= len(s) // 2:
        g[2] = len(s)
    elif len(s) < 8 * KIB:
        g[2] = gpulz(s, 2)
    else:
        g[2] = 2 * gpulz(s[:len(s) // 2], 2)
    return g


def by_sample(s: bytes, entropy_coder: str) -> tuple[str, int]:
    """The choice, and the size that was estimated."""
    enough, l, (z, _) = len(s) - len(s) // 20, lz4(s), zstd(s)
    if l < enough and l <= z + z // 16:
        g, size = min((g, -size) for size, g in gpulz_all(s).items())
        if g < l - l // 32 and g <= z + z // 32:
            return f"gpulz:s={-size}", g
    if z >= enough and l >= enough:
        return "store", len(s)
    return ("lz4", l) if l <= z + z // 32 else (entropy_coder, z)


MANTISSA = {2: 10, 4: 23, 8: 52}


class Elements(NamedTuple):
    size: int
    lead: int
    order: str
    floats: bool

    def patterns(self, raw: bytes, at: int, count: int) -> list[int]:
        at += self.lead
        return [int.from_bytes(raw[at + i * self.size:at + (i + 1) * self.size], self.order) for i in range(count)]

    def decimal(self, p: int, d: int) -> Optional[int]:
        """The integer that the element is by 10^d."""
        letter = {4: "<f", 8: "<d"}[self.size]
        x, = struct.unpack(letter, p.to_bytes(self.size, "little"))
        if not abs(x * float(10 ** d)) < 2 ** (MANTISSA[self.size] - 1) - 0.5:
            return None
        q = round(x * float(10 ** d))
        return q if struct.pack(letter, q / 10 ** d) == p.to_bytes(self.size, "little") else None

    def digits(self, patterns: list[int]) -> Optional[int]:
        """The least d that is right for all numbers but two."""
        if not self.floats or self.size == 2:
            return None
        ones, most = (1 << 8 * self.size - 1) - (1 << MANTISSA[self.size]), (1 << 8 * self.size - 1) - 1
        patterns = [p for p in patterns if 0 < p & most < ones]
        return next((d for d in range(11 if self.size == 4 else 16)
                     if sum(self.decimal(p, d) is None for p in patterns) <= 2), None)

    def integers(self, window: list[int], d: int) -> tuple[list[int], int]:
        """Of decimals, and their raw bits."""
        found: list[int] = []
        exceptions = 0
        for p in window:
            q = self.decimal(p, d)
            exceptions += q is None
            found.append((found or [0])[-1] if q is None else q % (1 << 8 * self.size))
        return found, exceptions * (32 + 8 * self.size)

    def map(self, p: int, exponent: int, t: int = 0) -> tuple[int, int]:
        """The integer modulo 2^w, and how many raw bits it leaves."""
        width, mantissa = 8 * self.size, MANTISSA[self.size] - t
        if not self.floats:
            return ((p ^ 1 << width - 1) - (1 << width - 1) >> t) % (1 << width), 0
        m, sign = (p & ((1 << width - 1) - 1)) >> t, p >> width - 1
        e, low, bits = m >> mantissa, max(1, exponent - mantissa + 2), 0
        if exponent == 0 or m == 0:
            a = m
        elif e >= exponent:
            a = m - (exponent - 1 << mantissa)
        elif e < low:
            a, bits = 1, ((low << mantissa) - 1).bit_length()
        else:
            bits = exponent - e
            a = (m % (1 << mantissa) + (1 << mantissa)) >> bits
        return a if sign == 0 else a ^ ((1 << width) - 1), bits


def differences(values: list[int]) -> list[int]:
    return [b - a for a, b in zip(values, values[1:])]


def widths(values: list[int], width: int, less: int = 0) -> int:
    """What the longest zigzag of each eight takes, less so many bits, in all."""
    signed = [(v + (1 << width - 1)) % (1 << width) - (1 << width - 1) for v in values]
    zigzags = [2 * v if v >= 0 else -2 * v - 1 for v in signed]
    return sum(max(0, max(zigzags[i:i + 8]).bit_length() - less) for i in range(0, len(zigzags), 8))


def low_zeros(patterns: list[int]) -> int:
    low = functools.reduce(operator.or_, patterns)
    return (low & -low).bit_length() - 1 if low else 0


def type_costs(it: Elements, raw: bytes, places: list[int]) -> list[tuple[int, list[int]]]:
    """Of each window, with how far elements are apart; as decimals, too, if there are some."""
    count = 128 // it.size
    most = 4 if it.lead % 4 == 0 else 1
    windows = [it.patterns(raw, at, count + 1) for at in places]
    mapped = [[it.map(p, 0)[0] for p in it.patterns(raw, at, count + most)] for at in places]
    costs = [(apart, [widths([b - a for a, b in zip(values[:count], values[apart:])], 8 * it.size, low_zeros(window))
                      for values, window in zip(mapped, windows)]) for apart in range(1, most + 1)]
    d = it.digits([windows[3 * k // 32][5 * k % count] for k in range(32)])
    if d is not None:
        costs.append((1, []))
        for window in windows:
            q = [it.decimal(p, d) for p in window]
            steps = [0 if a is None or b is None else b - a for a, b in zip(q, q[1:])]
            costs[-1][1].append(widths(steps, 8 * it.size) + q[:-1].count(None) * (4 + it.size))
    return costs


def float_type(raw: bytes, limit: int) -> Optional[Elements]:
    """None: the middle window takes so many bytes or more."""
    places = [8 * ((len(raw) - 168) * v // 2 // 8) for v in range(3)]
    types = [Elements(size, lead, order, floats) for size in (4, 8, 2) for lead in range(size)
             for order in ("little", "big") for floats in (True, False)]
    costs = [type_costs(it, raw, places) for it in types]

    def least(i: int, windows: slice) -> int:
        sums = [(apart, sum(of[windows])) for apart, of in costs[i]]
        cost = min(c + (c // 16 if apart > 1 else 0) for apart, c in sums)
        return cost + (cost // 16 if types[i].lead > 0 else 0)

    if min(least(i, slice(1, 2)) for i in range(len(types))) >= limit:
        return None
    return types[min(range(len(types)), key=lambda i: least(i, slice(3)))]


def float_codec(raw: bytes, sample_length: int, limit: int) -> int:
    it = float_type(raw, 128 * limit // sample_length)
    if it is None:
        return sample_length
    count, mantissa = 512 // it.size, MANTISSA[it.size]
    windows = [it.patterns(raw, 8 * ((len(raw) - 528) * (2 * v + 1) // 8 // 8), count) for v in range(4)]
    ones = (1 << 8 * it.size - 1 - mantissa) - 1
    exponents = [e for p in sum(windows, []) if it.floats and (e := p >> mantissa & ones) < ones]
    t = low_zeros(sum(windows, []))
    if it.floats:
        t = min(t, mantissa)
    digits = it.digits([windows[i // 8][i % 8 * (count // 8) + i % 8] for i in range(32)])
    costs = []
    for exponent in {0, max(exponents, default=0) if mantissa - t >= 3 else 0, -1 if digits is not None else 0}:
        sums, bits = [0] * 4, 0
        for window in windows:
            if exponent < 0:
                values, more = it.integers(window, digits or 0)
            else:
                mapped = [it.map(p, exponent, t) for p in window]
                values, more = [a for a, _ in mapped], sum(n for _, n in mapped)
            bits += more
            for order in range(4):
                sums[order] += widths(values[8 - order:], 8 * it.size)
                values = differences(values)
        costs.append(min(sums) + bits * (count - 8) // count // 8)
    length = 4 * (count - 8) * it.size
    return (min(costs) + 3 * (length // it.size) // 64) * sample_length // length


def is_small_enough(raw: bytes, s: bytes, size: int, longest: int) -> bool:
    t = min(len(raw), longest)
    begin = 8 * ((len(raw) - t) // 2 // 8)
    return closer_needs(raw[begin:begin + t], -(-size * t // len(s)))


def for_bytes(raw: bytes, s: bytes) -> tuple[str, int]:
    z, k = zstd(s)
    entropy_coder = "zstd:1" if k > len(s) - 3 * len(s) // 32 or z < len(s) // 16 else "lzr:1"
    choice, size = by_sample(s, entropy_coder)
    if choice == "store":
        return choice, size - size // 20
    if choice == entropy_coder or is_small_enough(raw, s, size, 32 * KIB):
        return choice, size
    return entropy_coder, z


def for_ratio(raw: bytes) -> str:
    s = sample(raw)
    half = s[:(len(s) // KIB + 1) // 2 * KIB]
    (z, k), n = zstd(half), len(half)
    halves = n - n // 4 > z >= n // 8 and k <= n - 5 * n // 32 and lz4(half) > z + z // 8
    if len(raw) > 8 * KIB and (is_noise(half) or halves):
        s = half
    choice, size = for_bytes(raw, s)
    if len(raw) < 4096:
        return choice
    z, n = zstd(s)[0], len(s)
    f = float_codec(raw, n, z + z // 2 if z < n // 2 else n if is_noise(s) else 2 * n)
    return "float" if f + f // 32 < size and is_small_enough(raw, s, f + f // 16, 64 * KIB) else choice


def for_speed(raw: bytes) -> str:
    s = sample(raw)
    g = gpulz_all(s)
    z, _ = zstd(s)
    costs = {"store": (len(s), 0), "gpulz:s=8": (g[8], 1), "gpulz:s=4": (g[4], 1), "gpulz:s=2": (g[2], 2)}
    if z < len(s) - len(s) // 4:
        costs["fsst"] = fsst(s), 4
    costs["lzr:1"] = z, 6
    return min(costs, key=lambda name: costs[name][0] + len(s) * costs[name][1] // 16)
