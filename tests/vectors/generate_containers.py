#!/usr/bin/python3
"""Makes the vectors of containers: generate_containers.py DIR. See README.md."""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Optional

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reader"))
from test_reader import CUSZ, DIRECT, EXTENT, FSST, PARTS, ROUNDED, ZERO, ZSTD, Builder, frame, root, strings, text, xxh

VECTORS: list[dict[str, Any]] = []
TREE = 64                                       # where a slot has the head checksum


def vector(name: str, what: str, data: bytes, sessions: str, fsck: int,
           content: Optional[bytes]) -> None:
    """sessions: what the store knows of the newest root's. content None: reading fails."""
    with open(os.path.join(sys.argv[1], name + ".container"), "wb") as file:
        file.write(data)
    VECTORS.append({"name": name, "what": what, "sessions": sessions, "fsck": fsck,
                    "content": None if content is None else content.decode()})


def commits(durable: int = 1, **change: Any) -> Builder:
    """A root of generation 1 in slot 0 and one of generation 2 in slot 1, each with one frame."""
    builder = Builder().direct(b"old", mode=0)
    builder.generation = 2
    return builder.direct(b"newest", slot=1, durable=durable, session=2, **change)


def with_slot(data: bytes, slot: int, **change: Any) -> bytes:
    """Puts another root into a slot."""
    return data[:112 * slot] + root(**change) + data[112 * slot + 112:]


def blank() -> None:
    frames = bytes(224) + frame(b"abc", 0, 1)
    vector("blank-no-sessions", "both slots are zeros, and there is no list of sessions", frames,
           "lost", 64, b"")
    vector("blank-listed", "both slots are zeros, and a session is uncertain", frames, "listed", 0,
           b"")
    vector("blank-certain", "both slots are zeros, and every session is certain", frames, "certain",
           4, None)


def slots() -> None:
    data = bytes(Builder().direct(text(5000), ZSTD, codec=ZSTD, parameter=0).data)
    vector("zstd-0", "the codec setting is zstd with level 0", data, "certain", 4, None)
    whole = bytes(commits().data)
    length = whole.rindex(b"BFRM") - 224
    old = dict(size=3, end=224 + length, position=224, length=length, height=DIRECT,
               tree=int.from_bytes(whole[TREE:TREE + 8], "little"), stored=length)
    assert with_slot(whole, 0, **old) == whole
    vector("fallback-direct", "a direct root as fallback", whole, "certain", 0, b"newest")
    for name, change in (("stored", dict(stored=length + 1)), ("length", dict(length=72, stored=72)),
                         ("size", dict(size=0))):
        data = with_slot(whole, 0, **{**old, **change})
        for sessions in ("certain", "lost"):
            vector(f"fallback-direct-{name}-{sessions}",
                   f"a direct root as fallback, with a wrong {name}: the slot is damaged", data,
                   sessions, 4, b"newest")
    vector("codec-22", "the codec setting is one that is not known", bytes(
        Builder().direct(b"abc", codec=22).data), "certain", 8, None)
    vector("mode-of-another-store", "the mode of a container, in a store of the other kind", bytes(
        Builder().direct(b"abc", mode=0x81A4).data), "certain", 0, b"abc")
    vector("short", "the second slot is missing: it is read as zeros", root(), "certain", 0, b"")


def uncertain() -> None:
    builder = Builder(2)
    records = [builder.extent(b"a" * 50, 0), builder.extent(b"b" * 50, 50)]
    content = b"a" * 50 + b"b" * 50
    stored = builder.stored - 1
    data = bytes(builder.root(100, builder.page(1, records), session=2, stored=stored).data)
    for sessions in ("listed", "lost"):
        vector(f"stored-{sessions}", "the sum stored is wrong: no reason to reject the root", data,
               sessions, 4, content)
    data = bytearray(commits(0).data)
    data[data.index(b"old")] ^= 1
    data[-1] ^= 1
    vector("both-rejected", "newest and fallback are rejected, and nothing was durable", bytes(data),
           "listed", 0, b"")
    data = bytearray(commits().data)
    data[data.rindex(b"BFRM") + 4] = 2
    vector("version-flipped", "a frame with another version and a wrong checksum is corrupt",
           bytes(data), "listed", 0, b"old")
    data = bytearray(commits(0).data)
    data[5] ^= 4
    data[-1] ^= 1
    vector("slot-and-root", "one slot is damaged, the other root is rejected: an empty file",
           bytes(data), "listed", 4, b"")


def lengths() -> None:
    """A frame of a segment that is longer than the extent size, and right in itself."""
    builder = Builder()
    records = [builder.segment(builder.frame(bytes(EXTENT + 1), 0, ZERO), 0, 100)]
    data = bytes(builder.root(100, builder.page(1, records), session=2).data)
    vector("frame-beyond-extent-certain", "a frame is longer than the extent size", data, "certain",
           4, None)
    vector("frame-beyond-extent-listed", "a frame is longer than the extent size: its root is rejected",
           data, "listed", 0, b"")


def newer() -> None:
    """Of a newer version and damaged: what it is decides."""
    data = bytearray(Builder().direct(bytes(10000)).data)
    at = data.index(b"BFRM")
    data[at + 4] = 2
    data[at + 80:at + 88] = xxh(data[at:at + 80])
    vector("frame-newer-and-cut", "a frame of a newer version, and the container ends in it: an error",
           with_slot(bytes(data), 0, size=10000, end=len(data), position=at, length=len(data) - at,
                     height=DIRECT, tree=int.from_bytes(data[at + 80:at + 88], "little"),
                     stored=len(data) - at)[:400], "listed", 8, None)


def parts() -> None:
    """Frames with an extent part."""
    data = strings(5000)
    content = data
    vector("part", "a frame with an extent part", bytes(Builder().direct(data, FSST).data), "certain",
           0, content)
    vector("part-tag-missing", "a frame with an extent part, and the root has no tag", bytes(
        Builder().direct(data, FSST, features=bytes(8)).data), "certain", 4, None)
    vector("part-tag-twice", "the tag is there twice", bytes(
        Builder().direct(data, FSST, features=PARTS[:4] * 2).data), "certain", 4, None)
    vector("part-tag-unknown", "a tag behind that of the extent part", bytes(
        Builder().direct(data, FSST, features=PARTS[:4] + b"DICT").data), "certain", 8, None)
    builder = Builder().direct(b"old", mode=0)
    builder.generation = 2
    whole = bytes(builder.direct(data, FSST, slot=1, durable=1, session=2).data)
    at = whole.index(b"abcdefgh") - 8
    flipped = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:]
    zeros = whole[:at] + bytes(16) + whole[at + 16:]
    vector("part-flip-certain", "a bit of the extent part", flipped, "certain", 4, None)
    vector("part-flip-listed", "a bit of the extent part: the root is rejected", flipped, "listed", 0,
           b"old")
    vector("part-flip-lost", "a bit of the extent part: damage", flipped, "lost", 68, None)
    vector("part-zeros-lost", "zeros in place of the extent part: it was never written", zeros, "lost",
           64, b"old")


def settings() -> None:
    """A settings page, which names the data."""

    def build(page: Any = (), **change: Any) -> bytes:
        builder = Builder().direct(b"old", mode=0)
        builder.generation = 2
        builder.stored = 0
        records = [builder.extent(b"a" * 50, 0), builder.extent(b"b" * 50, 50)]
        return bytes(builder.settings(100, builder.page(1, records), 1, page=page, durable=1, session=2,
                                      **change).data)

    content = b"a" * 50 + b"b" * 50
    whole = build()
    at = len(whole) - 104
    vector("settings", "a settings page above an index page", whole, "certain", 0, content)
    builder = Builder()
    frame_at = builder.frame(b"abc", 0)
    vector("settings-direct", "a settings page above a frame", bytes(
        builder.settings(3, (frame_at, builder.frames[frame_at])).data), "certain", 0, b"abc")
    vector("settings-empty", "a settings page, and no data", bytes(
        Builder().settings(0, (0, b"")).data), "certain", 0, b"")
    vector("settings-none", "cusz has a settings page: the slot is damaged", bytes(
        Builder().direct(b"abc", codec=CUSZ).data), "certain", 4, None)
    vector("settings-tag", "the root has no tag: the slot is damaged", build(features=bytes(8)), "certain", 4,
           b"old")
    zstd = dict(codec=ZSTD, parameter=1)
    vector("settings-rounded", "what zstd stores now was rounded before", build(ROUNDED, **zstd), "certain", 0,
           content)
    vector("settings-codec", "the settings page: of an array, which the codec does not know", build(**zstd),
           "certain", 4, None)
    vector("settings-nothing", "the settings page: it says nothing", build({**ROUNDED, "greatest": 0}, **zstd),
           "certain", 4, None)
    for name, page, what, fsck in (
            ("version", dict(version=2), "of a newer version", 8),
            ("dims", dict(x=1 << 32, y=1 << 32), "dims whose product wraps", 4),
            ("greatest", dict(rounds=1), "values are rounded, but none was", 4),
            ("height", dict(height=254), "names another settings page", 4),
            ("generation", dict(generation=3), "newer than the root", 4)):
        vector(f"settings-{name}", f"the settings page: {what}", build(page), "certain", fsck, None)
    flipped = whole[:at + 48] + bytes([whole[at + 48] ^ 4]) + whole[at + 49:]
    zeros = whole[:at] + bytes(104)
    vector("settings-flip-certain", "a bit of the settings page", flipped, "certain", 4, None)
    vector("settings-flip-listed", "a bit of the settings page: the root is rejected", flipped,
           "listed", 0, b"old")
    vector("settings-flip-lost", "a bit of the settings page: damage", flipped, "lost", 68, None)
    vector("settings-zeros-lost", "zeros in place of the settings page: it was never written", zeros,
           "lost", 64, b"old")
    vector("settings-cut-lost", "the container ends before the settings page: it was never written",
           whole[:at], "lost", 64, b"old")


def unknown() -> None:
    whole = bytes(commits().data)
    at = whole.rindex(b"BFRM")
    length = len(whole) - at

    def flip(i: int) -> bytes:
        return whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1:]

    vector("unknown-whole", "all is there", whole, "lost", 0, b"newest")
    for name, i in (("magic", at), ("raw-length", at + 12), ("generation", at + 24),
                    ("checksum", at + 57), ("chunk", len(whole) - 1)):
        vector(f"unknown-flip-{name}", "a frame with a wrong byte: damage", flip(i), "lost", 68, None)
    for name, data, what in (
            ("zeros", whole[:at] + bytes(length), "zeros in place of the frame"),
            ("chunk-zeros", whole[:-6] + bytes(6), "zeros in place of the chunk"),
            ("cut", whole[:-1], "the frame ends beyond the end"),
            ("other", whole[:at] + frame(b"before", 0, 1), "a frame of another generation"),
            ("bytes", whole[:at] + text(length), "bytes that are no frame")):
        vector(f"unknown-{name}", f"{what}: it was never written", data, "lost", 64, b"old")
        alone = bytes(112) + data[112:]
        vector(f"unknown-{name}-alone", f"{what}, and there is no fallback", alone, "lost", 68, None)
    vector("unknown-0", "session 0", with_slot(root() + bytes(112), 0, session=0), "certain", 0, b"")


def main() -> None:
    os.makedirs(sys.argv[1], exist_ok=True)
    for make in (blank, slots, uncertain, lengths, newer, parts, settings, unknown):
        make()
    with open(os.path.join(sys.argv[1], "INDEX.json"), "w", encoding="utf-8") as file:
        json.dump(VECTORS, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
