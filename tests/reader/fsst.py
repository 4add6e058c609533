"""A decoder of the codec fsst, written from kernels/fsst/spec.md alone."""
from __future__ import annotations

from typing import Optional

SPLIT, ESCAPE = 512, 255


class Corrupt(Exception):
    """A part or stream that breaks a rule."""


def require(good: bool) -> None:
    if not good:
        raise Corrupt


def read_part(part: bytes) -> list[bytes]:
    """The symbols in the order of their codes."""
    if not part:
        return []
    require(len(part) >= 8)
    counts, at = part[:8], 8
    symbols = []
    require(sum(counts) <= 255)
    for size, count in enumerate(counts, 1):
        for _ in range(count):
            symbols.append(part[at:at + size])
            at += size
    require(at == len(part))
    return symbols


def decode_split(symbols: list[bytes], codes: bytes) -> bytes:
    raw = bytearray()
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code == ESCAPE:
            require(at < len(codes))
            raw.append(codes[at])
            at += 1
        else:
            require(code < len(symbols))
            raw += symbols[code]
    return bytes(raw)


def decode_all(part: bytes, stored: bytes, length: int) -> bytes:
    symbols = read_part(part)
    splits = -(-length // SPLIT)
    require(len(stored) >= 3)
    least, width = int.from_bytes(stored[:2], "little"), stored[2]
    require(width <= 10)
    at = 3 + -(-splits * width // 8)
    require(at <= len(stored))
    bits = int.from_bytes(stored[3:at], "little")
    raw = bytearray()
    for i in range(splits):
        size = least + (bits & ((1 << width) - 1))
        bits >>= width
        require(at + size <= len(stored))
        split = decode_split(symbols, stored[at:at + size])
        require(len(split) == min(SPLIT, length - i * SPLIT))
        raw += split
        at += size
    require(bits == 0 and at == len(stored))
    return bytes(raw)


def decode(part: bytes, stored: bytes, length: int) -> Optional[bytes]:
    """The raw bytes of a chunk; None if it or the part breaks a rule."""
    try:
        return decode_all(part, stored, length)
    except Corrupt:
        return None
