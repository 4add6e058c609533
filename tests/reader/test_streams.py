#!/usr/bin/python3
"""Streams built by hand from FORMAT.md section 11: what the Python reader and `balefs decompress`
make of them. Both agree on all."""
from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import unittest
from typing import Any, Optional

sys.dont_write_bytecode = True
try:
    import test_reader as made
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import balefs_reader as reader
import read_stream

BALEFS = os.environ["BALEFS"]
EXTENT = 16384


def head(**change: Any) -> bytes:
    f = dict(magic=b"BSTR", version=1, zero=bytes(3), extent=EXTENT, zero2=0, features=bytes(8))
    f.update(change)
    data = struct.pack("<4sB3sII8s", *f.values())
    return data + made.xxh(data)


def end(frames: list[bytes], size: int, /, **change: Any) -> bytes:
    chain = 0
    for frame in frames:
        chain = made.number(made.xxh(struct.pack("<QQ", chain, made.head_checksum(frame))))
    f = dict(magic=b"BEND", zero=bytes(4), frames=len(frames), size=size,
             stored=sum(map(len, frames)), chain=chain)
    f.update(change)
    data = struct.pack("<4s4sQQQQ", *f.values())
    return data + made.xxh(data)


def frame(data: bytes, offset: int, codec: int = made.LZ4, **change: Any) -> bytes:
    return made.frame(data, offset, change.pop("generation", 0), codec, 12, **change)


def stream(frames: list[bytes], size: int) -> bytes:
    return head() + b"".join(frames) + end(frames, size)


class Streams(unittest.TestCase):
    def decompress(self, data: bytes) -> Optional[bytes]:
        done = subprocess.run([BALEFS, "decompress"], input=data, capture_output=True, check=False)
        if done.returncode == 0:
            self.assertEqual(done.stderr, b"")
            return done.stdout
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rb"^balefs: standard input: byte \d+: [^\n]*\n$")
        return None

    def good(self, data: bytes, expected: bytes) -> None:
        self.assertEqual(b"".join(read_stream.contents(io.BytesIO(data))), expected)
        self.assertEqual(self.decompress(data), expected)

    def bad(self, data: bytes, what: str, unsupported: bool = False) -> None:
        with self.assertRaisesRegex(reader.Fault, what) as caught:
            b"".join(read_stream.contents(io.BytesIO(data)))
        self.assertEqual(isinstance(caught.exception, reader.Unsupported), unsupported)
        self.assertIsNone(self.decompress(data))

    def setUp(self) -> None:
        self.data = made.text(EXTENT) + made.noise(EXTENT) + b"\7" * EXTENT + made.text(777)
        codecs = (made.LZ4, made.STORE, made.ZERO, made.ZSTD)
        self.frames = [frame(self.data[i * EXTENT:(i + 1) * EXTENT], i * EXTENT, codec)
                       for i, codec in enumerate(codecs)]
        self.whole = stream(self.frames, len(self.data))

    def test_good(self) -> None:
        self.good(self.whole, self.data)
        self.good(stream([], 0), b"")
        self.good(head(extent=64 << 20) + end([], 0), b"")
        short = [frame(b"abc", 0), frame(b"de", 3), frame(b"f", 5)]
        self.good(stream(short, 6), b"abcdef")

    def test_gaps(self) -> None:
        frames = [frame(b"abc", 5), frame(b"def", 100000)]
        self.good(stream(frames, 200000), bytes(5) + b"abc" + bytes(100000 - 8) + b"def" +
                  bytes(200000 - 100003))
        self.good(stream([], 12345), bytes(12345))
        self.bad(stream([frame(b"abc", 5), frame(b"d", 7)], 8), "offset")

    def test_several(self) -> None:
        self.good(self.whole + self.whole, self.data * 2)
        self.good(stream([], 0) * 3 + self.whole, self.data)
        big = made.text(40000)
        one = [frame(big, 0)]
        larger = head(extent=65536) + one[0] + end(one, len(big))
        self.good(self.whole + larger + self.whole, self.data + big + self.data)

    def test_cut_and_more(self) -> None:
        self.bad(b"", "input")
        steps = {1, 3, 4, 31, 32, 33, 36, 80, 100, *range(90, len(self.whole), 997),
                 *range(len(self.whole) - 50, len(self.whole))}
        for length in sorted(steps):
            with self.subTest(length=length):
                self.bad(self.whole[:length], "length|magic")
        for more in (b"\0", b"BSTR", bytes(100), b"BEND", self.frames[0], self.whole[:-1]):
            with self.subTest(more=more[:8]):
                self.bad(self.whole + more, "length|magic|checksum")

    def test_head(self) -> None:
        rest = end([], 0)
        self.bad(head(magic=b"BSTX") + rest, "magic")
        self.bad(head()[:-1] + b"\0" + rest, "checksum")
        self.bad(head(version=0) + rest, "version")
        self.bad(head(version=2) + rest, "version", True)
        self.bad(head(zero=b"\0\1\0") + rest, "zero", True)
        self.bad(head(zero2=1) + rest, "zero", True)
        self.bad(head(features=b"LOSS" + bytes(4)) + rest, "LOSS", True)
        self.bad(head(features=b"part" * 2) + rest, "features")
        for extent in (0, 12288, 16385, (64 << 20) + 4096):
            self.bad(head(extent=extent) + rest, "extent size")

    def test_end(self) -> None:
        size = len(self.data)
        body = head() + b"".join(self.frames)
        for change in (dict(frames=3), dict(stored=5), dict(chain=1)):
            self.bad(body + end(self.frames, size, **change), "frames|stored|chain")
        self.bad(body + end(self.frames, size - 1), "size")
        self.bad(head() + end([], 1 << 63), "size")
        self.bad(body + end(self.frames, size, zero=b"\1\0\0\0"), "zero", True)
        self.bad(body + end(self.frames, size)[:-1] + b"\0", "checksum")
        self.bad(body + end([], 0), "frames")

    def test_order(self) -> None:
        size, a = len(self.data), self.frames
        self.bad(head() + b"".join(a[:2] + a[3:]) + end(a, size), "frames")
        self.bad(head() + b"".join([a[1], a[0], *a[2:]]) + end(a, size), "offset")
        other = [*a[:3], frame(made.text(777, 9), 3 * EXTENT)]
        self.bad(head() + b"".join(other) + end(a, size), "stored|chain")

    def test_frames(self) -> None:
        def one(**change: Any) -> bytes:
            return stream([frame(self.data[:5000], 0, **change)], 5000)
        self.good(one(), self.data[:5000])
        self.bad(one(generation=1), "generation")
        self.bad(one(checksum=5), "raw checksum")
        self.bad(one(version=2), "version", True)
        self.bad(one(magic=b"BFRX"), "magic")
        self.bad(stream([frame(bytes(EXTENT + 1), 0, made.ZERO)], EXTENT + 1), "raw length")
        strings = made.strings(5000)
        part = [frame(strings, 0, made.FSST)]
        tagged = head(features=made.PARTS) + part[0] + end(part, len(strings))
        self.good(tagged, strings)
        self.bad(stream(part, len(strings)), "without an extent part")
        damaged = bytearray(tagged)
        damaged[tagged.index(b"abcdefgh")] ^= 1
        self.bad(bytes(damaged), "checksum")
        damaged = bytearray(self.whole)
        damaged[150] ^= 1
        self.bad(bytes(damaged), "checksum")

    def test_of_compress(self) -> None:
        listed = subprocess.run([BALEFS, "help", "codecs", "--json"], capture_output=True, check=True)
        names = [codec["default"] for codec in json.loads(listed.stdout) if codec["default"]]
        for codec in (*names, "auto:for=speed", "float:f64", "zstd:-7", "gpulz:s=1,w=32",
                      "gpulz:s=4,c=65536", "culzss:v=1"):
            for data in (b"", b"x", self.data, bytes(70000), made.noise(16385)):
                for extent in ("16K", "1M"):
                    with self.subTest(codec=codec, length=len(data), extent=extent):
                        done = subprocess.run([BALEFS, "compress", "--codec", codec, "--extent",
                                               extent], input=data, capture_output=True, check=True)
                        self.good(done.stdout, data)


if __name__ == "__main__":
    unittest.main()
