#!/usr/bin/python3
"""Checks a balefs store with the independent reader, or prints one container.

    read_store.py STORE [--compare DIR] [--json] [--paranoid] [--boot BOOT:MOUNT] [--jobs N]
    read_store.py --container FILE (--cat | --dump)

Exit status: 0 all good; 1 something is corrupt, unsupported or different; 2 the store cannot be
read at all, or wrong usage.
"""
from __future__ import annotations

import argparse
import errno
import json
import multiprocessing
import os
import stat
import sys
from typing import Any, Iterator, Optional

sys.dont_write_bytecode = True
from balefs_reader import BAD, Container, Fault, Index, Root, Store, Unsupported, contents, store_of

STEP = 1 << 20
ZEROS = bytes(STEP)
Task = tuple[str, Optional[str]]                # a container, and the plain file to compare with
Result = dict[str, Any]
_store: Store


def fault_of(path: str, fault: Exception) -> Result:
    if isinstance(fault, Fault):
        return {"path": path, "kind": fault.kind, "what": fault.what, "expected": fault.expected,
                "found": fault.found}
    text = os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else str(fault)
    return {"path": path, "kind": "io", "what": "reading", "expected": "success", "found": text}


class Plain:
    """The plain file that a container's contents are compared with."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self.fd).st_size

    def _read(self, offset: int, length: int) -> bytearray:
        data = bytearray(length)
        got = os.preadv(self.fd, [data], offset)
        return data if got == length else data[:got]

    def differs_at(self, offset: int, length: int, data: Any) -> Optional[int]:
        """The offset of a difference in a piece."""
        at, end = offset, min(offset + length, self.size)
        while at < end:
            if data is None:
                try:
                    at = os.lseek(self.fd, at, os.SEEK_DATA)
                except OSError as error:
                    if error.errno == errno.ENXIO:
                        return None
                    raise
                if at >= end:
                    return None
            step = min(STEP, end - at)
            plain = self._read(at, step)
            piece = ZEROS[:step] if data is None else data[at - offset:at - offset + step]
            if plain != piece:
                return next((at + i for i, (a, b) in enumerate(zip(plain, piece)) if a != b), at)
            at += step
        return None


def check(task: Task) -> Result:
    """Checks one container in full."""
    path, plain_path = task
    errors: list[Result] = []
    result: Result = {"path": path, "errors": errors, "notes": [], "size": 0, "stored": 0,
                      "length": 0}

    def sink(fault: Exception) -> None:
        errors.append(fault_of(path, fault))

    plain: Optional[Plain] = None
    try:
        with Container(path, _store) as container:
            result["length"], result["notes"] = container.length, container.notes
            root = container.choose(sink)
            result["size"] = container.size
            if plain_path is not None:
                plain = Plain(plain_path)
                if plain.size != container.size:
                    sink(Fault("size", plain.size, container.size))
            if root is None:
                return result
            result["stored"] = root.stored
            index = container.walk(root, 0, sink)
            container.check_rules(root, index, sink)
            different = False
            for offset, length, data in container.pieces(root, index, sink):
                if plain is None or different or data is BAD:
                    continue
                at = plain.differs_at(offset, length, data)
                if at is not None:
                    different = True            # one line a file is enough
                    expected = os.pread(plain.fd, 16, at).hex()
                    found = bytes(16) if data is None else bytes(data[at - offset:at - offset + 16])
                    sink(Fault(f"content at offset {at}", expected, found.hex()))
    except (Fault, OSError) as fault:
        sink(fault)
    finally:
        if plain is not None:
            os.close(plain.fd)
    return result


def kind_of(mode: int) -> str:
    names = {stat.S_IFDIR: "directory", stat.S_IFREG: "regular file", stat.S_IFLNK: "symlink",
             stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device",
             stat.S_IFBLK: "device"}
    return names.get(stat.S_IFMT(mode), "unknown")


def entries(path: str, top: bool) -> dict[str, os.stat_result]:
    with os.scandir(path) as found:
        return {e.name: e.stat(follow_symlinks=False) for e in found
                if not (top and e.name == ".balefs")}


def tasks_of(store: str, compare: Optional[str], errors: list[Result]) -> Iterator[Task]:
    """Every container of the store, once; differences of the trees themselves go to errors."""
    seen: set[tuple[int, int]] = set()
    pending: list[tuple[str, Optional[str]]] = [(store, compare)]
    while pending:
        directory, plain = pending.pop()
        try:
            here = entries(directory, directory == store)
            there = entries(plain, False) if plain is not None else {}
        except OSError as error:
            errors.append(fault_of(error.filename or directory, error))
            continue
        for name in sorted(set(here) | set(there)):
            path = os.path.join(directory, name)
            other = os.path.join(plain, name) if plain is not None else None
            kinds = [kind_of(s[name].st_mode) if name in s else "nothing" for s in (there, here)]
            if plain is not None and kinds[0] != kinds[1]:
                errors.append(fault_of(path, Fault("entry", kinds[0], kinds[1])))
                other = None
            if kinds[1] == "directory":
                pending.append((path, other))
            elif kinds[1] == "symlink" and other is not None:
                targets = os.readlink(other), os.readlink(path)
                if targets[0] != targets[1]:
                    errors.append(fault_of(path, Fault("symlink target", *targets)))
            elif kinds[1] == "regular file":
                inode = here[name].st_dev, here[name].st_ino
                if inode not in seen or other is not None:
                    yield path, other
                seen.add(inode)


def use_store(store: Store) -> None:
    global _store
    _store = store


def check_store(store: Store, compare: Optional[str], jobs: int) -> Result:
    assert store.path is not None
    errors: list[Result] = []
    tasks = list(tasks_of(store.path, compare, errors))
    use_store(store)
    if jobs > 1 and len(tasks) > 1:
        with multiprocessing.get_context("fork").Pool(jobs, use_store, (store,)) as pool:
            results = list(pool.imap_unordered(check, tasks, max(1, min(64, len(tasks) // 64))))
    else:
        results = [check(task) for task in tasks]
    results.sort(key=lambda r: r["path"])
    for result in results:
        errors += result["errors"]
    return {"store": store.path, "containers": len(results), "errors": errors,
            "notes": [{"path": r["path"], "note": n} for r in results for n in r["notes"]],
            **{key: sum(r[key] for r in results) for key in ("size", "stored", "length")}}


def show(text: str) -> str:
    """Names may hold any bytes."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def dump(container: Container) -> int:
    def sink(fault: Fault) -> None:
        nonlocal failed
        failed = 1
        print(f"{show(container.path)}: {fault}")

    failed = 0
    chosen: Optional[Root] = None
    try:
        chosen = container.choose(sink)
    except Fault as fault:
        sink(fault)
    for i, slot in enumerate(container.slots):
        mark = " (chosen)" if slot is not None and slot is chosen else ""
        if isinstance(slot, Root):
            fields = " ".join(f"{name}={value}" for name, value in slot._asdict().items()
                              if name != "slot")
            print(f"slot {i}{mark}: {fields}")
        else:
            print(f"slot {i}: {slot or 'zero'}")
    for note in container.notes:
        print(f"note: {note}")
    if chosen is None:
        return failed
    print(f"permissions: {container.permissions(chosen.mode):04o}")
    index: Index = container.walk(chosen, 0, sink)
    container.check_rules(chosen, index, sink)
    for position, length in sorted(index.pages.items()):
        print(f"page: position={position} length={length}")
    for segment in index.segments:
        print("segment: " + " ".join(f"{k}={v}" for k, v in segment._asdict().items()))
    return failed


def cat(path: str, store: Store) -> None:
    out = sys.stdout.buffer
    for _, length, data in contents(path, store):
        if data is not None:
            out.write(data)
            continue
        while length:
            length -= out.write(ZEROS[:min(length, STEP)])
    out.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("store", nargs="?")
    parser.add_argument("--compare", metavar="DIR", help="a plain tree that the store should equal")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--paranoid", action="store_true",
                        help="believe no boot id, and verify everything before choosing a root")
    parser.add_argument("--boot", metavar="BOOT:MOUNT", help="instead of the running system's")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--container", metavar="FILE", help="read one container instead")
    parser.add_argument("--cat", action="store_true", help="write its contents to standard output")
    parser.add_argument("--dump", action="store_true", help="print its roots, pages and segments")
    args = parser.parse_args()
    if (args.store is None) == (args.container is None) or \
            (args.container is not None) != (args.cat != args.dump):
        parser.error("give STORE, or --container FILE with --cat or --dump")
    try:
        path = args.store if args.container is None else store_of(args.container)
        store = Store(path, args.boot, args.paranoid)
    except (Fault, OSError) as fault:
        print(f"{show(path or '')}: {fault}", file=sys.stderr)
        return 2
    if args.container is not None:
        try:
            if args.cat:
                cat(args.container, store)
                return 0
            with Container(args.container, store) as container:
                return dump(container)
        except (Fault, OSError) as fault:
            text = "unsupported: " if isinstance(fault, Unsupported) else ""
            print(f"{show(args.container)}: {text}{fault}", file=sys.stderr)
            return 1
    report = check_store(store, args.compare, args.jobs)
    if args.json:
        print(json.dumps(report, indent=1))
    else:
        for note in report["notes"]:
            print(f"{show(note['path'])}: note: {note['note']}")
        for e in report["errors"]:
            text = f"{e['what']}: expected {e['expected']} found {e['found']}"
            print(f"{show(e['path'])}: {show(text)}")
        print(f"{report['containers']} containers, {report['size']} bytes, {report['stored']} "
              f"stored, {report['length']} in files, {len(report['errors'])} errors")
    return 1 if report["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
