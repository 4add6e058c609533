#!/usr/bin/python3
"""Self test of the reader, with containers that this file builds by hand from FORMAT.md."""
from __future__ import annotations

import ctypes
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable, Optional

sys.dont_write_bytecode = True
try:
    import lz4.block
    import xxhash
except ImportError as missing:
    print(f"skipped: {missing}; Debian: python3-lz4 python3-xxhash")
    sys.exit(77)

import balefs_reader as reader
from offsets import (DATA_START, FRAME_AT_CHUNK_LOG2, FRAME_AT_CODEC, FRAME_AT_RAW_LENGTH,
                     FRAME_AT_TABLE, FRAME_ENTRY_SIZE, INNER_RECORDS, LEAF_RECORDS, PAGE_AT_HEIGHT,
                     ROOT_AT_DURABLE, SLOT)

HERE = os.path.dirname(os.path.abspath(__file__))
BOOT, OTHER_BOOT = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
ID = 0x1122334455667788
EXTENT = 16384
DIRECT = 255
STORE, ZERO, LZ4, ZSTD, CULZSS, GPULZ, FSST, CUSZ, FLOAT, AUTO = 0, 1, 2, 3, 16, 17, 18, 19, 21, 255
# A settings page that says nothing but how elements were rounded.
ROUNDED = dict(type=0, x=0, y=0, step=0, greatest=0x3F70 << 48)
WITH_PART = (FSST, 19, 21)
PARTS = b"part" + bytes(4)              # the feature tag of frames with an extent part
PART = bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"abcdefgh"  # one symbol


def xxh(data: bytes) -> bytes:
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(data))


def number(data: bytes) -> int:
    return struct.unpack("<Q", data)[0]


_libzstd = ctypes.CDLL("libzstd.so.1")
_libzstd.ZSTD_compressBound.restype = _libzstd.ZSTD_compress.restype = ctypes.c_size_t
_libzstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
_libzstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
                                   ctypes.c_size_t, ctypes.c_int]


def zstd(data: bytes) -> bytes:
    out = ctypes.create_string_buffer(_libzstd.ZSTD_compressBound(len(data)))
    length = _libzstd.ZSTD_compress(out, len(out), data, len(data), 3)
    return out.raw[:length]


def strings(length: int) -> bytes:
    """Bytes for which PART has the symbol; a multiple of eight."""
    return b"abcdefgh" * (length // 8)


def fsst(raw: bytes) -> bytes:
    """What PART's code makes of strings: a code for eight bytes, and 64 of them a split."""
    splits = [bytes(min(64, len(raw) // 8 - at)) for at in range(0, len(raw) // 8, 64)]
    least = len(splits[-1])
    width = (64 - least).bit_length() if len(splits) > 1 else 0
    bits = sum(len(s) - least << i * width for i, s in enumerate(splits))
    head = struct.pack("<HB", least, width) + bits.to_bytes(-(-len(splits) * width // 8), "little")
    return head + b"".join(splits)


def pack(codec: int, raw: bytes) -> bytes:
    made = {STORE: bytes, LZ4: lambda d: lz4.block.compress(d, store_size=False), ZSTD: zstd,
            FSST: fsst}
    stored = made[codec](raw)
    return stored if len(stored) < len(raw) else raw


def frame(data: bytes, offset: int, generation: int, codec: int = STORE, log2: int = 12, /,
          **change: Any) -> bytes:
    """A frame; change sets fields to other values than the right ones."""
    chunks = [data[i:i + (1 << log2)] for i in range(0, len(data), 1 << log2)]
    stored = [] if codec == ZERO else [change.get("pack", pack)(codec, c) for c in chunks]
    f = dict(magic=b"BFRM", version=1, codec=codec, log2=log2, flags=0,
             parameter=data[0] if codec == ZERO else 3 if codec == ZSTD else 0, zero=0,
             raw=len(data), offset=offset, generation=generation,
             checksum=number(xxh(b"".join(xxh(c) for c in chunks))),
             stored=sum(map(len, stored)))
    if codec in WITH_PART:
        stored.insert(0, change.get("part", PART))
        f["stored"] += len(stored[0])
    f.update({k: v for k, v in change.items() if k in f})
    head = struct.pack("<4sBBBBHHIQQQI", *f.values())
    head += b"".join(struct.pack("<I", len(s)) + xxh(s) for s in stored)
    return head + xxh(head) + b"".join(stored)


def head_checksum(made: bytes) -> int:
    raw = struct.unpack_from("<I", made, FRAME_AT_RAW_LENGTH)[0]
    chunks = -(-raw // (1 << min(made[FRAME_AT_CHUNK_LOG2], 31)))
    chunks = 0 if made[FRAME_AT_CODEC] == ZERO else chunks + (made[FRAME_AT_CODEC] in WITH_PART)
    at = FRAME_AT_TABLE + FRAME_ENTRY_SIZE * chunks
    return number(made[at:at + 8].ljust(8, b"\0"))


def segment(offset: int, position: int, generation: int, length: int, skip: int, frame_length: int,
            codec: int, log2: int, flags: int = 0, zero: int = 0, checksum: int = 0) -> bytes:
    return struct.pack("<QQQIIIBBBBQ", offset, position, generation, length, skip, frame_length,
                       codec, log2, flags, zero, checksum)


def inner(first: int, position: int, generation: int, page: bytes) -> bytes:
    return struct.pack("<QQQIQ", first, position, generation, len(page), number(page[-8:]))


def page(height: int, records: list[bytes], generation: int, /, **change: Any) -> bytes:
    f = dict(magic=b"BIDX", version=1, height=height, count=len(records), generation=generation,
             id=ID)
    f.update(change)
    body = struct.pack("<4sBBHQQ", *f.values()) + b"".join(records)
    return body + xxh(body)


def root(**fields: Any) -> bytes:
    f = dict(magic=b"BALE", version=1, flags=0, mode=0, generation=1, durable=0, session=1,
             extent=EXTENT, size=0, end=DATA_START, position=0, length=0, height=0, codec=LZ4,
             parameter=0,
             tree=0, stored=0, id=ID, features=bytes(8), mtime=-5)
    assert not set(fields) - set(f), fields
    f.update(fields)
    head = struct.pack("<4sBBHQQIIQQQIBBHQQQ8sq", *f.values())
    return head + xxh(head)


def noise(length: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(length)


def text(length: int, seed: int = 1) -> bytes:
    words = random.Random(seed).choices([b"bale ", b"frame ", b"chunk ", b"page ", b"root "],
                                        k=length // 5 + 1)
    return b"".join(words)[:length]


class Builder:
    """A container under construction: things are appended, then roots put into the slots."""

    def __init__(self, generation: int = 1) -> None:
        self.data = bytearray(DATA_START)
        self.generation = generation
        self.stored = 0
        self.frames: dict[int, bytes] = {}

    def put(self, what: bytes) -> int:
        self.data += what
        return len(self.data) - len(what)

    def frame(self, data: bytes, offset: int, codec: int = STORE, log2: int = 12, /,
              **change: Any) -> int:
        made = frame(data, offset, change.pop("generation", self.generation), codec, log2, **change)
        position = self.put(made)
        self.frames[position] = made
        self.stored += len(made)
        return position

    def segment(self, position: int, offset: int, length: int, skip: int = 0, /,
                **change: Any) -> bytes:
        made = self.frames[position]
        f = dict(offset=offset, position=position, generation=self.generation, length=length,
                 skip=skip, frame_length=len(made), codec=made[FRAME_AT_CODEC],
                 log2=made[FRAME_AT_CHUNK_LOG2], flags=0, zero=0, checksum=head_checksum(made))
        f.update(change)
        return segment(**f)

    def extent(self, data: bytes, offset: int, codec: int = STORE, log2: int = 12) -> bytes:
        return self.segment(self.frame(data, offset, codec, log2), offset, len(data))

    def page(self, height: int, records: list[bytes], /, **change: Any) -> tuple[int, bytes]:
        made = page(height, records, change.pop("generation", self.generation), **change)
        return self.put(made), made

    def root(self, size: int, top: tuple[int, bytes], slot: int = 0, /, **change: Any) -> Builder:
        position, made = top
        tree = {}
        if made[:4] == b"BIDX":
            tree = dict(height=made[PAGE_AT_HEIGHT], tree=number(made[-8:]))
        elif made:
            tree = dict(height=DIRECT, tree=head_checksum(made))
        fields = dict(generation=self.generation, size=size, end=len(self.data), position=position,
                      length=len(made), stored=self.stored, **tree)
        fields.update(change)
        self.data[SLOT * slot:SLOT * slot + SLOT] = root(**fields)
        return self

    def settings(self, size: int, top: tuple[int, bytes], slot: int = 0, /, page: Any = (),
                 **change: Any) -> Builder:
        """A root whose settings page names top: nothing, a page of the index, or a frame."""
        position, made = top
        tree = dict(height=0, tree=0, position=0, size=0)
        if made[:4] == b"BIDX":
            tree = dict(height=made[PAGE_AT_HEIGHT], tree=number(made[-8:]), position=position,
                        size=len(made))
        elif made:
            tree = dict(height=DIRECT, tree=head_checksum(made), position=position, size=len(made))
        f = dict(magic=b"BSET", version=1, height=tree["height"], length=104,
                 generation=self.generation, id=ID, position=tree["position"], tree=tree["tree"],
                 size=tree["size"], type=1, flags=0, pipeline=0, rounds=0, x=7, y=5, z=0, offset=0,
                 step=0x3F70 << 48, greatest=0)
        f.update(page)
        body = struct.pack("<4sBBHQQQQIBBBB6Q", *f.values())
        at = self.put(body + xxh(body))
        fields = dict(generation=self.generation, size=size, end=len(self.data), position=at,
                      length=104, height=254, stored=self.stored, codec=CUSZ, features=PARTS,
                      tree=number(self.data[-8:]))
        fields.update(change)
        self.data[SLOT * slot:SLOT * slot + SLOT] = root(**fields)
        return self

    def direct(self, data: bytes, codec: int = STORE, log2: int = 12, /, slot: int = 0,
               size: Optional[int] = None, **change: Any) -> Builder:
        self.stored = 0
        at = self.frame(data, 0, codec, log2)
        if codec in WITH_PART:
            change.setdefault("features", PARTS)
        return self.root(len(data) if size is None else size, (at, self.frames[at]), slot, **change)


def leaf(size: int, make: Callable[[Builder], list[bytes]], /, **change: Any) -> Builder:
    b = Builder()
    records = make(b)
    return b.root(size, b.page(1, records), **change)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.store = os.path.join(self.directory.name, "store")
        os.makedirs(os.path.join(self.store, ".balefs"))
        self.volume()
        self.sessions(5)

    def volume(self, **change: Any) -> None:
        volume = {"format": 1, "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "features": [],
                  "modes": "inode", "codec": "lz4", "extent": EXTENT, "match": [], "new": 1}
        volume.update(change)
        with open(os.path.join(self.store, ".balefs", "volume.json"), "w", encoding="utf-8") as f:
            json.dump(volume, f)

    def sessions(self, last: int, *uncertain: tuple[int, str]) -> None:
        value = {"last": last, "uncertain": [{"session": s, "boot": b} for s, b in uncertain]}
        with open(os.path.join(self.store, ".balefs", "sessions.json"), "w", encoding="utf-8") as f:
            json.dump(value, f)

    def write(self, data: bytes, name: str = "file") -> str:
        path = os.path.join(self.store, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def read(self, data: bytes, paranoid: bool = False) -> bytes:
        store = reader.Store(self.store, BOOT, paranoid)
        out = bytearray()
        for offset, length, piece in reader.contents(self.write(data), store):
            self.assertEqual(offset, len(out))
            out += bytes(length) if piece is None else piece
            self.assertEqual(offset + length, len(out))
        return bytes(out)

    def good(self, builder: Builder, expected: bytes) -> None:
        data = bytes(builder.data)
        self.assertEqual(self.read(data), expected)
        self.sessions(5, (1, OTHER_BOOT))       # the same when all of it must be verified
        self.assertEqual(self.read(data, True), expected)
        self.sessions(5)

    def bad(self, data: bytes, what: str, unsupported: bool = False) -> None:
        with self.assertRaisesRegex(reader.Fault, what) as caught:
            self.read(bytes(data))
        self.assertEqual(isinstance(caught.exception, reader.Unsupported), unsupported,
                         str(caught.exception))


class Good(Case):
    def test_empty(self) -> None:
        self.assertEqual(self.read(b""), b"")
        self.assertEqual(self.read(root() + bytes(SLOT)), b"")

    def test_hole(self) -> None:
        self.assertEqual(self.read(bytes(SLOT) + root(size=99999)), bytes(99999))

    def test_direct_codecs(self) -> None:
        for codec in (STORE, LZ4, ZSTD):
            for log2 in (12, 13, 26):
                for length in (1, 4096, 4097, EXTENT):
                    for data in (text(length), noise(length)):
                        with self.subTest(codec=codec, log2=log2, length=length):
                            self.good(Builder().direct(data, codec, log2), data)
        for value in (0, 255):
            for length in (1, 4096, EXTENT - 1):
                data = bytes([value]) * length
                self.good(Builder().direct(data, ZERO), data)

    def test_mixed_chunks(self) -> None:
        data = text(4096) + noise(4096) + text(4096, 2) + noise(100)
        for codec in (LZ4, ZSTD):
            self.good(Builder().direct(data, codec), data)

    def test_lzss(self) -> None:
        def direct(data: bytes, codec: int, parameter: int, stored: bytes) -> bytes:
            b = Builder()
            at = b.frame(data, 0, codec, parameter=parameter, pack=lambda c, d: stored)
            return b.root(len(data), (at, b.frames[at])).data

        letters, numbers = b"abcabcabcabcd", bytes.fromhex("0100000001000000010000000200000007")
        made = bytes.fromhex("040008616263020664")
        also = bytes.fromhex("0200020100000000010200000007")
        self.assertEqual(self.read(direct(numbers, GPULZ, 0x11FF, also)), numbers)
        for codec, parameter, window, bad, name in (
                (GPULZ, 0x20, 32, (0x1F, 0x620, 0x2020, 0x4020, 0x8020), "gpulz"),
                (CULZSS, 1, 128, (0, 3, 257, 65535), "culzss"),
                (CULZSS, 2, 128, (), "culzss")):
            self.assertEqual(self.read(direct(letters, codec, parameter, made)), letters)
            for other in bad:
                with self.subTest(codec=codec, parameter=other):
                    self.bad(direct(letters, codec, other, made), "parameter")
            for at, value in ((0, 3), (0, 5), (1, 255), (2, 0x28), (2, 0), (2, 0x18), (2, 1),
                              (6, 3), (6, window), (7, 5), (7, 7), (7, 255)):
                with self.subTest(codec=codec, at=at, value=value):
                    self.bad(direct(letters, codec, parameter,
                                    made[:at] + bytes((value,)) + made[at + 1:]), name)
            self.bad(direct(letters, codec, parameter, made + b"e"), name)
            for length in range(1, len(made)):
                with self.subTest(codec=codec, length=length):
                    self.bad(direct(letters, codec, parameter, made[:length]), name)
        for codec, good, bad in (
                (GPULZ, (0x2520,), (0, 0x201F, 0x2620, 0x2820, 0x4020)),
                (CULZSS, (1, 2), (0, 3, 0x101, 0xFFFF))):
            for parameter in good:
                self.assertEqual(self.read(root(codec=codec, parameter=parameter) + bytes(SLOT)),
                                 b"")
            for parameter in bad:
                with self.subTest(codec=codec, root=parameter):
                    self.bad(root(codec=codec, parameter=parameter) + bytes(SLOT), "parameter")

    def test_auto(self) -> None:
        for parameter in (0, 1):
            self.assertEqual(self.read(root(codec=AUTO, parameter=parameter) + bytes(SLOT)), b"")
        for parameter in (2, 0x101, 0xFFFF):
            with self.subTest(parameter=parameter):
                self.bad(root(codec=AUTO, parameter=parameter) + bytes(SLOT), "parameter of auto")

    def test_direct_size(self) -> None:
        data = noise(5000)
        self.bad(Builder().direct(data, size=4999).data, "tree length")
        self.bad(Builder().direct(text(5000), LZ4, size=4999).data, "raw length")
        self.good(Builder().direct(data, size=40000), data + bytes(35000))

    def test_settings(self) -> None:
        for change in (dict(flags=3), dict(codec=255), dict(codec=ZSTD, parameter=0xFFF9),
                       dict(codec=ZSTD, parameter=19), dict(mode=0x81A4), dict(extent=20480),
                       dict(extent=64 << 20), dict(generation=9, durable=8)):
            self.good(Builder().direct(b"abc", **change), b"abc")
        self.volume(modes="container")
        self.good(Builder().direct(b"abc", mode=0x8FFF), b"abc")

    def test_permissions(self) -> None:
        self.volume(modes="container")
        for mode, backing, want in ((0o4755, 0o755, 0o755), (0o4755, 0o4755, 0o4755),
                                    (0o2755, 0o2745, 0o2745), (0o2755, 0o2755, 0o2755),
                                    (0o2644, 0o644, 0o644), (0o755, 0o6777, 0o755),
                                    (0o666, 0o644, 0o644), (0, 0o600, 0), (0o500, 0o600, 0o400),
                                    (0o1600, 0o600, 0o1600)):
            with self.subTest(mode=oct(mode), backing=oct(backing)):
                path = self.write(Builder().direct(b"abc", mode=0x8000 | mode).data)
                os.chmod(path, backing)
                with reader.Container(path, reader.Store(self.store)) as container:
                    self.assertEqual(container.permissions(0x8000 | mode), want)

    def test_settings_page(self) -> None:
        self.good(Builder().settings(0, (0, b"")), b"")
        self.good(Builder().settings(10, (0, b"")), bytes(10))
        b = Builder()
        at = b.frame(b"abc" * 9, 0)
        self.good(b.settings(27, (at, b.frames[at])), b"abc" * 9)
        b = Builder()
        records = [b.extent(b"a" * 50, 0), b.extent(b"b" * 50, 50)]
        self.good(b.settings(100, b.page(1, records)), b"a" * 50 + b"b" * 50)
        b = Builder(7)
        at = b.frame(b"abc", 0, generation=3)
        self.good(b.settings(3, (at, b.frames[at]), page=dict(generation=5, type=2, flags=1, z=3)),
                  b"abc")
        step = 0x3F70 << 48
        for page in (dict(rounds=1, greatest=step), dict(rounds=1, greatest=step + 1),
                     dict(rounds=1, step=2 << 52, greatest=2044 << 52), dict(greatest=2 << 52),
                     dict(rounds=2, greatest=1 << 60)):
            self.good(Builder().settings(0, (0, b""), page=page), b"")
        for codec, parameter in ((ZSTD, 1), (FLOAT, 0), (AUTO, 1)):
            self.good(Builder().settings(0, (0, b""), page=ROUNDED, codec=codec, parameter=parameter),
                      b"")
        self.good(Builder().settings(0, (0, b""), page={**ROUNDED, "type": 1}, codec=FLOAT), b"")

    def test_leaf(self) -> None:
        data = noise(EXTENT) + text(EXTENT) + b"\7" * EXTENT + text(777)
        self.good(leaf(len(data), lambda b: [
            b.extent(data[:EXTENT], 0), b.extent(data[EXTENT:2 * EXTENT], EXTENT, LZ4),
            b.extent(data[2 * EXTENT:3 * EXTENT], 2 * EXTENT, ZERO),
            b.extent(data[3 * EXTENT:], 3 * EXTENT, ZSTD, 14)]), data)

    def test_holes_and_unwritten(self) -> None:
        data = bytes(1000) + noise(500) + bytes(EXTENT - 1500) + bytes(5000) + text(300) + bytes(44)
        size = len(data)
        self.good(leaf(size, lambda b: [
            b.extent(data[1000:1500], 1000),
            segment(1500, 0, 0, EXTENT + 3500, 0, 0, 0, 0, 1),
            b.extent(data[EXTENT + 5000:EXTENT + 5300], EXTENT + 5000, LZ4)]), data)
        big = leaf(1 << 31, lambda b: [segment(1 << 30, 0, 0, 1 << 30, 0, 0, 0, 0, 1)])
        pieces = list(reader.contents(self.write(big.data), reader.Store(self.store, BOOT)))
        self.assertEqual(pieces, [(0, 1 << 30, None), (1 << 30, 1 << 30, None)])

    def test_shared_frame(self) -> None:
        old, new = text(EXTENT), noise(1000)

        def make(b: Builder) -> list[bytes]:
            at = b.frame(old, EXTENT, ZSTD)
            return [b.segment(at, EXTENT, 3000), b.extent(new, EXTENT + 3000),
                    b.segment(at, EXTENT + 4000, EXTENT - 5000, 4000)]

        data = bytes(EXTENT) + old[:3000] + new + old[4000:EXTENT - 1000] + bytes(1000)
        self.good(leaf(2 * EXTENT, make), data)

    def test_full_pages_and_heights(self) -> None:
        count = LEAF_RECORDS * INNER_RECORDS + 5
        b = Builder()
        at = [b.extent(bytes([i % 251]), i * 7) for i in range(count)]
        leaves = [(i * 7, *b.page(1, at[i:i + 84])) for i in range(0, count, 84)]
        for height in range(2, 9):
            tops = [leaves[i:i + INNER_RECORDS] for i in range(0, len(leaves), INNER_RECORDS)]
            leaves = [(t[0][0], *b.page(height, [inner(f, p, 1, d) for f, p, d in t]))
                      for t in tops]
            if len(leaves) == 1:
                size = count * 7
                data = b"".join(bytes([i % 251]) + bytes(6) for i in range(count))
                b.root(size, leaves[0][1:])
                self.assertEqual(self.read(b.data), data, height)

    def test_two_levels(self) -> None:
        self.good(*two_levels())


def two_levels() -> tuple[Builder, bytes]:
    data = text(2 * EXTENT) + noise(EXTENT)
    b = Builder(2)
    records = [b.extent(data[i:i + EXTENT], i, ZSTD) for i in range(0, len(data), EXTENT)]
    one, two = b.page(1, records[:2]), b.page(1, records[2:])
    top = b.page(2, [inner(0, one[0], 2, one[1]), inner(2 * EXTENT, two[0], 2, two[1])])
    return b.root(len(data), top), data


class Choice(Case):
    """Section 8."""

    def commits(self, first: bytes, second: bytes, durable: int = 1) -> Builder:
        """A direct root of generation 1 in slot 0, and one of generation 2, session 2, in 1."""
        b = Builder().direct(first)
        b.generation = 2
        return b.direct(second, slot=1, durable=durable, session=2)

    def test_newest(self) -> None:
        self.assertEqual(self.read(self.commits(b"old", b"new").data), b"new")
        for session in (2, 3):
            self.sessions(5, (session, OTHER_BOOT))
            self.assertEqual(self.read(self.commits(b"old", b"new").data), b"new")

    def test_fallback(self) -> None:
        data = self.commits(b"old", b"new").data
        data[-1] ^= 1
        with self.assertRaisesRegex(reader.Fault, "checksum"):
            self.read(data)                     # certain: this is damage, not a crash
        self.sessions(5, (2, BOOT))
        with self.assertRaisesRegex(reader.Fault, "checksum"):
            self.read(data)
        self.assertEqual(self.read(data, True), b"old")
        self.sessions(5, (2, OTHER_BOOT))
        self.assertEqual(self.read(data), b"old")

    def test_fallback_verified(self) -> None:
        self.sessions(5, (2, OTHER_BOOT))
        data = self.commits(b"old", b"new", 0).data
        data[-1] ^= 1
        self.assertEqual(self.read(data), b"old")
        data[data.index(b"old")] ^= 1
        self.assertEqual(self.read(data), b"")  # nothing was durable
        data = self.commits(b"old", b"new", 1).data
        data[-1] ^= 1
        data[data.index(b"old")] ^= 1
        self.bad(data, "checksum")              # a durable fallback is not given up

    def test_no_fallback(self) -> None:
        self.sessions(5, (2, OTHER_BOOT))
        data = self.commits(b"old", b"new", 0).data
        data[:SLOT] = bytes(SLOT)
        data[-1] ^= 1
        self.assertEqual(self.read(data), b"")
        data = self.commits(b"old", b"new", 1).data
        data[:SLOT] = bytes(SLOT)
        data[-1] ^= 1
        self.bad(data, "checksum")

    def test_unknown(self) -> None:
        """Evidence decides where the store does not know the session."""
        whole = bytes(self.commits(b"old", b"new").data)
        at = whole.rindex(b"BFRM")
        length = len(whole) - at
        flipped = [bytes(whole[:i]) + bytes([whole[i] ^ 1]) + whole[i + 1:]
                   for i in range(at, len(whole))]
        missing = [whole[:at] + bytes(length), whole[:-1], whole[:at],
                   whole[:-3] + bytes(3), whole[:at] + frame(b"abc", 0, 1),
                   whole[:at] + noise(length)]
        for last, first, earlier in ((1, 1, []), (5, 3, []), (9, 8, [[0, 1], [3, 5]]), (0, None, [])):
            self.sessions(last)
            path = os.path.join(self.store, ".balefs", "sessions.json")
            if first is None:
                os.unlink(path)
            else:
                with open(path, "w", encoding="utf-8") as f:
                    json.dump({"first": first, "last": last, "uncertain": [], "earlier": earlier}, f)
            self.assertEqual(self.read(whole), b"new")
            for data in flipped:                # damage costs its range, and nothing is given up
                with reader.Container(self.write(data), reader.Store(self.store, BOOT)) as c:
                    self.assertEqual((c.choose().generation, c.held), (2, True))
                self.bad(data, "frame at")
            for data in missing:
                self.assertEqual(self.read(data), b"old")
                for hole in (SLOT * bytes(1), noise(SLOT)):
                    alone = hole + data[SLOT:]   # no other root: this one stays
                    with reader.Container(self.write(alone), reader.Store(self.store, BOOT)) as c:
                        self.assertEqual((c.choose().generation, c.held), (2, True))
            worse = bytearray(missing[0])
            worse[worse.index(b"old")] ^= 1
            self.bad(worse, "frame at")
        self.sessions(5)
        self.assertEqual(self.read(root(session=0, size=7) + bytes(SLOT)), bytes(7))
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"first": 7, "last": 9, "uncertain": [], "earlier": [[1, 2]]}, f)
        self.assertEqual(self.bad(missing[0], "frame at"), None)
        with reader.Container(self.write(missing[0]), reader.Store(self.store, BOOT)) as c:
            self.assertEqual((c.choose().generation, c.held), (2, False))

    def test_unknown_pages(self) -> None:
        b, data = two_levels()
        pages = [at for at in range(DATA_START, len(b.data)) if b.data[at:at + 4] == b"BIDX"]
        self.assertEqual(len(pages), 3)
        self.sessions(0)
        for at in pages:
            length = reader.PAGE.size + 8 + b.data[at + 6] * (48 if b.data[at + 5] == 1 else 36)
            for i in range(at, at + length):
                b.data[i] ^= 2
                with reader.Container(self.write(b.data), reader.Store(self.store, BOOT)) as c:
                    self.assertEqual((c.choose().generation, c.held), (2, True))
                    faults = c.faults_below(c.root, 0)
                    self.assertEqual([c._missing(f) for f in faults], [False])
                b.data[i] ^= 2
            worse = b.data[:at] + bytes(length) + b.data[at + length:]
            with reader.Container(self.write(worse), reader.Store(self.store, BOOT)) as c:
                c.choose()
                self.assertIn(True, [c._missing(f) for f in c.faults_below(c.root, 0)])

    def test_durable_not_verified(self) -> None:
        """Pages of generation D or less are not entered, frames of D or less not verified."""
        b = Builder(3)
        old = b.frame(b"x" * 100, 0)
        new = b.frame(b"y" * 100, 100, generation=5)
        b.root(200, b.page(1, [b.segment(old, 0, 100), b.segment(new, 100, 100, generation=5)],
                           generation=5), generation=5, durable=4)
        self.sessions(5, (1, OTHER_BOOT))
        data = bytearray(b.data)
        data[data.index(b"xxxx")] ^= 1
        store = reader.Store(self.store, BOOT)
        with reader.Container(self.write(data), store) as c:
            self.assertEqual(c.choose().generation, 5)
        data[data.index(b"yyyy")] ^= 1
        self.bad(data, "checksum")

    def test_unverified_pages(self) -> None:
        b, _ = two_levels()
        b.root(0, (0, b""), durable=1)
        data = two_levels()[0].data
        self.sessions(5, (1, OTHER_BOOT))
        for at in range(DATA_START, len(data), 97):
            worse = bytearray(data)
            worse[at] ^= 0x10
            self.assertEqual(self.read(worse), b"", at)

    def test_stale_generation(self) -> None:
        """A frame that was overwritten by a later one of the same shape is noticed."""
        data = self.commits(b"old", b"new").data
        at = data.rindex(b"BFRM")
        self.sessions(5, (2, OTHER_BOOT))
        for generation in (2, 3):
            data[at:] = frame(b"NEW", 0, generation)
            self.assertEqual(self.read(data), b"old")
        b = Builder()
        at = b.frame(noise(99), 0)
        b.root(99, b.page(1, [b.segment(at, 0, 99)]))
        b.data[at:at + len(b.frames[at])] = frame(noise(99, 2), 0, 1)
        self.bad(b.data, "head checksum")

    def test_page_cache(self) -> None:
        cache = reader.page_cache_of(self.store)
        if cache is not None:                   # None before Linux 6.8
            self.assertRegex(cache, "^[0-9a-f-]{36}:[0-9]+$")
        self.assertEqual(reader.Store(self.store).boot, cache)

    def test_zero_slots(self) -> None:
        for data in (bytes(10), bytes(DATA_START), bytes(DATA_START) + frame(b"abc", 0, 1)):
            self.sessions(5)
            self.bad(data, "slots")
            self.sessions(5, (4, BOOT))
            self.bad(data, "slots")
            self.assertEqual(self.read(data, True), b"")
            self.sessions(5, (3, OTHER_BOOT), (4, BOOT))
            self.assertEqual(self.read(data), b"")
            os.unlink(os.path.join(self.store, ".balefs", "sessions.json"))
            self.assertEqual(self.read(data), b"")
        self.bad(b"\1" + bytes(300), "slot 0: magic")

    def test_short(self) -> None:
        for data in (root() + bytes(SLOT - 1), root(), root(size=99)[:SLOT]):
            self.assertEqual(self.read(data), bytes(99 if data == root(size=99) else 0))
        self.bad(root()[:100], "slot 0: checksum")

    def test_damaged_slot(self) -> None:
        data = self.commits(b"old", b"new").data
        data[SLOT + ROOT_AT_DURABLE + 4] ^= 1
        self.assertEqual(self.read(data), b"old")
        faults: list[reader.Fault] = []
        with reader.Container(self.write(data), reader.Store(self.store, BOOT)) as c:
            c.choose(faults.append)
        self.assertEqual([f.what for f in faults], ["slot 1: checksum"])
        data[data.index(b"old")] ^= 1
        self.bad(data, "frame at 224: chunk 0: checksum")       # it must be verified, and fails

    def test_pairs(self) -> None:
        data = self.commits(b"old", b"new").data
        self.bad(data[:SLOT] * 2 + data[DATA_START:], "generations")
        b = Builder().direct(b"old", id=7)
        b.generation = 2
        self.bad(b.direct(b"new", slot=1).data, "container id")

    def test_unsupported_beats_fallback(self) -> None:
        b = Builder().direct(b"old")
        b.generation = 2
        self.bad(b.direct(b"new", slot=1, version=2).data, "slot 1: version", True)
        self.bad(b.direct(b"new", slot=1, features=b"DICT" + bytes(4)).data, "DICT", True)


class Bad(Case):
    def test_every_byte(self) -> None:
        """No flipped bit in anything referred to goes unnoticed."""
        b, _ = two_levels()
        for at in (*range(SLOT), *range(DATA_START, len(b.data))):
            if 400 < at < len(b.data) - 700 and at % 13:
                continue
            data = bytearray(b.data)
            data[at] ^= 1 << at % 8
            with self.assertRaises(reader.Fault, msg=str(at)):
                self.read(data)

    def test_truncated(self) -> None:
        b, _ = two_levels()
        for length in (1, SLOT - 1, SLOT, DATA_START - 1, DATA_START, 300, len(b.data) - 1):
            with self.assertRaises(reader.Fault, msg=str(length)):
                self.read(b.data[:length])

    def test_root_rules(self) -> None:
        rules = [
            (dict(magic=b"BALF"), "magic"), (dict(version=0), "version"),
            (dict(mode=0x41A4), "mode"), (dict(generation=0), "generation"),
            (dict(durable=1), "durable"), (dict(extent=8192), "extent"),
            (dict(extent=EXTENT + 1), "extent"), (dict(extent=(64 << 20) + 4096), "extent"),
            (dict(size=1 << 63), "size"), (dict(end=223), "end"), (dict(end=1 << 63), "end"),
            (dict(end=230), "tree length"),
            (dict(position=223), "position"), (dict(position=(1 << 64) - 1), "position"),
            (dict(length=51), "length"), (dict(length=2**32 - 1), "length"),
            (dict(height=9), "height"), (dict(height=253), "height"), (dict(height=254), "features"),
            (dict(height=254, features=PARTS), "tree length"), (dict(height=0), "tree"),
            (dict(parameter=1), "parameter"), (dict(codec=ZSTD, parameter=20), "level"),
            (dict(codec=ZSTD, parameter=0xFFF8), "level"), (dict(codec=ZSTD), "level"), (dict(tree=1), "head checksum"),
            (dict(id=0), "container id"),
            (dict(features=bytes(4) + b"DICT"), "features"),
            (dict(features=b"part" * 2), "features"),
            (dict(stored=1), "stored"), (dict(height=1), "magic|length|checksum"),
            (dict(size=0), "size")]
        for change, what in rules:
            with self.subTest(change):
                self.bad(Builder().direct(b"abc" * 9, **change).data, what)
        for change, what in ((dict(version=2), "version"), (dict(flags=4), "flags"),
                             (dict(codec=4), "codec"),
                             (dict(features=b"DICT" * 2), "DICT"),
                             (dict(features=b"partDICT"), "DICT")):
            with self.subTest(change):
                self.bad(Builder().direct(b"abc" * 9, **change).data, what, True)
        self.volume(modes="container")
        for mode in (0o644, 0x9000):
            self.bad(Builder().direct(b"abc", mode=mode).data, "mode")

    def test_settings_rules(self) -> None:
        wide = 1 << 62
        rules: list[tuple[dict[str, Any], str]] = [
            (dict(magic=b"BIDX"), "magic"), (dict(version=0), "version"), (dict(length=95), "length"),
            (dict(generation=0), "generation"), (dict(generation=2), "generation"),
            (dict(id=1), "container id"), (dict(height=254), "height"), (dict(height=9), "height"),
            (dict(height=0), "tree"), (dict(position=223), "position"), (dict(size=51), "length"),
            (dict(tree=1), "checksum"), (dict(type=0), "type"), (dict(type=6), "npy"),
            (dict(type=7), "type"), (dict(pipeline=5), "pipeline"), (dict(rounds=4), "rounding"),
            (dict(x=0), "dims"), (dict(x=wide), "dims"), (dict(x=1 << 32, y=1 << 32), "dims"),
            (dict(offset=1 << 63), "offset"), (dict(step=0), "step"), (dict(type=3), "type"),
            (dict(greatest=1), "greatest step"), (dict(greatest=(2044 << 52) + 1), "greatest step"),
            (dict(rounds=1), "greatest step"), (dict(rounds=1, greatest=(0x3F70 << 48) - 1), "greatest step"),
            (ROUNDED, "type")]

        def build(page: dict[str, Any], **change: Any) -> bytes:
            b = Builder()
            at = b.frame(b"abc" * 9, 0)
            return bytes(b.settings(27, (at, b.frames[at]), page=page, **change).data)

        for page, what in rules:
            with self.subTest(page):
                self.bad(build(page), what)
        for page, what in ((dict(version=2), "version"), (dict(flags=2), "flags")):
            with self.subTest(page):
                self.bad(build(page), what, True)
        for change, what in ((dict(features=bytes(8)), "features"), (dict(codec=ZSTD, parameter=1), "codec"),
                             (dict(length=95), "length"), (dict(position=100), "position"),
                             (dict(stored=10000), "stored"), (dict(tree=1), "checksum")):
            with self.subTest(change):
                self.bad(build({}, **change), what)
        for page in (dict(greatest=0), dict(flags=1), dict(pipeline=1), dict(rounds=1), dict(z=1),
                     dict(offset=1), dict(step=0x3F70 << 48)):
            for codec in (ZSTD, FLOAT):
                with self.subTest(page, codec=codec):
                    self.bad(build({**ROUNDED, **page}, codec=codec, parameter=codec == ZSTD),
                             "type")
        self.bad(build({**ROUNDED, "type": 1}, codec=ZSTD, parameter=1), "codec")
        whole = build({})
        for at in range(len(whole) - 104, len(whole)):
            self.bad(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:], "settings page")

    def test_frame_rules(self) -> None:
        def direct(data: bytes = b"abc" * 9, codec: int = STORE, /, **change: Any) -> bytes:
            b = Builder()
            at = b.frame(data, 0, codec, **change)
            return b.root(len(data), (at, b.frames[at])).data

        for change, what in ((dict(magic=b"BFRN"), "magic"), (dict(version=0), "version"),
                             (dict(log2=27), "log2"), (dict(log2=11), "log2"),
                             (dict(offset=1), "file offset"), (dict(generation=2), "generation"),
                             (dict(generation=0), "generation"), (dict(checksum=5), "raw checksum"),
                             (dict(stored=26), "frame length"), (dict(parameter=1), "parameter"),
                             (dict(pack=lambda c, d: d[:-1]), "chunk 0: stored length"),
                             (dict(pack=lambda c, d: d + b"x"), "slot 0: tree length"),
                             (dict(pack=lambda c, d: b""), "chunk 0: stored length"),
                             (dict(raw=0), "raw length")):
            with self.subTest(change):
                self.bad(direct(**change), what)
        for change, what in ((dict(version=2), "version"), (dict(codec=4), "codec"), (dict(flags=1), "zero"),
                             (dict(zero=1), "zero")):
            with self.subTest(change):
                self.bad(direct(**change), what, True)
        zeros, short = bytes(4096), zstd(bytes(4095))
        whole = zstd(zeros)
        for codec, stored, what in (
                (LZ4, b"\xff" * 30, "lz4"), (ZSTD, b"\xff" * 30, "zstd"),
                (LZ4, lz4.block.compress(zeros[1:], store_size=False), "lz4"),
                (LZ4, lz4.block.compress(zeros + b"x", store_size=False), "lz4"),
                (ZSTD, short, "zstd"), (ZSTD, zstd(zeros + b"x"), "zstd"),
                (ZSTD, whole + b"x", "zstd"), (ZSTD, whole[:-1], "zstd"),
                (ZSTD, zstd(zeros[:96]) + zstd(zeros[:4000]), "zstd"),
                (ZSTD, b"\x50\x2a\x4d\x18\0\0\0\0" + whole, "zstd")):
            with self.subTest(codec=codec, stored=stored[:8]):
                self.bad(direct(zeros, codec, pack=lambda c, d, s=stored: s), what)
        self.bad(direct(b"\0" * 99, ZERO, parameter=256), "parameter")
        self.bad(direct(b"\0" * 99, ZERO, parameter=1), "raw checksum")

    def test_part_rules(self) -> None:
        data = strings(5000)

        def direct(codec: int = FSST, features: bytes = PARTS, raw: bytes = data,
                   **change: Any) -> bytearray:
            b = Builder()
            at = b.frame(raw, 0, codec, **change)
            return b.root(len(raw), (at, b.frames[at]), features=features).data

        self.assertEqual(self.read(direct()), data)
        two = leaf(9000, lambda b: [b.extent(data, 100, FSST)], features=PARTS).data
        self.assertEqual(self.read(two), bytes(100) + data + bytes(3900))
        self.bad(direct(features=bytes(8)), "without an extent part")
        self.bad(leaf(9000, lambda b: [b.extent(data, 100, FSST)]).data, "without an extent part")
        self.bad(direct(19, pack=lambda c, d: d[100:]), "cusz decode")
        large = bytes([0, 0, 0, 0, 0, 0, 0, 80]) + strings(640)
        self.bad(direct(part=large), "extent part: length")
        self.bad(direct(raw=data[:1024], part=PART, pack=lambda c, d: d[:980]), "stored length")
        none = bytearray(direct(part=b""))
        at = DATA_START + FRAME_AT_TABLE
        self.assertEqual(none[at:at + 4], bytes(4))
        self.bad(none, "fsst decode")
        none[at + 4] ^= 1
        head = DATA_START + FRAME_AT_TABLE + 3 * FRAME_ENTRY_SIZE
        none[head:head + 8] = xxh(bytes(none[DATA_START:head]))
        none[64:72] = none[head:head + 8]
        none[104:112] = xxh(bytes(none[:104]))
        self.bad(none, "that of no bytes")
        for part, what in ((PART[:7], "decode"), (PART[:-1], "decode"), (PART + b"x", "decode"),
                           (bytes([0, 0, 0, 0, 0, 0, 1, 0]) + b"abcdefg", "decode")):
            self.bad(direct(part=part), what)
        damaged = direct()
        damaged[damaged.index(b"abcdefgh")] ^= 1
        self.bad(damaged, "extent part: checksum")

    def test_segment_rules(self) -> None:
        data = noise(1000)

        def one(**change: Any) -> bytes:
            return leaf(5000, lambda b: [b.segment(b.frame(data, 100), 100, 1000, **change)]).data

        one()
        for change, what in (
                (dict(offset=101), "file offset"), (dict(skip=1), "file offset|raw length"),
                (dict(offset=101, skip=1), "raw length"), (dict(length=1001), "raw length"),
                (dict(length=0), "length"), (dict(length=4901), "end"),
                (dict(offset=2**64 - 1), "offset|end"), (dict(generation=2), "generation"),
                (dict(generation=0), "generation"), (dict(position=223), "position"),
                (dict(position=225), "overlap"), (dict(position=2**64 - 1), "position"),
                (dict(frame_length=51), "frame length"), (dict(frame_length=2**32 - 1), "length"),
                (dict(frame_length=1063), "frame length|stored"), (dict(codec=LZ4), "codec"),
                (dict(log2=13), "log2"), (dict(log2=27), "log2"), (dict(skip=200), "skip"),
                (dict(flags=1), "unwritten")):
            with self.subTest(change):
                self.bad(one(**change), what)
        for change in (dict(flags=2), dict(zero=1)):
            with self.subTest(change):
                self.bad(one(**change), "flags|codec", True)
        self.bad(leaf(1 << 31, lambda b: [segment(0, 0, 0, 2**30 + 1, 0, 0, 0, 0, 1)]).data, "2.30")

        def pair(a: tuple[int, int], b: tuple[int, int], size: int = 3 * EXTENT) -> bytes:
            return leaf(size, lambda w: [w.extent(noise(n), o) for o, n in (a, b)]).data

        self.bad(pair((0, 100), (99, 100)), "offset")
        self.bad(pair((100, 100), (0, 100)), "offset")
        self.bad(pair((0, 100), (EXTENT - 1, 2)), "extent")
        self.bad(leaf(EXTENT, lambda b: [b.segment(b.frame(noise(EXTENT + 1), 0), 0, 9)]).data,
                 "raw length")

    def test_overlap(self) -> None:
        def inside(b: Builder) -> list[bytes]:
            small = frame(b"abc", 5000, 1)
            at = b.frame(small + noise(50), 0)
            b.frames[at + 64] = small
            b.stored += len(small)
            return [b.segment(at, 0, 50), b.segment(at + 64, 5000, 3)]

        self.bad(leaf(9999, inside).data, "slot 0: stored")
        self.bad(leaf(9999, inside, stored=100).data, "overlap")
        b = Builder()
        top = b.page(1, [segment(0, 0, 0, 9, 0, 0, 0, 0, 1)])
        b.frames[DATA_START] = top[1]
        twice = b.page(2, [inner(0, DATA_START, 1, top[1]), inner(9, DATA_START, 1, top[1])])
        self.bad(b.root(99, twice).data, "references")

        def disagree(b: Builder) -> list[bytes]:
            at = b.frame(noise(1000), 0)
            return [b.segment(at, 0, 10), b.segment(at, 20, 10, 20, frame_length=1063)]

        self.bad(leaf(9999, disagree).data, "frame length")

    def test_page_rules(self) -> None:
        def make(leaf_change: Any = None, top_change: Any = None, first: int = 0, second: int = 100,
                 generation: int = 1, root_height: int = 2) -> bytes:
            b = Builder()
            one = b.page(1, [b.extent(b"a" * 50, 50)], **(leaf_change or {}))
            two = b.page(1, [b.extent(b"b" * 50, 100)])
            top = b.page(2, [inner(first, one[0], generation, one[1]),
                             inner(second, two[0], 1, two[1])], **(top_change or {}))
            return b.root(200, top, height=root_height).data

        self.assertEqual(self.read(make()), bytes(50) + b"a" * 50 + b"b" * 50 + bytes(50))
        for change, what in ((dict(magic=b"BIDY"), "magic"), (dict(version=0), "version"),
                             (dict(height=2), "height"), (dict(count=0), "count"),
                             (dict(count=2), "length"), (dict(count=85), "count"),
                             (dict(id=5), "container id"), (dict(generation=2), "generation"),
                             (dict(generation=0), "generation")):
            with self.subTest(change):
                self.bad(make(change), what)
        self.bad(make(dict(version=2)), "version", True)
        for change, what in ((dict(version=0), "version"), (dict(count=3), "length"),
                             (dict(count=113), "count"), (dict(id=5), "container id"),
                             (dict(generation=2), "generation"), (dict(height=3), "height")):
            with self.subTest(top=change):
                self.bad(make(None, change), what)
        self.bad(make(first=51), "offset")
        self.bad(make(second=101), "offset")
        self.bad(make(first=100), "first offset")
        self.bad(make(generation=2), "generation")
        self.bad(make(root_height=3), "height")
        self.bad(make(dict(generation=2), dict(generation=2), generation=2), "generation")


class Command(Case):
    """read_store.py itself."""

    def run_reader(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, os.path.join(HERE, "read_store.py"), *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def expect(self, status: int, *lines: str, args: tuple[str, ...] = ()) -> None:
        done = self.run_reader(self.store, "--compare", self.plain, *args)
        output = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, status, output)
        for line in lines:
            self.assertIn(line, output)

    def setUp(self) -> None:
        super().setUp()
        self.plain = os.path.join(self.directory.name, "plain")
        self.data = two_levels()[1]
        for top in (self.plain, self.store):
            os.makedirs(os.path.join(top, "sub", ".balefs"))
            os.symlink("target", os.path.join(top, "link"))
            os.mkfifo(os.path.join(top, "fifo"))
        for name, data in (("sub/big", self.data), ("empty", b""), ("small", b"abc")):
            with open(os.path.join(self.plain, name), "wb") as f:
                f.write(data)
        with open(os.path.join(self.plain, "sub/.balefs/sparse"), "wb") as f:
            f.truncate(1 << 40)
        self.write(bytes(two_levels()[0].data), "sub/big")
        self.write(b"", "empty")
        self.write(bytes(Builder().direct(b"abc").data), "small")
        self.write(root(size=1 << 40) + bytes(SLOT), "sub/.balefs/sparse")

    def test_good(self) -> None:
        self.expect(0, "4 containers", " 0 errors")
        self.expect(0, "4 containers", args=("--paranoid", "--jobs", "1"))
        done = self.run_reader(self.store, "--json")
        self.assertEqual(done.returncode, 0)
        report = json.loads(done.stdout)
        self.assertEqual((report["containers"], report["errors"], report["size"]),
                         (4, [], (1 << 40) + 3 + len(self.data)))

    def test_differences(self) -> None:
        self.write(bytes(Builder().direct(b"abd").data), "small")
        self.write(b"", "extra")
        os.unlink(os.path.join(self.store, "link"))
        os.symlink("elsewhere", os.path.join(self.store, "link"))
        os.unlink(os.path.join(self.store, "fifo"))
        with open(os.path.join(self.plain, "sub/.balefs/sparse"), "r+b") as f:
            f.seek(1 << 39)
            f.write(b"\1")
        with open(os.path.join(self.plain, "empty"), "wb") as f:
            f.write(b"12345")
        self.expect(1, "small: content at offset 2: expected 63 found 64",
                    "extra: entry: expected nothing found regular file",
                    "link: symlink target: expected target found elsewhere",
                    "fifo: entry: expected fifo found nothing",
                    f"sparse: content at offset {1 << 39}: expected 01", "found 00",
                    "empty: size: expected 5 found 0", " 6 errors")

    def test_corrupt(self) -> None:
        data = bytearray(two_levels()[0].data)
        data[DATA_START + 176] ^= 1
        self.write(bytes(data), "sub/big")
        self.expect(1, "sub/big: frame at 224: chunk 0: checksum: expected ", " 1 errors")
        data = bytearray(two_levels()[0].data)
        data[-10] ^= 1
        self.write(bytes(data), "sub/big")
        self.expect(1, "sub/big: page at ", ": checksum: expected ", " 1 errors")

    def test_unusable(self) -> None:
        for change in (dict(format=2), dict(features=["x"]), dict(modes="x"), dict(uuid="x")):
            self.volume(**change)
            self.expect(2, "volume: ")
        self.volume()
        os.rename(os.path.join(self.store, ".balefs", "volume.json"),
                  os.path.join(self.store, ".balefs", "volume-copy.json"))
        self.expect(0)
        path = os.path.join(self.store, ".balefs", "volume.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{")
        self.expect(0)
        self.volume(format=2)
        self.expect(2, "volume: ")
        os.unlink(path)
        os.unlink(os.path.join(self.store, ".balefs", "volume-copy.json"))
        self.expect(2)
        self.assertEqual(self.run_reader().returncode, 2)

    def test_container(self) -> None:
        path = os.path.join(self.store, "sub", "big")
        done = self.run_reader("--container", path, "--cat")
        self.assertEqual((done.returncode, done.stdout), (0, self.data))
        done = self.run_reader("--container", path, "--dump")
        self.assertEqual(done.returncode, 0)
        lines = done.stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("slot 0 (chosen): flags=0 mode=0 generation=2 "))
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["slot", "permissions:", "page:", "page:", "page:", "segment:", "segment:", "segment:"])
        self.write(b"x" * 300, "sub/big")
        done = self.run_reader("--container", path, "--cat")
        self.assertEqual((done.returncode, done.stdout), (1, b""))


if __name__ == "__main__":
    unittest.main()
