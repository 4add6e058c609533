#!/usr/bin/python3
"""What copy_file_range does in a mount.

    copy_range.py make DIR          makes the sources
    copy_range.py copy DIR BALEFS   copies them in all ways, and compares
    copy_range.py check DIR         compares again

Exit status: 0 as expected; 1 not.
"""
import json
import os
import random
import subprocess
import sys

EXTENT = 131072
WHOLE = (1 << 31) - 4096  # what the kernel hands over at most


def text(seed: int, length: int) -> bytes:
    rng = random.Random(seed)
    line = bytes(rng.choice(b"abcdefghijklmnop \n") for _ in range(4096))
    parts = [line[rng.randrange(4000):] for _ in range(length // 40 + 1)]
    return b"".join(parts)[:length]


def put(path: str, at: int, data: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(fd, data, at)
    os.fsync(fd)
    os.close(fd)


def data_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def check(right: bool, what: str) -> None:
    if not right:
        sys.exit(f"copy_range.py: {what}")


def make(top: str) -> None:
    put(f"{top}/text", 0, text(1, 20 * EXTENT + 777))
    put(f"{top}/small", 0, text(2, 300))
    put(f"{top}/patched", 0, text(3, 5 * EXTENT))
    for at in (100, EXTENT + 70000, 4 * EXTENT - 10):
        put(f"{top}/patched", at, b"patch" * 20)
    put(f"{top}/sparse", 3 * EXTENT + 5000, text(4, 2 * EXTENT))
    put(f"{top}/sparse", 20 * EXTENT, text(5, 1000))
    os.truncate(f"{top}/sparse", 30 * EXTENT + 1)


def copy(source: str, target: str, piece: int = WHOLE, data_only: bool = False) -> int:
    """Copies with copy_file_range alone, and returns the number of calls that copied something."""
    calls = 0
    size = os.stat(source).st_size
    from_fd, to_fd = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT, 0o640)
    at = 0
    while at < size:
        end = size
        if data_only:
            try:
                at = os.lseek(from_fd, at, os.SEEK_DATA)
                end = os.lseek(from_fd, at, os.SEEK_HOLE)
            except OSError:
                break
        while at < end:
            got = os.copy_file_range(from_fd, to_fd, min(piece, end - at), at, at)
            check(got > 0, f"{target}: nothing copied at {at}")
            at += got
            calls += 1
    os.ftruncate(to_fd, size)
    os.close(from_fd)
    os.close(to_fd)
    return calls


class Encoded:
    """Bytes that the mount has encoded since."""

    def __init__(self, balefs: str, mount: str):
        self.words = [balefs, "stat", "--json", mount]
        self.before = self.now()

    def now(self) -> int:
        said = json.loads(subprocess.run(self.words, check=True, stdout=subprocess.PIPE).stdout)
        return int(said["mount"]["engines"]["cpu"]["encoded"])

    def since(self) -> int:
        before, self.before = self.before, self.now()
        return self.before - before


def compare(top: str) -> None:
    for name in os.listdir(f"{top}/copies"):
        source = name.split("-")[0]
        check(data_of(f"{top}/copies/{name}") == data_of(f"{top}/{source}"), f"{name} differs")


def copy_all(top: str, balefs: str) -> None:
    to = f"{top}/copies"
    encoded = Encoded(balefs, top)
    copy(f"{top}/text", f"{to}/text-whole")
    check(encoded.since() == 0, "a whole file was encoded")
    check(copy(f"{top}/text", f"{to}/text-pieces", 1000000) >= 3, "pieces")
    check(encoded.since() == 0, "pieces were encoded")
    copy(f"{top}/text", f"{to}/text-crumbs", 100000)
    copy(f"{top}/small", f"{to}/small-whole")
    encoded.since()
    copy(f"{top}/sparse", f"{to}/sparse-whole")
    copy(f"{top}/sparse", f"{to}/sparse-data", data_only=True)
    check(encoded.since() <= 2 * 2 * EXTENT, "more of a sparse file was encoded than its edges")
    blocks = os.stat(f"{top}/sparse").st_blocks
    check(os.stat(f"{to}/sparse-whole").st_blocks <= blocks + 8, "a hole was filled")
    copy(f"{top}/patched", f"{to}/patched-whole")
    check(encoded.since() <= 4 * EXTENT, "more than the patched extents was encoded")

    # a source that nobody has committed yet, and one that goes on changing
    fd = os.open(f"{top}/text", os.O_RDWR)
    os.pwrite(fd, b"dirty", 5 * EXTENT + 9)
    copy(f"{top}/text", f"{to}/text-dirty")
    check(data_of(f"{to}/text-dirty") == data_of(f"{top}/text"), "dirty data was not copied")
    os.pwrite(fd, text(1, 20 * EXTENT)[5 * EXTENT + 9:5 * EXTENT + 14], 5 * EXTENT + 9)
    os.close(fd)
    os.unlink(f"{to}/text-dirty")

    # targets that have something: data, dirty data, a length, space
    for name, before in (("data", text(7, 3 * EXTENT)), ("length", b"")):
        put(f"{to}/text-{name}", 0, before)
        os.truncate(f"{to}/text-{name}", 25 * EXTENT)
        copy(f"{top}/text", f"{to}/text-{name}")
    fd = os.open(f"{to}/text-space", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, 10 * EXTENT)
    check(os.pread(fd, 10, 3 * EXTENT) == bytes(10), "preallocated")
    copy(f"{top}/text", f"{to}/text-space")
    os.pwrite(fd, text(1, 20 * EXTENT)[EXTENT - 5:EXTENT + 5], EXTENT - 5)
    os.close(fd)

    # another place of the target, and another setting: the ordinary way
    from_fd, to_fd = os.open(f"{top}/text", os.O_RDONLY), os.open(f"{to}/text-moved", os.O_RDWR | os.O_CREAT)
    check(os.copy_file_range(from_fd, to_fd, 1000, EXTENT, 5) == 1000, "moved")
    check(os.pread(to_fd, 1000, 5) == os.pread(from_fd, 1000, EXTENT), "what was moved")
    os.close(from_fd)
    os.close(to_fd)
    os.unlink(f"{to}/text-moved")
    subprocess.run([balefs, "set", to, "lz4"], check=True)
    copy(f"{top}/text", f"{to}/text-lz4")
    subprocess.run([balefs, "sync", top], check=True)
    said = json.loads(subprocess.run([balefs, "stat", "--json", f"{to}/text-lz4"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    check(set(said["codecs"]) == {"lz4"}, f"codecs of a copy under lz4: {said['codecs']}")

    state = os.stat(f"{to}/text-whole")
    check(state.st_mode & 0o777 == 0o640 & ~os.umask(0), "the mode is not the target's")
    check(state.st_mtime_ns > os.stat(f"{top}/sparse").st_mtime_ns, "the time is not that of the copy")
    compare(top)
    for name in os.listdir(to):
        fd = os.open(f"{to}/{name}", os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "copy":
        copy_all(sys.argv[2], sys.argv[3])
    else:
        compare(sys.argv[2])
