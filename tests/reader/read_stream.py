#!/usr/bin/python3
"""Decodes balefs streams (FORMAT.md section 11), written from that document alone.

usage: read_stream.py [FILE...] > contents
"""
from __future__ import annotations

import struct
import sys
from typing import BinaryIO, Iterator

sys.dont_write_bytecode = True

from balefs_reader import (CHUNK, CODEC_ZERO, FRAME_FIXED, KIB, MIB, WITH_PART,  # noqa: E402
                           Fault, Frame, checksum, read_features, require, same, supported)
from offsets import (FRAME_AT_CHUNK_LOG2, FRAME_AT_CODEC, FRAME_AT_RAW_LENGTH,  # noqa: E402
                     FRAME_AT_STORED_LENGTH)

STREAM_HEAD, END = struct.Struct("<4s4sII8sQ"), struct.Struct("<4s4sQQQQQ")
ZEROS = bytes(MIB)

assert (STREAM_HEAD.size, END.size) == (32, 48)


class Input:
    """A file that is read from front to end, and knows its position."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.at = file, 0

    def read(self, length: int, what: str, start: bytes = b"") -> bytes:
        """start and what follows it, length bytes together; b"" at the end of the input."""
        data = bytearray(start)
        while len(data) < length:
            more = self.file.read(length - len(data))
            if not more:
                require(not data, f"{what} at {self.at - len(start)}: length", length, len(data))
                return b""
            data += more
        self.at += length - len(start)
        return bytes(data)


def read_head(data: bytes, what: str) -> tuple[int, bool]:
    """The extent size of the stream that begins with data, and whether frames may have an extent
    part."""
    magic, version, extent, zero, features, found = STREAM_HEAD.unpack(data)
    same(f"{what}: magic", b"BSTR", magic)
    same(f"{what}: checksum", f"{checksum(data[:24]):016x}", f"{found:016x}")
    supported(version[0] <= 1, f"{what}: version", 1, version[0])
    same(f"{what}: version", 1, version[0])
    supported(not any(version[1:]) and zero == 0, f"{what}: zero fields", 0, (version[1:], zero))
    parts = read_features(features, what)
    require(extent % 4096 == 0 and 16 * KIB <= extent <= 64 * MIB, f"{what}: extent size",
            "a multiple of 4096 from 16 KiB to 64 MiB", extent)
    return int(extent), parts


def read_frame(source: Input, start: bytes, extent: int, what: str) -> Frame:
    """The frame that begins with start, and its raw bytes."""
    data = source.read(FRAME_FIXED, what, start)
    codec, log2 = data[FRAME_AT_CODEC], data[FRAME_AT_CHUNK_LOG2]
    raw, = struct.unpack_from("<I", data, FRAME_AT_RAW_LENGTH)
    stored, = struct.unpack_from("<I", data, FRAME_AT_STORED_LENGTH)
    require(1 <= raw <= extent, f"{what}: raw length", f"1 to {extent}", raw)
    require(12 <= log2 <= 26, f"{what}: chunk log2", "12 to 26", log2)
    require(stored <= raw, f"{what}: stored length", f"at most {raw}", stored)
    count = 0 if codec == CODEC_ZERO else -(-raw >> log2)
    length = FRAME_FIXED + CHUNK.size * (count + (codec in WITH_PART)) + stored
    frame = Frame(memoryview(bytearray(source.read(length, what, data))), what)
    same(f"{what}: generation", 0, frame.generation)
    return frame


def stream(source: Input, head: bytes) -> Iterator[bytes]:
    """The contents of one stream, its head being read."""
    extent, parts = read_head(head, f"head at {source.at - len(head)}")
    frames = end_of_last = stored = chain = 0
    while True:
        at = source.at
        magic = source.read(4, "frame or end record") or b"nothing"
        if magic == b"BEND":
            break
        same(f"frame at {at}: magic", b"BFRM", magic)
        frame = read_frame(source, magic, extent, f"frame at {at}")
        require(frame.file_offset >= end_of_last, f"frame at {at}: offset",
                f"at least {end_of_last}", frame.file_offset)
        require(parts or frame.codec not in WITH_PART, f"frame at {at}: codec",
                "one without an extent part", frame.codec)
        frames += 1
        stored += source.at - at
        chain = checksum(struct.pack("<QQ", chain, frame.head_checksum))
        yield from zeros(frame.file_offset - end_of_last)
        yield bytes(frame.decode())
        end_of_last = frame.file_offset + frame.raw_length
    what = f"end record at {at}"
    data = source.read(END.size, what, magic)
    _, zero, *counts, found_chain, found = END.unpack(data)
    same(f"{what}: checksum", f"{checksum(data[:40]):016x}", f"{found:016x}")
    supported(not any(zero), f"{what}: zero field", bytes(4), zero)
    same(f"{what}: frames", frames, counts[0])
    same(f"{what}: stored", stored, counts[2])
    same(f"{what}: chain", f"{chain:016x}", f"{found_chain:016x}")
    require(end_of_last <= counts[1] < 1 << 63, f"{what}: size", f"{end_of_last} to 2^63 - 1",
            counts[1])
    yield from zeros(counts[1] - end_of_last)


def zeros(length: int) -> Iterator[bytes]:
    while length:
        step = min(length, len(ZEROS))
        yield ZEROS[:step]
        length -= step


def contents(file: BinaryIO) -> Iterator[bytes]:
    """The contents of all streams in file, which holds nothing else."""
    source = Input(file)
    head = source.read(STREAM_HEAD.size, "head")
    require(bool(head), "input", "a stream", "nothing")
    while head:
        yield from stream(source, head)
        head = source.read(STREAM_HEAD.size, "head")


def main() -> int:
    for name in sys.argv[1:] or ["-"]:
        try:
            with open(sys.stdin.fileno() if name == "-" else name, "rb") as file:
                for piece in contents(file):
                    sys.stdout.buffer.write(piece)
        except (Fault, OSError) as fault:
            kind = f"{fault.kind}: " if isinstance(fault, Fault) else ""
            print(f"{name}: {kind}{fault}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
