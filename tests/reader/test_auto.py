#!/usr/bin/python3
"""`balefs compress` chooses what kernels/auto/spec.md says."""
from __future__ import annotations

import math
import os
import random
import struct
import subprocess
import sys
import unittest
from typing import Iterator

sys.dont_write_bytecode = True
import auto_choice

BALEFS = os.environ["BALEFS"]
KINDS = ("random", "keys of 2", "keys of 4", "keys of 8", "keys of 4, 2 random", "keys of 4, 4 random", "numbers",
         "sparse", "repeats", "far repeats", "letters", "words", "counter", "rounded", "f32", "f64 be", "i16", "noise",
         "prices", "tenths", "steps")


def kind_of(name: str, length: int, dice: random.Random) -> bytes:
    """So many bytes of the kind, or more."""
    def keys(size: int, behind: int = 0) -> Iterator[bytes]:
        few = [dice.randbytes(size) for _ in range(dice.randrange(2, 300))]
        return (dice.choice(few) + dice.randbytes(behind) for _ in range(length // (size + behind) + 1))

    if name.startswith("keys"):
        return b"".join(keys(*(int(word) for word in name.split() if word.isdigit())))
    if name == "numbers":
        return struct.pack(f"<{length // 4 + 1}i", *(dice.randrange(100) for _ in range(length // 4 + 1)))
    if name == "sparse":
        return b"".join(dice.randbytes(8) if dice.randrange(9) == 0 else bytes(8) for _ in range(length // 8 + 1))
    if name.endswith("repeats"):
        size = dice.randrange(400, 3000) if name == "far repeats" else dice.randrange(10, 400)
        return b"".join(2 * dice.randbytes(size) for _ in range(length // size + 1))
    if name == "letters":
        return bytes(dice.choices(b"abcdefgh"[:dice.randrange(2, 9)], k=length))
    if name == "words":
        return b" ".join(b"%d-word" % dice.randrange(400) for _ in range(length // 6 + 1))
    if name == "counter":
        return b"".join(struct.pack("<QQ", i, 5 * i) for i in range(length // 16 + 1))
    if name == "rounded":
        row = dice.randrange(100, 2000)
        return b"".join(struct.pack("<f", round(1000 * math.sin(i // row / 50) * math.cos(i % row / 30)) / 500)
                        for i in range(length // 4 + 1))
    if name in ("f32", "f64 be", "i16"):
        letter, scale = {"f32": ("<f", 7.7), "f64 be": (">d", 1 / 3), "i16": ("<h", 9000)}[name]
        values = (scale * (math.sin(i / 90) + dice.random() / 300) for i in range(length // struct.calcsize(letter) + 1))
        return bytes(dice.randrange(4)) + b"".join(struct.pack(letter, int(v) if name == "i16" else v) for v in values)
    if name in ("prices", "tenths"):
        letter, digits = {"prices": ("<d", 2), "tenths": (">f", 1)}[name]
        values = (round(99 + 40 * dice.random() ** 3, digits) if dice.random() < .97 else 1 / (i + 1)
                  for i in range(length // struct.calcsize(letter) + 1))
        return b"".join(struct.pack(letter, v) for v in values)
    if name == "steps":
        row = dice.randrange(100, 2000)
        return b"".join(struct.pack("<f", round(1000 * math.sin(i // row / 50) * math.cos(i % row / 30)) * .0026180339)
                        for i in range(length // 4 + 1))
    if name == "noise":
        return struct.pack(f"<{length // 4 + 1}f", *(dice.gauss(0, 1) for _ in range(length // 4 + 1)))
    return dice.randbytes(length)


class Auto(unittest.TestCase):
    def head(self, codec: str, data: bytes) -> tuple[int, int]:
        """Id and parameter of the only frame."""
        stream = subprocess.run([BALEFS, "compress", "--codec", codec, "--extent", "1M"], input=data,
                                capture_output=True, check=True).stdout
        return stream[32 + 5], struct.unpack_from("<H", stream, 32 + 8)[0]

    def test_choices(self) -> None:
        dice, seen = random.Random(11), set()
        for kind in KINDS:
            for length in (1000, 8191, 8192, 8193, 16384, 100001):
                data = kind_of(kind, length, dice)[:length]
                for codec, choose in (("auto", auto_choice.for_ratio), ("auto:for=speed", auto_choice.for_speed)):
                    with self.subTest(kind=kind, length=length, codec=codec):
                        choice = choose(data)
                        seen.add((codec, choice))
                        self.assertEqual(self.head(codec, data), self.head(choice, data), choice)
        for codec, some in (("auto", {"store", "lz4", "zstd:1", "lzr:1", "float", "gpulz:s=4"}),
                            ("auto:for=speed", {"store", "fsst", "lzr:1", "gpulz:s=4"})):
            self.assertLessEqual(some, {c for s, c in seen if s == codec}, codec)


if __name__ == "__main__":
    unittest.main()
