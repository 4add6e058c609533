#!/usr/bin/python3
"""What the decoders in Python make of the vectors of whole frames."""
from __future__ import annotations

import os
import struct
import sys
import unittest
from pathlib import Path
from typing import Callable, Optional

sys.dont_write_bytecode = True
import cusz
import float_codec
import fsst
import lzr

FRAMES = Path(os.environ["BALE_SOURCE"]) / "tests/vectors/frames"
DECODERS: dict[str, Callable[[bytes, bytes, int], Optional[bytes]]] = {
    "cusz": cusz.decode, "float": float_codec.decode, "fsst": fsst.decode,
    "lzr": lambda _part, stored, length: lzr.decode(stored, length)}


def decode(codec: str, frame: bytes) -> Optional[bytes]:
    """The raw bytes of a frame whose head and table are right."""
    size, raw_length = 1 << frame[6], int.from_bytes(frame[12:16], "little")
    chunks = -(-raw_length // size)
    entries = struct.unpack_from(f"<{'I8x' * (chunks + (codec != 'lzr'))}", frame, 44)
    at = 44 + 12 * len(entries) + 8
    part = b""
    if codec != "lzr":
        part, at, entries = frame[at:at + entries[0]], at + entries[0], entries[1:]
    raw = b""
    for i, stored in enumerate(entries):
        length = min(size, raw_length - i * size)
        chunk: Optional[bytes] = frame[at:at + stored]
        if stored < length:
            chunk = DECODERS[codec](part, frame[at:at + stored], length)
        if chunk is None or len(chunk) != length:
            return None
        raw += chunk
        at += stored
    return raw


class Vectors(unittest.TestCase):
    def test_frames(self) -> None:
        for codec in DECODERS:
            good = sorted(FRAMES.glob(f"good-{codec}-*.frame"))
            bad = sorted(FRAMES.glob(f"bad-{codec}-*.frame"))
            self.assertTrue(good and bad)
            for path in good:
                with self.subTest(path.stem):
                    self.assertEqual(decode(codec, path.read_bytes()), path.with_suffix(".raw").read_bytes())
            for path in bad:
                with self.subTest(path.stem):
                    self.assertIsNone(decode(codec, path.read_bytes()))


if __name__ == "__main__":
    unittest.main()
