"""An independent reader of balefs containers, written from format/FORMAT.md alone.

Numbers in comments are sections of that document. The reader trusts nothing: every rule that the
document states for readable structures is checked before the structure is used. It needs
python3-lz4, python3-xxhash and libzstd.so.1.
"""
from __future__ import annotations

import ctypes
import enum
import json
import os
import struct
import uuid
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union

import lz4.block
from xxhash import xxh3_64_intdigest as checksum

import cusz
import float_codec
import fsst
import lzr

KIB, MIB = 1 << 10, 1 << 20
SLOT = 112                          # length of a root slot (4)
SLOTS = 2 * SLOT
DIRECT = 255                        # tree height of a root without index pages (4)
SETTINGS = 254                      # and of one with a settings page
PAGE_MAX = 4096
LEAF, INNER = struct.Struct("<QQQIIIBBBBQ"), struct.Struct("<QQQIQ")
ROOT = struct.Struct("<4sBBHQQIIQQQIBBHQQQ8sqQ")
PAGE = struct.Struct("<4sBBHQQ")
RECORD = struct.Struct("<4sBBHQQQQIBBBB3QQQQQ")     # a settings page (5)
LOSSY, FIELDS = (19,), (19, 21)     # codecs whose settings round values, and those that know arrays
STEPS = (2 << 52, 2044 << 52)       # bits of the least step and of the greatest
ELEMENTS = {1: 4, 2: 8, 3: 2, 4: 4, 5: 8, 6: 0}     # bytes by type; npy's are in the file's header
HEAD = struct.Struct("<4sBBBBHHIQQQI")
CHUNK = struct.Struct("<IQ")
U64 = struct.Struct("<Q")
FRAME_FIXED = HEAD.size + 8         # head without chunk table, with its checksum
RAW_MAX = 64 * MIB
FRAME_MAX = FRAME_FIXED + CHUNK.size * (RAW_MAX >> 12) + RAW_MAX
CODEC_STORE, CODEC_ZERO, CODEC_LZ4, CODEC_ZSTD, CODEC_AUTO = 0, 1, 2, 3, 255
CODEC_CULZSS, CODEC_GPULZ, CODEC_FSST, CODEC_CUSZ, CODEC_LZR, CODEC_FLOAT = 16, 17, 18, 19, 20, 21
CODECS = {0: "store", 1: "zero", 2: "lz4", 3: "zstd", 16: "culzss", 17: "gpulz", 18: "fsst", 19: "cusz", 20: "lzr", 21: "float"}
WITH_PART = (18, 19, 21)            # ids of codecs whose frames have an extent part (6)
WITH_CELLS = (19, 21)               # and of those whose long chunks are hashed in parts of CELL bytes (6)
CELL = 64 * KIB
PARTS = b"part"                     # the feature tag that says so (4)
ADAPTIVE = 0x2000                   # bit of gpulz's parameter, in settings (kernels/gpulz/spec.md)
UNWRITTEN = 1                       # segment flag

assert (ROOT.size, PAGE.size, HEAD.size, LEAF.size, INNER.size) == (SLOT, 24, 44, 48, 36)


class Lost(NamedTuple):
    """A page or frame that is not good, as the index refers to it."""
    position: int
    length: int
    checksum: int
    page: bool
    offset: int = 0                             # of a frame, in the file
    generations: tuple[int, int] = (0, 0)       # of a frame: from, to


class Fault(Exception):
    """A structure that breaks a rule: what, and what was expected and found."""
    kind = "corrupt"
    lost: Optional[Lost] = None

    def __init__(self, what: str, expected: Any, found: Any) -> None:
        super().__init__(f"{what}: expected {expected} found {found}")
        self.what, self.expected, self.found = what, str(expected), str(found)


class Unsupported(Fault):
    """A structure that a newer version of the format may explain."""
    kind = "unsupported"


Sink = Callable[[Fault], None]


def strict(fault: Fault) -> None:
    """The sink that stops at the first fault."""
    raise fault


def require(good: bool, what: str, expected: Any, found: Any) -> None:
    if not good:
        raise Fault(what, expected, found)


def same(what: str, expected: Any, found: Any) -> None:
    if expected != found:
        raise Fault(what, expected, found)


def supported(good: bool, what: str, expected: Any, found: Any) -> None:
    if not good:
        raise Unsupported(what, expected, found)


# Codecs (7)

class _Zstd:
    """libzstd through ctypes: unlike the Python binding it reports where the frame ends."""

    def __init__(self) -> None:
        self.lib = lib = ctypes.CDLL("libzstd.so.1")
        size, pointer = ctypes.c_size_t, ctypes.c_void_p
        lib.ZSTD_findFrameCompressedSize.restype = size
        lib.ZSTD_findFrameCompressedSize.argtypes = [pointer, size]
        lib.ZSTD_decompressDCtx.restype = size
        lib.ZSTD_decompressDCtx.argtypes = [pointer, pointer, size, pointer, size]
        lib.ZSTD_createDCtx.restype = pointer
        lib.ZSTD_isError.argtypes = [size]
        self.context: dict[int, Any] = {}       # by process: workers are forked

    def decode(self, stored: memoryview, out: memoryview) -> int:
        """Decodes exactly one frame into out; its decoded length, or -1."""
        context = self.context.get(os.getpid())
        if context is None:
            context = self.context[os.getpid()] = ctypes.c_void_p(self.lib.ZSTD_createDCtx())
        source = ctypes.addressof(ctypes.c_char.from_buffer(stored))
        target = ctypes.addressof(ctypes.c_char.from_buffer(out))
        if self.lib.ZSTD_findFrameCompressedSize(source, len(stored)) != len(stored):
            return -1
        got = self.lib.ZSTD_decompressDCtx(context, target, len(out), source, len(stored))
        return -1 if self.lib.ZSTD_isError(got) else got


_zstd = _Zstd()


class Lzss(NamedTuple):
    """The numbers of kernels/lzss/spec.md, in bytes, but for the window, in symbols."""
    window: int
    piece: int
    symbol: int

    @classmethod
    def parse(cls, codec: int, parameter: int, what: str) -> Lzss:
        """Of a frame's parameter (kernels/culzss/spec.md, kernels/gpulz/spec.md)."""
        if codec == CODEC_CULZSS:
            require(parameter in (1, 2), f"{what}: parameter", "1 or 2", parameter)
            return cls(128, 512 if parameter == 1 else 4096, 1)
        window, n, log2 = parameter & 255, parameter >> 8 & 7, parameter >> 11
        require(window >= 32 and n <= 5 and log2 <= 3, f"{what}: parameter",
                "a window of 32 to 255, n of 0 to 5, log2 S of 0 to 3", f"{parameter:#x}")
        return cls(window, 2048 << n, 1 << log2)

    def decode(self, stored: memoryview, out: memoryview) -> bool:
        """Decodes one chunk into out; False if it breaks a rule."""
        body = len(out) // self.symbol * self.symbol
        pieces = -(-body // self.piece)
        tail = len(out) - body
        if len(stored) < 2 * pieces + tail:
            return False
        counts = [c + 1 for c in struct.unpack_from(f"<{pieces}H", stored)]
        flags = 2 * pieces
        at = flags + sum((c + 7) // 8 for c in counts)
        end = len(stored) - tail
        for i, count in enumerate(counts):
            size = (count + 7) // 8
            bits = int.from_bytes(stored[flags:flags + size], "little")
            begin, raw = i * self.piece, bytearray()
            if flags + size > end or bits >> count:
                return False
            flags += size
            for _ in range(count):
                size = 2 if bits & 1 else self.symbol
                token = stored[at:min(at + size, end)]
                if len(token) < size or len(raw) >= self.piece:
                    return False
                if bits & 1:
                    distance = (token[0] + 1) * self.symbol
                    if token[0] >= self.window or distance > len(raw):
                        return False
                    for _ in range((token[1] + 2 // self.symbol + 1) * self.symbol):
                        raw.append(raw[-distance])
                else:
                    raw += token
                at += size
                bits >>= 1
            if len(raw) != min(self.piece, body - begin):
                return False
            out[begin:begin + len(raw)] = raw
        out[body:] = stored[end:]
        return at == end


def decode_chunk(codec: int, parameter: int, part: memoryview, stored: memoryview,
                 out: memoryview, what: str) -> None:
    """Decodes one chunk that is not stored raw into out, which it must fill exactly."""
    length = -1
    if codec == CODEC_LZ4:
        try:
            raw = lz4.block.decompress(stored, uncompressed_size=len(out))
        except lz4.block.LZ4BlockError:
            raw = b""
        length = len(raw)
        if length == len(out):
            out[:] = raw
    elif codec == CODEC_ZSTD:
        length = _zstd.decode(stored, out)
    elif codec in (CODEC_CULZSS, CODEC_GPULZ):
        length = len(out) if Lzss.parse(codec, parameter, what).decode(stored, out) else -1
    elif codec in (CODEC_FSST, CODEC_FLOAT):
        decode = fsst.decode if codec == CODEC_FSST else float_codec.decode
        raw = decode(bytes(part), bytes(stored), len(out)) or b""
        length = len(raw) or -1
        if length == len(out):
            out[:] = raw
    elif codec == CODEC_CUSZ:
        raw = cusz.decode(bytes(part), bytes(stored), len(out)) or b""
        length = len(raw) or -1
        if length == len(out):
            out[:] = raw
    elif codec == CODEC_LZR:
        raw = lzr.decode(bytes(stored), len(out)) or b""
        length = len(raw) or -1
        if length == len(out):
            out[:] = raw
    require(length == len(out), f"{what}: {CODECS[codec]} decode", f"{len(out)} bytes",
            length if length >= 0 else "an error")


def known_codec(codec: int, what: str) -> None:
    supported(codec in CODECS, f"{what}: codec", "one of " + ", ".join(CODECS.values()), codec)


# Root slots (4)

class Root(NamedTuple):
    slot: int
    flags: int
    mode: int
    generation: int
    durable: int
    session: int
    extent: int
    size: int
    end: int
    position: int
    length: int
    height: int
    codec: int
    parameter: int
    tree_checksum: int
    stored: int
    container: int
    mtime: int
    parts: bool                                 # frames may have an extent part

    def data_at(self, what: str, position: int, length: int, height: int, tree_checksum: int) -> None:
        """Checks the tree fields of a root without a settings page, or those in the page (4)."""
        if height == 0:
            same(f"{what}: tree position, length, checksum, stored", (0, 0, 0, 0),
                 (position, length, tree_checksum, self.stored))
            return
        require(height <= 8 or height == DIRECT, f"{what}: tree height", "0 to 8 or 255", height)
        require(self.size >= 1, f"{what}: size", "1 or more", self.size)
        self.within(what, position, length)
        if height == DIRECT:
            raw = min(self.size, self.extent)
            most = FRAME_FIXED + CHUNK.size * -(-raw // 4096) + raw
            require(FRAME_FIXED <= length <= most, f"{what}: tree length",
                    f"{FRAME_FIXED} to {most}", length)
            same(f"{what}: stored", length, self.stored)
        else:
            require(page_records(height, length) > 0, f"{what}: tree length", "that of a page",
                    length)
            self.room(what, length)

    def within(self, what: str, position: int, length: int) -> None:
        require(SLOTS <= position <= self.end, f"{what}: tree position",
                f"from {SLOTS} to {self.end}", position)
        require(length <= self.end - position, f"{what}: tree length",
                f"at most {self.end - position}", length)

    def room(self, what: str, length: int) -> None:
        most = self.end - SLOTS - length
        require(self.stored <= most, f"{what}: stored", f"at most {most}", self.stored)


def page_records(height: int, length: int) -> int:
    """The count of a page of that length (5); 0 if there is none."""
    record, most = (LEAF.size, 84) if height == 1 else (INNER.size, 112)
    count, rest = divmod(length - PAGE.size - 8, record)
    return count if rest == 0 and 1 <= count <= most else 0


def read_features(features: bytes, what: str) -> bool:
    """Whether frames may have an extent part (4)."""
    known: list[bytes] = []
    for tag in (features[:4], features[4:]):
        require(not any(tag) or tag not in known and bytes(4) not in known,
                f"{what}: features", "different tags, then zeros", features)
        supported(tag in (bytes(4), PARTS), f"{what}: feature", "none that is unknown",
                  tag.decode("ascii", "backslashreplace"))
        known.append(tag)
    return PARTS in known


def parse_slot(data: bytes, slot: int) -> Optional[Root]:
    """The root of one slot; None if it is all zero. Raises Fault if invalid, or Unsupported."""
    what = f"slot {slot}"
    if not any(data):
        return None
    (magic, version, flags, mode, generation, durable, session, extent, size, end, position, length,
     height, codec, parameter, tree_checksum, stored, container, features, mtime, found) = \
        ROOT.unpack(data)
    same(f"{what}: magic", b"BALE", magic)
    same(f"{what}: checksum", f"{checksum(data[:104]):016x}", f"{found:016x}")
    supported(version <= 1, f"{what}: version", 1, version)
    same(f"{what}: version", 1, version)
    parts = read_features(features, what)
    supported(flags & ~3 == 0, f"{what}: flags", "bits 0 and 1 only", f"{flags:#x}")
    require(mode == 0 or mode & 0xF000 == 0x8000, f"{what}: mode", "0, or 0x8000 + 07777",
            f"{mode:#x}")
    require(generation >= 1, f"{what}: generation", "1 or greater", generation)
    require(durable < generation, f"{what}: durable", f"less than {generation}", durable)
    require(extent % 4096 == 0 and 16 * KIB <= extent <= 64 * MIB, f"{what}: extent size",
            "a multiple of 4096 from 16 KiB to 64 MiB", extent)
    require(size < 1 << 63, f"{what}: size", "at most 2^63 - 1", size)
    require(SLOTS <= end < 1 << 63, f"{what}: end", f"{SLOTS} to 2^63 - 1", end)
    require(container != 0, f"{what}: container id", "not 0", container)
    if codec != CODEC_AUTO:
        known_codec(codec, what)
    if codec == CODEC_AUTO:
        require(parameter <= 1, f"{what}: parameter of auto", "0 or 1", parameter)
    elif codec == CODEC_ZSTD:
        level = parameter - 0x10000 if parameter & 0x8000 else parameter
        require(-7 <= level <= 19 and level != 0, f"{what}: zstd level", "-7 to 19 except 0", level)
    elif codec == CODEC_CULZSS:
        Lzss.parse(codec, parameter, what)
    elif codec == CODEC_LZR:
        require(parameter in (1, 2), f"{what}: parameter", "1 or 2", parameter)
    elif codec == CODEC_GPULZ:
        how = Lzss.parse(codec, parameter & ~ADAPTIVE, what)
        require(not parameter & ADAPTIVE or how.symbol == 1, f"{what}: parameter",
                "no size of symbols that are adaptive", f"{parameter:#x}")
    else:
        same(f"{what}: parameter", 0, parameter)
    root = Root(slot, flags, mode, generation, durable, session, extent, size, end, position,
                length, height, codec, parameter, tree_checksum, stored, container, mtime, parts)
    if height == SETTINGS:
        require(parts, f"{what}: features", "part", "none")
        same(f"{what}: tree length", RECORD.size, length)
        root.within(what, position, length)
        root.room(what, length)
    else:
        require(codec not in LOSSY, f"{what}: codec without a settings page", "a lossless one", codec)
        root.data_at(what, position, length, height, tree_checksum)
    return root


def check_record(codec: int, kind: int, flags: int, pipeline: int, rounds: int, dims: tuple[int, ...],
                 offset: int, step: int, greatest: int, what: str) -> None:
    """What a settings page says about an array, and how its elements were rounded (5)."""
    supported(flags & ~1 == 0, f"{what}: flags", "bit 0", flags)
    lossy = codec in LOSSY
    require(greatest == 0 or STEPS[0] <= greatest <= STEPS[1], f"{what}: greatest step",
            "0, or 2^-1021 to 2^1021", f"{greatest:016x}")
    if kind == 0 and not lossy:
        require(greatest != 0, f"{what}: type", "a type, or a greatest step", kind)
        same(f"{what}: flags, pipeline, rounding, dims, offset and step without a type",
             (0,) * 8, (flags, pipeline, rounds, *dims, offset, step))
        return
    require(codec in FIELDS, f"{what}: codec of an array", FIELDS, codec)
    require(kind in ((1, 2, 6) if lossy else (1, 2, 3, 4, 5)), f"{what}: type", "one of the codec",
            kind)
    require(pipeline <= (4 if lossy else 0), f"{what}: pipeline", "one of the codec", pipeline)
    require(rounds <= (3 if lossy else 0), f"{what}: rounding", "one of the codec", rounds)
    if lossy:
        require(STEPS[0] <= step <= STEPS[1], f"{what}: step", "2^-1021 to 2^1021", f"{step:016x}")
        require(rounds != 1 or step <= greatest, f"{what}: greatest step", f"{step:016x} or more",
                f"{greatest:016x}")
    else:
        same(f"{what}: step", 0, step)
    if kind == 6:
        same(f"{what}: dims, offset and flags of npy", (0, 0, 0, 0, 0), (*dims, offset, flags))
    length, given = ELEMENTS[kind], True
    for n in dims:
        require(given or n == 0, f"{what}: dims", "none after 0", dims)
        given = given and n > 0
        length *= n if given else 1
    require(max(length, offset) < 1 << 63, f"{what}: dims and offset", "less than 2^63", (dims, offset))


# Frames (6)

class Segment(NamedTuple):
    offset: int
    position: int
    generation: int
    length: int
    skip: int
    frame_length: int
    codec: int
    chunk_log2: int
    flags: int
    checksum: int                               # of the frame's head


def chunk_checksum(codec: int, data: memoryview) -> int:
    """Of a chunk's raw or stored bytes (6)."""
    if codec not in WITH_CELLS or len(data) <= CELL:
        return checksum(data)
    return checksum(b"".join(U64.pack(checksum(data[i:i + CELL])) for i in range(0, len(data), CELL)))


class Frame:
    """A frame whose head has been checked against itself."""

    def __init__(self, data: memoryview, what: str, whole: bool = True) -> None:
        self.what = what
        require(len(data) >= FRAME_FIXED, f"{what}: length", f"at least {FRAME_FIXED}", len(data))
        (magic, version, self.codec, self.log2, flags, self.parameter, zero, self.raw_length,
         self.file_offset, self.generation, self.raw_checksum, self.stored) = \
            HEAD.unpack_from(data)
        same(f"{what}: magic", b"BFRM", magic)
        require(12 <= self.log2 <= 26, f"{what}: chunk log2", "12 to 26", self.log2)
        require(1 <= self.raw_length <= RAW_MAX, f"{what}: raw length", "1 to 64 MiB",
                self.raw_length)
        self.chunk = 1 << self.log2
        self.chunks = -(-self.raw_length // self.chunk)
        count = 0 if self.codec == CODEC_ZERO else self.chunks
        with_part = self.codec in WITH_PART
        body = FRAME_FIXED + CHUNK.size * (count + with_part)
        require(body <= len(data), f"{what}: head length", f"at most {len(data)}", body)
        self.head_checksum = U64.unpack_from(data, body - 8)[0]
        same(f"{what}: head checksum", f"{checksum(data[:body - 8]):016x}",
             f"{self.head_checksum:016x}")
        supported(version <= 1, f"{what}: version", 1, version)
        same(f"{what}: version", 1, version)
        supported(flags == 0 and zero == 0, f"{what}: zero fields", 0, (flags, zero))
        known_codec(self.codec, what)
        self.length = body + self.stored
        if whole:
            same(f"{what}: frame length", len(data), self.length)
        if self.codec in (CODEC_CULZSS, CODEC_GPULZ):
            Lzss.parse(self.codec, self.parameter, what)
        elif self.codec == CODEC_LZR:
            require(1 <= self.parameter <= 9, f"{what}: parameter", "1 to 9", self.parameter)
            require(self.log2 <= 16, f"{what}: chunk log2", "12 to 16", self.log2)
        else:
            most = {CODEC_ZERO: 255, CODEC_ZSTD: 65535}.get(self.codec, 0)
            require(self.parameter <= most, f"{what}: parameter", f"at most {most}",
                    self.parameter)
        if self.codec in WITH_CELLS:
            require(self.log2 <= 20, f"{what}: chunk log2", "12 to 20", self.log2)
        self.table = list(CHUNK.iter_unpack(data[HEAD.size:body - 8]))
        total = 0
        self.part, self.part_sum = data[body:body], checksum(b"")
        if with_part:
            total, self.part_sum = self.table.pop(0)
            require(total <= self.raw_length // 8, f"{what}: extent part: length",
                    f"at most {self.raw_length // 8}", total)
            require(total or self.part_sum == checksum(b""), f"{what}: extent part: checksum",
                    "that of no bytes", f"{self.part_sum:016x}")
            most = self.raw_length - 1 - self.raw_length // 64 - CHUNK.size
            require(self.stored <= most, f"{what}: stored length", f"at most {most}", self.stored)
            self.part = data[body:body + total]
            body += total
        for i, (stored, _) in enumerate(self.table):
            raw = self.raw_of(i)
            require(1 <= stored <= raw and (self.codec != CODEC_STORE or stored == raw),
                    f"{what}: chunk {i}: stored length", f"at most {raw}", stored)
            total += stored
        same(f"{what}: stored length", total, self.stored)
        self.body = data[body:]

    def raw_of(self, i: int) -> int:
        return min(self.chunk, self.raw_length - i * self.chunk)

    def check_chunks(self) -> None:
        """Checks the checksums of the stored bytes."""
        same(f"{self.what}: extent part: checksum", f"{self.part_sum:016x}",
             f"{checksum(self.part):016x}")
        at = 0
        for i, (stored, expected) in enumerate(self.table):
            found = chunk_checksum(self.codec, self.body[at:at + stored])
            if found != expected:
                raise Fault(f"{self.what}: chunk {i}: checksum", f"{expected:016x}",
                            f"{found:016x}")
            at += stored

    def decode(self) -> memoryview:
        """All raw bytes, with every checksum checked."""
        self.check_chunks()
        direct = self.table and self.stored == self.raw_length      # every chunk is stored raw
        out = self.body if direct else memoryview(bytearray(self.raw_length))
        sums = []
        at = 0
        if self.codec == CODEC_ZERO:
            out = memoryview(bytes([self.parameter]) * self.raw_length)
            full = checksum(out[:self.chunk])
            sums = [full] * (self.chunks - 1)
            sums.append(checksum(out[(self.chunks - 1) * self.chunk:]))
        for i, (stored, stored_sum) in enumerate(self.table):
            raw = out[i * self.chunk:i * self.chunk + self.raw_of(i)]
            chunk = self.body[at:at + stored]
            at += stored
            if stored == len(raw):
                if not direct:
                    raw[:] = chunk
                sums.append(stored_sum)
            else:
                decode_chunk(self.codec, self.parameter, self.part, chunk, raw,
                             f"{self.what}: chunk {i}")
                sums.append(chunk_checksum(self.codec, raw))
        found = checksum(struct.pack(f"<{len(sums)}Q", *sums))
        same(f"{self.what}: raw checksum", f"{self.raw_checksum:016x}", f"{found:016x}")
        return out


# The store (2)

def page_cache_of(path: str) -> Optional[str]:
    """What a session's `boot` is compared with; None if this system cannot tell."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    unique = 0x4000                             # STATX_MNT_ID_UNIQUE, Linux 6.8
    result = ctypes.create_string_buffer(256)
    here = -100                                 # AT_FDCWD
    if ctypes.CDLL(None).statx(here, os.fsencode(path), 0, unique, result) != 0:
        return None
    mask, mount = struct.unpack_from("<I", result)[0], struct.unpack_from("<Q", result, 144)[0]
    return f"{boot}:{mount}" if mask & unique else None


class Trust(enum.Enum):
    """What a store knows of a session (8, rule 3)."""
    CERTAIN = 0
    UNCERTAIN = 1
    UNKNOWN = 2


class Store:
    """What a container's reading depends on: the volume and its sessions."""

    def __init__(self, path: Optional[str], boot: Optional[str] = None,
                 paranoid: bool = False) -> None:
        self.path, self.paranoid = path, paranoid
        self.modes: Optional[str] = None
        self.first = 1
        self.last: Optional[int] = None         # None: no store, every session counts as certain
        self.earlier: list[tuple[int, int]] = []
        self.uncertain: dict[int, str] = {}
        self.listed = False                     # there is a list of sessions
        self.boot = boot
        if boot is None and path is not None:
            self.boot = page_cache_of(path)
        if path is not None:
            self._volume_or_copy(path)
            self._sessions(os.path.join(path, ".balefs", "sessions.json"))

    @staticmethod
    def _object(path: str) -> dict[str, Any]:
        with open(path, encoding="utf-8") as file:
            try:
                value = json.load(file)
            except ValueError as error:
                raise Fault(os.path.basename(path), "JSON", error) from None
        require(isinstance(value, dict), os.path.basename(path), "an object", type(value).__name__)
        return value

    def _volume_or_copy(self, path: str) -> None:
        """2: the copy serves where volume.json is missing or malformed."""
        copy = os.path.join(path, ".balefs", "volume-copy.json")
        try:
            self._volume(os.path.join(path, ".balefs", "volume.json"))
        except (Fault, FileNotFoundError) as error:
            if isinstance(error, Unsupported) or not os.path.exists(copy):
                raise
            self._volume(copy)

    def _volume(self, path: str) -> None:
        volume = self._object(path)
        version = volume.get("format")
        require(type(version) is int and version >= 1, "volume: format", 1, version)
        supported(version == 1, "volume: format", 1, version)
        features = volume.get("features", [])
        require(isinstance(features, list), "volume: features", "an array", features)
        supported(not features, "volume: features", "none that is unknown", features)
        try:
            uuid.UUID(volume.get("uuid", ""))
        except (ValueError, AttributeError, TypeError):
            raise Fault("volume: uuid", "RFC 4122 text", volume.get("uuid")) from None
        self.modes = volume.get("modes")
        require(self.modes in ("inode", "container"), "volume: modes", "inode or container",
                self.modes)

    def _sessions(self, path: str) -> None:
        self.last = 0
        if not os.path.exists(path):
            return
        self.listed = True
        sessions = self._object(path)
        self.first = sessions.get("first", 1)
        require(type(self.first) is int and 0 <= self.first < 1 << 32, "sessions: first", "a u32",
                self.first)
        self.last = sessions.get("last")
        require(type(self.last) is int and 0 <= self.last < 1 << 32, "sessions: last", "a u32",
                self.last)
        for span in sessions.get("earlier", []):
            require(isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)
                    and span[0] <= span[1], "sessions: earlier", "pairs of numbers", span)
            self.earlier.append((span[0], span[1]))
        for entry in sessions.get("uncertain", []):
            good = isinstance(entry, dict) and type(entry.get("session")) is int and \
                isinstance(entry.get("boot"), str)
            require(good, "sessions: uncertain", "session and boot", entry)
            self.uncertain[entry["session"]] = entry["boot"]

    def trust(self, session: int) -> Trust:
        """8, rule 3. In paranoid reading the running system's boot vouches for nothing."""
        if self.last is None:
            return Trust.CERTAIN
        if session in self.uncertain:
            here = not self.paranoid and self.uncertain[session] == self.boot != ""
            return Trust.CERTAIN if here else Trust.UNCERTAIN
        own = 1 <= session and any(first <= session <= last for first, last in
                                   (*self.earlier, (self.first, self.last)))
        return Trust.CERTAIN if own else Trust.UNKNOWN


def store_of(path: str) -> Optional[str]:
    """The store that a container lies in, if any."""
    at = os.path.dirname(os.path.abspath(path))
    while not any(os.path.exists(os.path.join(at, ".balefs", name))
                  for name in ("volume.json", "volume-copy.json")):
        if at == os.path.dirname(at):
            return None
        at = os.path.dirname(at)
    return at


# Containers (3, 5, 8)

class Index:
    """What a walk of one root's index gave."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.pages: dict[int, int] = {}         # length by position
        self.end_of_last = 0
        self.whole = True                       # nothing was left out or faulty


BAD = b""                                       # the data of a piece that could not be decoded
Piece = tuple[int, int, Union[memoryview, bytes, None]]


class Container:
    """One container. After choose(), root is the root in force, or None for an empty file."""

    def __init__(self, path: str, store: Store) -> None:
        self.path, self.store = path, store
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self.length = os.fstat(self.fd).st_size
        self.slots: list[Union[Root, Fault, None]] = [None, None]
        self.root: Optional[Root] = None
        self.container: Optional[int] = None    # its id
        self.held = False                       # a writer must not write to it (8, rules 5 and 7)
        self.notes: list[str] = []

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: Any) -> None:
        os.close(self.fd)

    def read(self, position: int, length: int, what: str) -> memoryview:
        require(position + length <= self.length, f"{what}: bytes", f"up to {position + length}",
                f"container of length {self.length}")
        data = memoryview(bytearray(length))
        done = 0
        while done < length:
            got = os.preadv(self.fd, [data[done:]], position + done)
            require(got > 0, f"{what}: bytes", f"up to {position + length}", "end of file")
            done += got
        return data

    @property
    def size(self) -> int:
        return self.root.size if self.root else 0

    def permissions(self, mode: int) -> int:
        """4: those of the file, whose root has this mode. A bit counts only if the backing inode has
        it too, but for what its owner needs."""
        backing = os.fstat(self.fd).st_mode & 0o7777
        if self.store.modes != "container" or mode == 0:
            return backing
        return mode & 0o7777 & (backing | 0o1600)

    # Choosing a root (8)

    def choose(self, sink: Sink = lambda fault: None) -> Optional[Root]:
        """Sets root. A damaged slot beside a valid root goes to the sink."""
        self.root = self._choose(sink)
        return self.root

    def _choose(self, sink: Sink) -> Optional[Root]:
        if self.length == 0:
            return None
        head = bytes(self.read(0, min(self.length, SLOTS), "slots")).ljust(SLOTS, b"\0")
        for i in (0, 1):
            try:
                self.slots[i] = parse_slot(head[i * SLOT:(i + 1) * SLOT], i)
            except Unsupported:
                raise
            except Fault as fault:
                self.slots[i] = fault
        roots = sorted((s for s in self.slots if isinstance(s, Root)), key=lambda r: r.generation)
        self.container = roots[-1].container if roots else None
        faults = [s for s in self.slots if isinstance(s, Fault)]
        if not roots:
            if not faults and self._may_lack_roots():
                self.held = not self.store.uncertain
                self.notes.append("both slots are zero: an empty file")
                return None
            raise faults[0] if faults else Fault("slots", "a root", "zeros")
        for fault in faults:                    # no crash tears a slot: both are in one sector
            sink(fault)
        if len(roots) == 1:
            fallback, newest = None, roots[0]
        else:
            fallback, newest = roots
            require(fallback.generation < newest.generation, "slots: generations", "two",
                    fallback.generation)
            same("slots: container id", f"{newest.container:016x}", f"{fallback.container:016x}")
        trust = self.store.trust(newest.session)
        if trust is Trust.CERTAIN:
            if faults:                          # the damaged slot may have held the newer root
                self.verify(newest, 0)
            return newest
        floor = newest.durable
        if self.store.paranoid or faults and trust is Trust.UNKNOWN:
            floor = 0
        found = self.faults_below(newest, floor)
        if not found:
            return newest
        if trust is Trust.UNKNOWN and not any(map(self._missing, found)):
            return self._hold(newest, found[0])
        if fallback is not None and not self.faults_below(fallback, 0):
            self.notes.append(f"newest root of generation {newest.generation} rejected: {found[0]}")
            self.notes.append(f"fallback of generation {fallback.generation} chosen")
            return fallback
        if trust is Trust.UNKNOWN:
            return self._hold(newest, found[0])
        if newest.durable == 0:
            self.notes.append("nothing was durable: an empty file")
            return None
        raise found[0]

    def _hold(self, root: Root, fault: Fault) -> Root:
        """8, rule 5."""
        self.held = True
        self.notes.append(f"root of generation {root.generation}, of an unknown session, is "
                          f"damaged: {fault}")
        return root

    def _may_lack_roots(self) -> bool:
        """8, rule 7."""
        store = self.store
        return not store.listed and store.last is not None or \
            any(store.trust(session) is Trust.UNCERTAIN for session in store.uncertain)

    def verify(self, root: Root, floor: int) -> None:
        """8, rule 4: everything that root refers to with a generation greater than floor."""
        for fault in self.faults_below(root, floor):
            raise fault

    def faults_below(self, root: Root, floor: int) -> list[Fault]:
        """Everything that verification finds. Raises Unsupported."""
        found: list[Fault] = []

        def sink(fault: Fault) -> None:
            if isinstance(fault, Unsupported):
                raise fault
            found.append(fault)

        index = self.walk(root, floor, sink)
        frames: dict[int, tuple[tuple[int, ...], int]] = {}
        for s in index.segments:
            if s.flags & UNWRITTEN or s.generation <= floor:
                continue
            facts = (s.frame_length, s.generation, s.codec, s.chunk_log2, s.checksum,
                     s.offset - s.skip)
            try:
                if s.position not in frames:
                    frames[s.position] = facts, 0
                    frame = self.frame(root, s)
                    frame.check_chunks()
                    frames[s.position] = facts, frame.raw_length
                same(f"frame at {s.position}: its segments", frames[s.position][0], facts)
                raw = frames[s.position][1]
                require(not raw or s.skip + s.length <= raw, f"frame at {s.position}: raw length",
                        f"at least {s.skip + s.length}", raw)
            except Unsupported:
                raise
            except Fault as fault:
                fault.lost = fault.lost or Lost(s.position, s.frame_length, s.checksum, False,
                                                s.offset - s.skip, (s.generation, s.generation))
                found.append(fault)
        return found

    def _missing(self, fault: Fault) -> bool:
        """8, the evidence for rule 5."""
        lost = fault.lost
        if lost is None:
            return False
        if lost.position + lost.length > self.length:
            return True
        if lost.page:
            return self._page_missing(lost)
        data = self.read(lost.position, lost.length, "evidence")
        try:
            frame = Frame(data, "evidence", False)
        except Fault:
            (magic, _, codec, log2, _, _, _, raw, offset, generation, _, _) = HEAD.unpack_from(data)
            at = HEAD.size
            if codec != CODEC_ZERO and 12 <= log2 <= 26:
                at += CHUNK.size * (-(-raw // (1 << log2)) + (codec in WITH_PART))
            here = at + 8 <= lost.length and 12 <= log2 <= 26 and raw <= RAW_MAX and \
                U64.unpack_from(data, at)[0] == lost.checksum
            least, most = lost.generations
            return not here and not (magic == b"BFRM" and offset == lost.offset and
                                     least <= generation <= most)
        if frame.head_checksum != lost.checksum:
            return True
        if frame.length != lost.length:
            return False
        if len(frame.part) and not any(frame.part) and checksum(frame.part) != frame.part_sum:
            return True
        at = 0
        for stored, expected in frame.table:
            chunk = frame.body[at:at + stored]
            at += stored
            if not any(chunk) and chunk_checksum(frame.codec, chunk) != expected:
                return True
        return False

    def _page_missing(self, lost: Lost) -> bool:
        data = bytes(self.read(lost.position, min(PAGE_MAX, self.length - lost.position),
                               "evidence"))
        here = data[:lost.length]
        if lost.length < PAGE.size + 8 or not any(here):
            return True
        magic, _, height, count, _, container = PAGE.unpack_from(data)
        length = 0
        if magic == b"BIDX" and 1 <= height <= 8:
            length = PAGE.size + count * (LEAF if height == 1 else INNER).size + 8
        if magic == b"BSET" and count == RECORD.size:
            length = RECORD.size
        found = U64.unpack_from(here, lost.length - 8)[0]
        if PAGE.size + 8 <= length <= len(data) and \
                checksum(data[:length - 8]) == U64.unpack_from(data, length - 8)[0]:
            return length != lost.length or found != lost.checksum
        assert self.container is not None
        return found != lost.checksum and (length != lost.length or container != self.container)

    # The index (5)

    def walk(self, root: Root, floor: int = 0, sink: Sink = strict) -> Index:
        """Reads the index, without entering pages of generation floor or less."""
        index = Index()
        try:
            if root.height == SETTINGS:
                root = self._settings(root, index, floor)
            if root.height == DIRECT:
                self._direct(root, index)
            elif root.height:
                self._page(root, index, root.position, root.length, root.height, root.tree_checksum,
                           None, root.generation, 0, 1 << 63, floor, sink)
        except Fault as fault:
            index.whole = False
            sink(fault)
        return index

    def _settings(self, root: Root, index: Index, floor: int) -> Root:
        """Reads the settings page: a root with the tree that it names; none, if its generation is
        floor or less."""
        what = f"settings page at {root.position}"
        index.pages[root.position] = root.length
        try:
            return self._settings_page(root, index, floor, what)
        except Fault as fault:
            fault.lost = Lost(root.position, root.length, root.tree_checksum, True)
            raise

    def _settings_page(self, root: Root, index: Index, floor: int, what: str) -> Root:
        data = self.read(root.position, root.length, what)
        (magic, version, height, length, generation, container, position, tree_checksum, tree_length,
         kind, flags, pipeline, rounds, *dims, offset, step, greatest, found) = \
            RECORD.unpack(data)
        same(f"{what}: checksum", f"{root.tree_checksum:016x}", f"{found:016x}")
        same(f"{what}: checksum", f"{checksum(data[:-8]):016x}", f"{found:016x}")
        same(f"{what}: magic", b"BSET", magic)
        supported(version <= 1, f"{what}: version", 1, version)
        same(f"{what}: version", 1, version)
        supported(flags & ~1 == 0, f"{what}: flags", "bit 0", flags)
        same(f"{what}: length", RECORD.size, length)
        require(1 <= generation <= root.generation, f"{what}: generation", f"1 to {root.generation}",
                generation)
        same(f"{what}: container id", f"{root.container:016x}", f"{container:016x}")
        check_record(root.codec, kind, flags, pipeline, rounds, tuple(dims), offset, step, greatest,
                     what)
        root.data_at(what, position, tree_length, height, tree_checksum)
        if generation <= floor:
            index.whole = False
            height = 0
        return root._replace(position=position, length=tree_length, height=height,
                             tree_checksum=tree_checksum, generation=generation)

    def _direct(self, root: Root, index: Index) -> None:
        try:
            self._direct_frame(root, index)
        except Fault as fault:
            fault.lost = Lost(root.position, root.length, root.tree_checksum, False, 0,
                              (1, root.generation))
            raise

    def _frame_at(self, position: int, length: int, what: str) -> Frame:
        there = self.length - position
        if 0 < there < length:                  # a whole head decides whether it is unsupported
            Frame(self.read(position, there, what), what, False)
        return Frame(self.read(position, length, what), what)

    def _direct_frame(self, root: Root, index: Index) -> None:
        what = f"frame at {root.position}"
        frame = self._frame_at(root.position, root.length, what)
        same(f"{what}: head checksum", f"{root.tree_checksum:016x}", f"{frame.head_checksum:016x}")
        same(f"{what}: file offset", 0, frame.file_offset)
        require(1 <= frame.generation <= root.generation, f"{what}: generation",
                f"1 to {root.generation}", frame.generation)
        most = min(root.size, root.extent)
        require(frame.raw_length <= most, f"{what}: raw length", f"at most {most}",
                frame.raw_length)
        require(root.parts or frame.codec not in WITH_PART, f"{what}: codec",
                "one without an extent part", frame.codec)
        index.segments.append(Segment(
            0, root.position, frame.generation, frame.raw_length, 0, root.length, frame.codec,
            frame.log2, 0, frame.head_checksum))

    def _page(self, root: Root, index: Index, position: int, length: int, height: int,
              expected: int, generation: Optional[int], newest: int, low: int, high: int,
              floor: int, sink: Sink) -> None:
        """One page and what is below it, whose offsets must be in [low, high)."""
        what = f"page at {position}"
        require(80 - 12 * (height > 1) <= length <= PAGE_MAX, f"{what}: length",
                f"at most {PAGE_MAX}", length)
        require(position >= SLOTS and position + length <= root.end, f"{what}: position",
                f"from {SLOTS} to {root.end - length}", position)
        require(position not in index.pages, f"{what}: references", "one", "another")
        if generation is not None:
            require(1 <= generation <= newest, f"{what}: generation", f"1 to {newest}", generation)
            if generation <= floor:
                index.whole = False
                return
        index.pages[position] = length
        try:
            page_generation, records = self._records(root, position, length, height, expected,
                                                     generation, newest)
        except Fault as fault:
            fault.lost = Lost(position, length, expected, True)
            raise
        if generation is None and page_generation <= floor:
            index.whole = False
            return
        count = len(records)
        if height == 1:
            for i, values in enumerate(records):
                segment = Segment(*values[:9], values[10])
                try:
                    self._segment(root, index, segment, values[9], page_generation, low, high,
                                  f"{what}: segment {i}")
                except Fault as fault:
                    index.whole = False
                    sink(fault)
            return
        for i, (first, at, child_generation, child_length, child_sum) in enumerate(records):
            limit = high
            if i + 1 < count:
                limit = min(high, records[i + 1][0])
                require(first < records[i + 1][0], f"{what}: record {i}: first offset",
                        f"less than {records[i + 1][0]}", first)
            try:
                self._page(root, index, at, child_length, height - 1, child_sum, child_generation,
                           page_generation, max(low, first), limit, floor, sink)
            except Fault as fault:
                index.whole = False
                sink(fault)

    def _records(self, root: Root, position: int, length: int, height: int, expected: int,
                 generation: Optional[int], newest: int) -> tuple[int, list[tuple[int, ...]]]:
        """Reads one page and checks its head: its generation and its records."""
        what = f"page at {position}"
        data = self.read(position, length, what)
        found = U64.unpack_from(data, length - 8)[0]
        same(f"{what}: checksum", f"{expected:016x}", f"{found:016x}")
        same(f"{what}: checksum", f"{checksum(data[:-8]):016x}", f"{found:016x}")
        magic, version, tall, count, page_generation, container = PAGE.unpack_from(data)
        same(f"{what}: magic", b"BIDX", magic)
        supported(version <= 1, f"{what}: version", 1, version)
        same(f"{what}: version", 1, version)
        same(f"{what}: height", height, tall)
        record = LEAF if height == 1 else INNER
        most = 84 if height == 1 else 112
        require(1 <= count <= most, f"{what}: count", f"1 to {most}", count)
        same(f"{what}: length", PAGE.size + count * record.size + 8, length)
        same(f"{what}: container id", f"{root.container:016x}", f"{container:016x}")
        if generation is not None:
            same(f"{what}: generation", generation, page_generation)
        require(1 <= page_generation <= newest, f"{what}: generation", f"1 to {newest}",
                page_generation)
        return page_generation, list(record.iter_unpack(data[PAGE.size:-8]))

    @staticmethod
    def _segment(root: Root, index: Index, s: Segment, zero: int, newest: int, low: int,
                 high: int, what: str) -> None:
        supported(s.flags & ~UNWRITTEN == 0 and zero == 0, f"{what}: flags and zero", "flag bit 0",
                  (s.flags, zero))
        require(low <= s.offset < high, f"{what}: offset", f"{low} to {high - 1}", s.offset)
        require(s.offset >= index.end_of_last, f"{what}: offset", f"at least {index.end_of_last}",
                s.offset)
        require(s.length >= 1, f"{what}: length", "1 or more", s.length)
        require(s.offset + s.length <= root.size, f"{what}: end", f"at most {root.size}",
                s.offset + s.length)
        require(s.generation <= newest, f"{what}: generation", f"at most {newest}", s.generation)
        index.end_of_last = s.offset + s.length
        if s.flags & UNWRITTEN:
            same(f"{what}: fields of an unwritten segment", (0,) * 7,
                 (s.generation, s.position, s.skip, s.frame_length, s.codec, s.chunk_log2,
                  s.checksum))
            require(s.length <= 1 << 30, f"{what}: length", "at most 2^30", s.length)
        else:
            require(s.generation >= 1, f"{what}: generation", "1 or more", s.generation)
            require(s.skip <= s.offset, f"{what}: skip", f"at most {s.offset}", s.skip)
            same(f"{what}: extent", (s.offset - s.skip) // root.extent,
                 (s.offset + s.length - 1) // root.extent)
            require(FRAME_FIXED <= s.frame_length <= FRAME_MAX, f"{what}: frame length",
                    f"{FRAME_FIXED} to {FRAME_MAX}", s.frame_length)
            require(s.position >= SLOTS and s.position + s.frame_length <= root.end,
                    f"{what}: position", f"from {SLOTS} to {root.end - s.frame_length}", s.position)
            require(12 <= s.chunk_log2 <= 26, f"{what}: chunk log2", "12 to 26", s.chunk_log2)
            require(root.parts or s.codec not in WITH_PART, f"{what}: codec",
                    "one without an extent part", s.codec)
        index.segments.append(s)

    def check_rules(self, root: Root, index: Index, sink: Sink = strict) -> None:
        """The rules about all frames and pages of a root together."""
        frames: dict[int, tuple[int, ...]] = {}
        for s in index.segments:
            if s.flags & UNWRITTEN:
                continue
            facts = (s.frame_length, s.generation, s.codec, s.chunk_log2, s.checksum,
                     s.offset - s.skip)
            if frames.setdefault(s.position, facts) != facts:
                sink(Fault(f"segment at offset {s.offset}: frame length, generation, codec, "
                           "chunk log2, checksum, file offset", frames[s.position], facts))
        spans = [(p, n, "page") for p, n in index.pages.items()]
        spans += [(p, facts[0], "frame") for p, facts in frames.items()]
        spans.sort()
        end, before = SLOTS, "the slots"
        for position, length, name in spans:
            if position < end:
                sink(Fault(f"{name} at {position}: overlap", f"position {end} or more",
                           f"{before} there"))
            if position + length > end:
                end, before = position + length, f"{name} at {position}"
        stored = sum(facts[0] for facts in frames.values())
        if index.whole and stored != root.stored:
            sink(Fault("root: stored", stored, root.stored))

    # Contents (6)

    def frame(self, root: Root, s: Segment) -> Frame:
        """The frame of a segment, its head checked against the segment."""
        what = f"frame at {s.position}"
        frame = self._frame_at(s.position, s.frame_length, what)
        same(f"{what}: generation", s.generation, frame.generation)
        same(f"{what}: codec", s.codec, frame.codec)
        same(f"{what}: chunk log2", s.chunk_log2, frame.log2)
        same(f"{what}: file offset", s.offset - s.skip, frame.file_offset)
        same(f"{what}: head checksum", f"{s.checksum:016x}", f"{frame.head_checksum:016x}")
        require(frame.raw_length <= root.extent, f"{what}: raw length", f"at most {root.extent}",
                frame.raw_length)
        require(s.skip + s.length <= frame.raw_length, f"{what}: raw length",
                f"at least {s.skip + s.length}", frame.raw_length)
        return frame

    def pieces(self, root: Root, index: Index, sink: Sink = strict) -> Iterator[Piece]:
        """The file in order, from 0 to size: (offset, length, data); data None reads as zeros."""
        at, extent = 0, -1
        ready: dict[int, Union[memoryview, bytes]] = {}     # decoded frames of the extent
        for s in index.segments:
            if s.offset > at:
                yield at, s.offset - at, None if index.whole else BAD
            at = s.offset + s.length
            if s.flags & UNWRITTEN:
                yield s.offset, s.length, None
                continue
            if s.offset // root.extent != extent:
                extent = s.offset // root.extent
                ready.clear()
            try:
                if s.position not in ready:
                    ready[s.position] = BAD
                    ready[s.position] = self.frame(root, s).decode()
                data = ready[s.position]
                if data:
                    require(s.skip + s.length <= len(data), f"frame at {s.position}: raw length",
                            f"at least {s.skip + s.length}", len(data))
                    data = data[s.skip:s.skip + s.length]
            except Fault as fault:
                sink(fault)
                data = BAD
            yield s.offset, s.length, data
        if at < root.size:
            yield at, root.size - at, None if index.whole else BAD


def contents(path: str, store: Store) -> Iterator[Piece]:
    """Opens, checks and decodes one container; raises at the first fault."""
    with Container(path, store) as container:
        root = container.choose()
        if root is not None:
            index = container.walk(root)
            container.check_rules(root, index)
            yield from container.pieces(root, index)
