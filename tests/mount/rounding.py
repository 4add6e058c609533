#!/usr/bin/python3
"""Files in a mount whose elements are rounded, against a model that has every bit.

usage: rounding.py shapes MNT           what decides whether a file is rounded, and ways to write
       rounding.py overwrite MNT STATE COUNT
                                        so many overwrites at random of each file of FILES, then an fsync
       rounding.py endless MNT STATE    overwrites until the mount is dead
       rounding.py check MNT STATE      each file is as after one of the overwrites since its last fsync, and so is the model from now on

MNT/run has match lines: see LINES.
"""
import mmap
import os
import pickle
import random
import struct
import subprocess
import sys
import time
from fractions import Fraction

sys.dont_write_bytecode = True
from rounding_model import FILES, KINDS, Kind, LINES, PAGE, draw, kind_of, read, same, wrong

# --- overwrites -------------------------------------------------------------------------------------------------------


class State:
    """Of a file: what it is, what was written last in each place, and what came since the last fsync."""

    def __init__(self):
        self.content = {name: bytearray() for name in FILES}
        self.last = {name: bytearray() for name in FILES}
        self.since = {name: [] for name in FILES}
        self.rng = random.Random(21)
        self.done = 0


def note_last(kind, content, last, at, data):
    """Elements that are covered in part are then what the file shows: they stay exact."""
    before = bytes(content)
    last.extend(bytes(max(0, at + len(data) - len(last))))
    covered = set(kind.whole(at, data))
    for place in range(max(kind.offset, at - kind.width - (at - kind.width - kind.offset) % kind.width), at + len(data),
                       kind.width):
        if place not in covered:
            end = min(place + kind.width, len(last))
            last[place:end] = before[place:end].ljust(end - place, b"\0")
    last[at : at + len(data)] = data


def within(kind, content, last, what):
    for place in range(kind.offset, len(content) - kind.width + 1, kind.width):
        a, b = bytes(content[place : place + kind.width]), bytes(last[place : place + kind.width])
        if a == b:
            continue
        x, y = struct.unpack(kind.code, a)[0], struct.unpack(kind.code, b)[0]
        if not abs(Fraction(x) - Fraction(y)) <= Fraction(kind.bound):
            wrong(f"{what}: byte {place}: {x}, but {y} was written")


def one_overwrite(state, name, fds):
    kind, rng = kind_of(name), state.rng
    if not state.content[name]:
        at, data = 0, bytes(kind.offset) + draw(kind, 60_000 // kind.width, rng)
    else:
        at = rng.randrange(len(state.content[name]))
        data = draw(kind, 2 + rng.randrange(500), rng) if rng.random() < 0.6 else rng.randbytes(1 + rng.randrange(9))
        data = data[rng.randrange(len(data)) if len(data) < 8 else rng.randrange(8):] or b"x"
    state.since[name].append((at, data))
    if os.pwrite(fds[name], data, at) != len(data):
        wrong(f"{name}: a short write")
    note_last(kind, state.content[name], state.last[name], at, data)
    kind.write(state.content[name], at, data)
    state.done += 1
    if rng.random() < 0.05:
        os.fsync(fds[name])
        state.since[name].clear()
        state.base[name] = (bytes(state.content[name]), bytes(state.last[name]))


def open_all(mnt):
    return {name: os.open(f"{mnt}/run/{name}", os.O_RDWR | os.O_CREAT, 0o600) for name in FILES}


def save(state, path):
    with open(path, "wb") as file:
        pickle.dump(state, file)


def load(path):
    if not os.path.exists(path):
        return State()
    with open(path, "rb") as file:
        return pickle.load(file)


def overwrite(mnt, path, count):
    state = load(path)
    state.base = {name: (bytes(state.content[name]), bytes(state.last[name])) for name in FILES}
    try:
        fds = open_all(mnt)
        for i in range(count * len(FILES)):
            one_overwrite(state, FILES[i % len(FILES)], fds)
    except OSError:  # the daemon was killed, perhaps before anything began
        if count < sys.maxsize // 8:
            raise
        save(state, path)
        return
    for name in FILES:
        os.fsync(fds[name])
        state.since[name].clear()
        state.base[name] = (bytes(state.content[name]), bytes(state.last[name]))
    save(state, path)
    check(mnt, path)


def check(mnt, path):
    state = load(path)
    for name in FILES:
        kind, got = kind_of(name), read(f"{mnt}/run/{name}")
        content, last = (bytearray(part) for part in state.base[name])
        for at, data in state.since[name]:
            if got == content:
                break
            note_last(kind, content, last, at, data)
            kind.write(content, at, data)
        same(got, content, f"{name} after {state.done} overwrites")
        within(kind, content, last, name)
        state.content[name], state.last[name], state.since[name] = content, last, []
    save(state, path)


# --- shapes -----------------------------------------------------------------------------------------------------------

HDF5 = b"\x89HDF\r\n\x1a\n"


class File:
    """A file in the mount beside its model, which rounds once `decided`."""

    def __init__(self, path, kind=None, decided=False):
        self.path, self.kind, self.decided = path, kind or kind_of(path), decided
        self.content = bytearray()
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def write(self, at, data, decided=None):
        self.decided = self.decided if decided is None else decided
        os.pwrite(self.fd, data, at)
        if self.decided:
            self.kind.write(self.content, at, data)
        else:
            self.content.extend(bytes(max(0, at + len(data) - len(self.content))))
            self.content[at : at + len(data)] = data

    def again(self):
        os.close(self.fd)
        self.fd = os.open(self.path, os.O_RDWR)

    def check(self, what):
        for _ in range(2):
            same(read(self.path), self.content, what)
            self.again()
        os.close(self.fd)


def formats(run, rng):
    floats = draw(KINDS[".f32"], 3000, rng)
    tar = bytearray(floats)
    tar[257:262] = b"ustar"
    user_block = bytearray(floats)
    user_block[512:520] = HDF5
    heads = {"hdf5": HDF5 + floats, "later": bytes(user_block), "netcdf": b"CDF\x02" + floats, "zip": b"PK\3\4" + floats,
             "tar": bytes(tar), "elf": b"\x7fELF" + floats, "text": b"".join(b"%f\n" % i for i in range(3000)),
             "numpy": b"\x93NUMPY\1\0" + floats}
    for name, data in heads.items():
        file = File(f"{run}/{name}.f32")
        file.write(0, data)
        file.write(len(data), floats)
        file.check(f"a file of format {name}")


def late_headers(run, rng):
    kind = KINDS[".f32"]
    data = draw(kind, 6000, rng)
    for name, head, rounds in (("late", HDF5, False), ("plain", b"\0\1\2\3\4\5\6\7", True)):
        file = File(f"{run}/{name}.f32")
        file.write(8192, data[8192:])
        file.write(8, data[8:5000])
        file.again()  # a gap is left: the bytes before count only as they are written in one opening
        file.write(4, data[4:5000])
        os.fsync(file.fd)
        file.write(5000, data[5000:8192])
        file.write(0, head[:3])
        file.write(3, head[3:], decided=rounds)
        file.write(1000, data[1000:9000])
        file.check(f"data before its header ({name})")
    file = File(f"{run}/pieces.f32")
    for at in range(0, 3000, 300):  # no gap: openings add up
        file.write(at, data[at : at + 300])
        file.again()
    file.write(3000, data[3000:], decided=True)
    file.check("a file begun in several openings")
    pages = list(range(0, len(data), 1111))
    rng.shuffle(pages)
    file, there = File(f"{run}/order.f32"), set()
    for at in pages:
        there.update(range(at, min(at + 1111, PAGE)))
        file.write(at, data[at : at + 1111], decided=len(there) >= PAGE)
    file.check("pieces out of order")


def truncations(run, rng):
    data = draw(KINDS[".f32"], 5000, rng)
    file = File(f"{run}/cut.f32")
    file.write(0, b"text\n" * 2000)
    os.ftruncate(file.fd, 0)
    file.content.clear()
    file.write(0, data, decided=True)
    os.ftruncate(file.fd, 5001)
    del file.content[5001:]
    file.write(3, data[3:12000])
    same(read(file.path), file.content, "an array where text was")
    os.ftruncate(file.fd, 0)
    file.content.clear()
    file.write(0, b"abc\n" * 2500, decided=False)
    file.write(10000, data)
    file.check("truncated to nothing, twice")
    file = File(f"{run}/short.f32")
    file.write(0, data[:4000])
    os.ftruncate(file.fd, 1000)
    os.ftruncate(file.fd, 4000)
    file.content[1000:] = bytes(3000)
    file.write(4000, data[4000:9000])
    same(read(file.path), file.content, "cut before it is decided")
    file.write(1000, data[1000:9000], decided=True)
    file.check("and written again")
    file = File(f"{run}/hole.f32")
    file.write(0, data[:4000])
    os.ftruncate(file.fd, 20000)  # zeros that nobody wrote
    file.content.extend(bytes(20000 - 4000))
    file.write(6000, data[6000:12000])
    same(read(file.path), file.content, "extended without data")
    file.write(4000, data[4000:8000], decided=True)
    file.check("and filled")


def mapped(run, rng):
    kind = KINDS[".f32"]
    file = File(f"{run}/map.f32")
    file.write(0, draw(kind, 10000, rng), decided=True)
    os.fsync(file.fd)
    try:
        memory = mmap.mmap(file.fd, 40000)
    except OSError as error:
        if error.errno == 19:  # ENODEV: Linux before 6.6
            return
        raise
    for _ in range(200):
        place = 4 * rng.randrange(10000)
        raw = draw(kind, 1, rng)
        memory[place : place + 4] = raw
        file.content[place : place + 4] = kind.rounded(raw)
    memory.flush()
    same(os.pread(file.fd, 40000, 0), file.content, "after msync")
    for _ in range(6000):  # the mapping shows it once its pages were dropped
        if memory[:] == file.content:
            break
        time.sleep(0.01)
    same(memory[:], file.content, "the mapping itself")
    memory.close()
    file.check("written by mmap")


def writers(run, rng):
    """Slices of no whole elements, written at the same time: what two of them share stays exact."""
    kind = KINDS[".f32"]
    file = File(f"{run}/many.f32")
    file.write(0, bytes(range(251)) * 17, decided=False)
    file.write(0, draw(kind, 40000, rng), decided=True)
    data = draw(kind, 40000, rng)
    step = 4999
    for writer in range(4):
        if os.fork() == 0:
            fd = os.open(file.path, os.O_RDWR)
            for at in range(writer * step, len(data), 4 * step):
                os.pwrite(fd, data[at : at + step], at)
            os._exit(0)
    for _ in range(4):
        if os.wait()[1] != 0:
            wrong("a writer failed")
    for at in range(0, len(data), step):
        file.kind.write(file.content, at, data[at : at + step])
    file.check("several writers")


def made_lossy(run, rng):
    """A file that is open through the kernel's cache when it becomes lossy."""
    kind, path = KINDS[".f32"], f"{run}/later"
    file = File(path, kind)
    data = draw(kind, 9000, rng)
    file.write(0, data)
    reader = os.open(path, os.O_RDONLY)
    os.pread(reader, 36000, 0)
    os.setxattr(path, "user.balefs.codec", b"cusz:f32,abs=0.001")
    file.write(100, data[40:20000])
    same(read(path), file.content, "written through the cache")
    file.again()
    file.write(2000, data[2000:30000], decided=True)
    same(read(path), file.content, "opened again")
    os.close(reader)
    file.write(0, read(path))
    file.check("written as it was read")


def header(descr, shape, fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    return b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"


def numpy(run, rng):
    for name, descr, code in (("le", "<f4", "<f"), ("be", ">f8", ">d")):
        kind = Kind(code, "0.01", 128)
        file = File(f"{run}/{name}.npy", kind)
        data = header(descr, (20, 30, 10)) + draw(kind, 6000, rng)
        file.write(0, data[:50])
        file.write(50, data[50:], decided=True)
        file.again()
        file.write(5, data[5:3000])  # the header as it is
        file.again()
        file.write(8, header(">i4", (9,))[8:], decided=False)
        file.write(300, data[300:9000])
        file.check(f"{name}.npy")
    file = File(f"{run}/int.npy", Kind("<f", "0.01", 128))
    file.write(0, header("<i4", (5000,)) + draw(file.kind, 5000, rng))
    file.check("int.npy")


def appended(run, rng):
    file = File(f"{run}/log.f32")
    data = draw(file.kind, 5000, rng)
    file.write(0, data[:4096], decided=True)
    with open(file.path, "ab", buffering=0) as end:
        for at in range(4096, len(data), 1001):
            end.write(data[at : at + 1001])
            file.kind.write(file.content, at, data[at : at + 1001])
    file.check("appended")


def rounded_beside(run, rng):
    """What is stored is rounded again and again while it is written: no write is lost."""
    file = File(f"{run}/beside.f32")
    data = draw(file.kind, 60000, rng)
    file.write(0, data, decided=True)
    command = ["bash", "-c", 'while [ -e "$1" ]; do "$BALEFS" recompress --round "$1" >&2 || exit 1; : >"$1.ran"; done', "bash", file.path]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as beside:
        done = 0
        while done < 600 or not os.path.exists(file.path + ".ran"):
            if beside.poll() is not None:
                wrong("recompress --round failed")
            done += 1
            at = 4 * rng.randrange(59000)
            file.write(at, draw(file.kind, 1 + rng.randrange(300), rng))
        name = file.path + ".done"
        os.rename(file.path, name)
    file.path = name
    file.check("written while it was rounded")


def shapes(mnt):
    rng = random.Random(4)
    for shape in (formats, late_headers, truncations, mapped, writers, made_lossy, numpy, appended, rounded_beside):
        shape(f"{mnt}/run", rng)


def main(arguments):
    what, mnt, *rest = arguments
    if what == "shapes":
        shapes(mnt)
    elif what == "overwrite":
        overwrite(mnt, rest[0], int(rest[1]))
    elif what == "endless":
        overwrite(mnt, rest[0], sys.maxsize // 4)
    elif what == "check":
        check(mnt, rest[0])
    elif what == "lines":
        print("\n".join(LINES))


if __name__ == "__main__":
    main(sys.argv[1:])
