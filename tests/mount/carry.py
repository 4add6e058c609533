#!/usr/bin/python3
"""Files of all codecs, kinds and sizes, below a mount: carry.py MNT.

They stay open until a line comes on standard input, so that nobody waits for what is stored; then a second time some are
changed in places. Prints a line after each."""
import os
import random
import sys

CODECS = ("store", "lz4", "zstd:1", "zstd:-3", "zstd:3", "zstd:9", "gpulz", "culzss:1", "culzss:2", "lzr", "lzr:level=2", "fsst", "auto", "auto:for=speed")
EXTENTS = ("16K", "128K", "1M")
SIZES = (0, 1, 4095, 4096, 65535, 65537, 131072, 300001)


def contents(dice, kind, size):
    """Size bytes of the kind."""
    if kind == "text":
        data = b" ".join(b"%d-th-word-of-text" % dice.randrange(400) for _ in range(size // 17 + 1))
    elif kind == "runs":
        data = b"".join(bytes((dice.randrange(5),)) * dice.randrange(1, 3000) for _ in range(size // 1000 + 2))
    elif kind == "zeros":
        data = bytes(size)
    elif kind == "equal":
        data = b"\xa5" * size
    else:
        data = dice.randbytes(min(size, 20000)) + contents(dice, "text", max(0, size - 20000))
    return data[:size].ljust(size, b".")


def main():
    """Writes, waits, changes and waits."""
    mnt, dice, files = sys.argv[1], random.Random(4711), []
    for codec in CODECS:
        for extent in EXTENTS:
            top = os.path.join(mnt, codec.replace(":", "") + "-" + extent)
            os.mkdir(top)
            os.setxattr(top, "user.balefs.codec", codec.encode())
            os.setxattr(top, "user.balefs.extent", extent.encode())
            kinds = dict(zip(SIZES, ("text", "text", "mixed", "text", "runs", "text", "zeros", "mixed")))
            wanted = [*kinds.items(), (2500000, "runs"), (400000, "equal")]
            for size, kind in wanted:
                path = os.path.join(top, f"{kind}.{size}")
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                os.pwrite(fd, contents(dice, kind, size), 0)
                files.append((fd, size))
            fd = os.open(os.path.join(top, "holes"), os.O_RDWR | os.O_CREAT | os.O_EXCL)
            os.ftruncate(fd, 3000000)
            os.pwrite(fd, contents(dice, "runs", 150000), 1000000)
            files.append((fd, 3000000))
    print("written", flush=True)
    sys.stdin.readline()
    for fd, size in files:
        if size > 100000:
            os.pwrite(fd, contents(dice, "text", 5000), dice.randrange(size - 5000))
            os.ftruncate(fd, size - dice.randrange(3) * 30000)
    print("changed", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
