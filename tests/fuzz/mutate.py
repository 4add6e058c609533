"""Containers that are good, and what is changed in them: fields, with every checksum above them put
right again, and bytes."""
from __future__ import annotations

import os
import random
import sys
from typing import Callable, NamedTuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reader"))
from balefs_reader import checksum
from test_reader import LZ4, ROUNDED, STORE, ZERO, ZSTD, Builder, inner, noise, segment, text

SLOT, EXTENT = 112, 16384


# Good containers

def direct(kind: int) -> bytes:
    data = (text(5000), noise(9000), b"\7" * 6000, text(16384, 3))[kind % 4]
    return bytes(Builder().direct(data, (LZ4, STORE, ZERO, ZSTD)[kind % 4]).data)


def extents(_: int) -> bytes:
    """Three extents, a frame that two segments share, a hole and an unwritten segment."""
    b = Builder(2)
    old = b.frame(text(EXTENT), EXTENT, LZ4)
    records = [b.extent(noise(3000), 0), b.segment(old, EXTENT, 3000),
               b.extent(text(1000), EXTENT + 3000, ZSTD),
               b.segment(old, EXTENT + 4000, EXTENT - 5000, 4000),
               segment(2 * EXTENT, 0, 0, 5000, 0, 0, 0, 0, 1),
               b.extent(b"\0" * 400, 3 * EXTENT, ZERO)]
    return bytes(b.root(3 * EXTENT + 999, b.page(1, records)).data)


def levels(_: int) -> bytes:
    b = Builder(2)
    records = [b.extent(text(90, i), 100 * i, LZ4) for i in range(30)]
    leaves = [(i, b.page(1, records[i:i + 10])) for i in range(0, 30, 10)]
    top = b.page(2, [inner(100 * i, position, 2, made) for i, (position, made) in leaves])
    return bytes(b.root(3000, top).data)


def two_roots(kind: int) -> bytes:
    b = Builder().direct(text(3000))
    b.generation = 2
    return bytes(b.direct(noise(2000), slot=1, durable=kind % 2, session=2).data)


def paged(kind: int) -> bytes:
    """A settings page, above an index page or a frame."""
    b = Builder(2)
    if kind % 2:
        at = b.frame(text(3000), 0)
        rounded = dict(page=ROUNDED, codec=255) if kind % 4 == 3 else {}
        return bytes(b.settings(3000, (at, b.frames[at]), **rounded).data)
    records = [b.extent(noise(3000), 0), b.extent(text(1000), EXTENT)]
    return bytes(b.settings(EXTENT + 1000, b.page(1, records)).data)


GOOD: list[Callable[[int], bytes]] = [direct, extents, levels, two_roots, paged]


# Mutation

class Place(NamedTuple):
    """A structure in the container, and how its checksum is put right."""
    kind: str
    at: int
    length: int
    height: int = 0


def u(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at:at + size], "little")


def put(data: bytearray, at: int, size: int, value: int) -> None:
    data[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def head_length(data: bytes, at: int) -> int:
    if at + 52 > len(data) or data[at + 6] > 31:
        return 52
    chunks = 0 if data[at + 5] == ZERO else -(-u(data, at + 12, 4) // (1 << data[at + 6]))
    return 52 + 12 * chunks


def places(data: bytes) -> list[Place]:
    """Slots, then what they refer to, each after what refers to it."""
    found = [Place("slot", slot, SLOT) for slot in (0, SLOT) if any(data[slot:slot + SLOT])]
    for slot in list(found):
        follow(data, u(data, slot.at + 48, 8), u(data, slot.at + 56, 4), data[slot.at + 60], found)
    return found


def follow(data: bytes, at: int, length: int, height: int, found: list[Place]) -> None:
    if height == 0 or at + length > len(data) or any(p.at == at for p in found) or \
            len(found) > 200 or length < (52 if height == 255 else 32):
        return
    if height == 255:
        found.append(Place("frame", at, length))
        return
    if height == 254:
        found.append(Place("settings", at, length))
        if length >= 104:
            follow(data, u(data, at + 24, 8), u(data, at + 40, 4), data[at + 5], found)
        return
    if height > 8:
        return
    found.append(Place("page", at, length, height))
    size = 48 if height == 1 else 36
    for i in range(u(data, at + 6, 2)):
        record = at + 24 + i * size
        if record + size > at + length - 8:
            break
        if height > 1:
            follow(data, u(data, record + 8, 8), u(data, record + 24, 4), height - 1, found)
        elif not data[record + 38] & 1:
            follow(data, u(data, record + 8, 8), u(data, record + 32, 4), 255, found)


def seal(data: bytearray) -> None:
    """Puts every checksum right, from the frames up, and what refers to them."""
    for place in reversed(places(data)):
        if place.kind == "frame":
            head = head_length(data, place.at)
            if head <= place.length:
                put(data, place.at + head - 8, 8,
                    checksum(bytes(data[place.at:place.at + head - 8])))
            continue
        if place.kind == "settings":
            if place.length >= 104:
                seal_reference(data, u(data, place.at + 24, 8), u(data, place.at + 40, 4),
                               data[place.at + 5], place.at + 32)
            put(data, place.at + place.length - 8, 8,
                checksum(bytes(data[place.at:place.at + place.length - 8])))
            continue
        if place.kind == "page":
            size = 48 if place.height == 1 else 36
            for i in range(u(data, place.at + 6, 2)):
                record = place.at + 24 + i * size
                if record + size > place.at + place.length - 8:
                    break
                if place.height > 1:
                    seal_reference(data, u(data, record + 8, 8), u(data, record + 24, 4),
                                   place.height - 1, record + 28)
                elif not data[record + 38] & 1:
                    seal_reference(data, u(data, record + 8, 8), u(data, record + 32, 4), 255,
                                   record + 40)
            put(data, place.at + place.length - 8, 8,
                checksum(bytes(data[place.at:place.at + place.length - 8])))
            continue
        seal_reference(data, u(data, place.at + 48, 8), u(data, place.at + 56, 4),
                       data[place.at + 60], place.at + 64)
        put(data, place.at + 104, 8, checksum(bytes(data[place.at:place.at + 104])))


def seal_reference(data: bytearray, at: int, length: int, height: int, field: int) -> None:
    if at + length > len(data) or height == 0 or length < (52 if height == 255 else 32):
        return
    end = length if height != 255 else head_length(data, at)
    if 8 <= end <= length:
        put(data, field, 8, u(data, at + end - 8, 8))


# Fields: (offset, size); of a record they repeat.
FIELDS = {
    "slot": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8), (24, 4), (28, 4), (32, 8), (40, 8), (48, 8),
             (56, 4), (60, 1), (61, 1), (62, 2), (72, 8), (80, 8), (88, 4), (96, 8)],
    "page": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8)],
    "settings": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8), (24, 8), (40, 4), (44, 1), (45, 1), (46, 1),
                 (47, 1), (48, 8), (56, 8), (64, 8), (72, 8), (80, 8), (88, 8)],
    "leaf": [(0, 8), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 1), (37, 1), (38, 1), (39, 1)],
    "inner": [(0, 8), (8, 8), (16, 8), (24, 4)],
    "frame": [(4, 1), (5, 1), (6, 1), (7, 1), (8, 2), (10, 2), (12, 4), (16, 8), (24, 8), (32, 8),
              (40, 4), (44, 4), (48, 8)],
}


def near(rng: random.Random, value: int, size: int) -> int:
    edges = (0, 1, 2, 223, 224, 4095, 4096, EXTENT - 1, EXTENT, EXTENT + 1, (1 << 31) - 1, 1 << 31,
             (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
    return rng.choice((value + 1, value - 1, value ^ 1 << rng.randrange(8 * size), rng.choice(edges),
                       rng.getrandbits(8 * size), value * 2))


def change(rng: random.Random, data: bytearray) -> None:
    found = places(data)
    place = rng.choice(found)
    base, kind = place.at, place.kind
    if kind == "page" and rng.random() < 0.8:
        kind, size = ("leaf", 48) if place.height == 1 else ("inner", 36)
        base += 24 + size * rng.randrange(max(1, min(u(data, place.at + 6, 2),
                                                     (place.length - 32) // size)))
    at, size = rng.choice(FIELDS[kind])
    if base + at + size > len(data):
        return
    how = rng.random()
    if how < 0.1 and place.kind == "page":      # one record becomes another one's copy
        other = rng.choice(found)
        data[base:base + 8] = data[other.at:other.at + 8]
    elif how < 0.2:                             # bytes that no checksum is made right for
        where = place.at + rng.randrange(place.length)
        if where < len(data):
            data[where] ^= 1 << rng.randrange(8)
    else:
        put(data, base + at, size, near(rng, u(data, base + at, size), size))


def mutant(rng: random.Random, index: int) -> bytes:
    data = bytearray(GOOD[index % len(GOOD)](rng.randrange(8)))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        change(rng, data)
        if rng.random() < 0.9:
            seal(data)
    how = rng.random()
    if how < 0.05:
        del data[rng.randrange(len(data)):]
    elif how < 0.1:
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.choice((8, 100, 4096)))
        data[at:end] = bytes(end - at)
    return bytes(data)
