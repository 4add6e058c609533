#!/usr/bin/python3
"""Damages containers of a store, and shows what can still be read of a file.

    damage.py chunk STORE FILE OFFSET     flips a byte of the chunk that holds OFFSET; prints its range
    damage.py page STORE FILE             flips a byte of the index's top page
    damage.py slot STORE FILE old|new|both
    damage.py version STORE FILE          says that a newer version of the format wrote the newest root
    damage.py cut STORE FILE OFFSET       ends the container inside the frame that holds OFFSET
    damage.py read FILE REFERENCE         ranges that give an error, as "FROM TO ERRNO"; 1 if others differ
"""
from __future__ import annotations

import errno
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reader"))
from balefs_reader import DIRECT, Container, Root, Segment, Store, checksum
from offsets import ROOT_AT_CHECKSUM, ROOT_AT_END, ROOT_AT_VERSION, SLOT

STEP = 4096


def flip(path: str, position: int) -> None:
    fd = os.open(path, os.O_RDWR)
    byte = os.pread(fd, 1, position)[0]
    os.pwrite(fd, bytes([byte ^ 0x10]), position)
    os.close(fd)


def segment_at(container: Container, root: Root, offset: int) -> Segment:
    for segment in container.walk(root).segments:
        if segment.offset <= offset < segment.offset + segment.length:
            return segment
    raise SystemExit(f"{container.path}: nothing is stored at {offset}")


def damage(what: str, store: str, name: str, argument: str) -> None:
    path = os.path.join(store, name)
    with Container(path, Store(store)) as container:
        root = container.choose()
        assert root is not None
        if what == "slot":
            for slot in {"old": [1 - root.slot], "new": [root.slot], "both": [0, 1]}[argument]:
                flip(path, slot * SLOT + ROOT_AT_END)
        elif what == "version":
            fd = os.open(path, os.O_RDWR)
            slot = bytearray(os.pread(fd, SLOT, root.slot * SLOT))
            slot[ROOT_AT_VERSION] = 2
            slot[ROOT_AT_CHECKSUM:] = struct.pack("<Q", checksum(bytes(slot[:ROOT_AT_CHECKSUM])))
            os.pwrite(fd, slot, root.slot * SLOT)
            os.close(fd)
        elif what == "page":
            assert root.height not in (0, DIRECT), root.height
            flip(path, root.position + root.length // 2)
        elif what in ("chunk", "cut"):
            segment = segment_at(container, root, int(argument))
            frame = container.frame(root, segment)
            index = (int(argument) - segment.offset + segment.skip) // frame.chunk
            body = segment.position + segment.frame_length - frame.stored
            position = body + sum(stored for stored, _ in frame.table[:index])
            middle = position + frame.table[index][0] // 2
            if what == "chunk":
                flip(path, middle)
            else:
                os.truncate(path, middle)
            start = segment.offset - segment.skip
            print(start + index * frame.chunk, start + index * frame.chunk + frame.raw_of(index))


def read(path: str, reference: str) -> int:
    ranges: list[list[int]] = []
    different = 0
    fd = os.open(path, os.O_RDONLY)
    with open(reference, "rb") as file:
        expected = file.read()
    size = os.fstat(fd).st_size
    if size != len(expected):
        print(f"size {size}, not {len(expected)}", file=sys.stderr)
        different = 1
    for at in range(0, size, STEP):
        try:
            found = os.pread(fd, STEP, at)
        except OSError as error:
            number = error.errno or 0
            if ranges and ranges[-1][1] == at and ranges[-1][2] == number:
                ranges[-1][1] += STEP
            else:
                ranges.append([at, at + STEP, number])
            continue
        if found != expected[at:at + STEP]:
            print(f"differs at {at}", file=sys.stderr)
            different = 1
    for start, end, number in ranges:
        print(start, min(end, size), errno.errorcode.get(number, number))
    return different


def main() -> int:
    if len(sys.argv) == 4 and sys.argv[1] == "read":
        return read(sys.argv[2], sys.argv[3])
    if len(sys.argv) in (4, 5) and sys.argv[1] in ("chunk", "page", "slot", "version", "cut"):
        damage(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) == 5 else "")
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
