#!/usr/bin/python3
"""Reads every vector of a container with the program and with the independent reader."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Optional

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "containers")
sys.path.insert(0, os.path.join(HERE, "..", "reader"))
from balefs_reader import Container, Fault, Store

VOLUME = {"format": 1, "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "features": [],
          "modes": "inode", "codec": "lz4", "extent": 131072, "match": []}
SESSIONS = {"certain": {"last": 9, "uncertain": []},
            "listed": {"last": 9, "uncertain": [{"session": s, "boot": "another"} for s in (1, 2)]},
            "lost": None}


def run(*words: str) -> tuple[int, bytes]:
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout


def check(vector: dict[str, object], store: str) -> list[str]:
    path = os.path.join(store, "file")
    os.makedirs(os.path.join(store, ".balefs"))
    for name, value in (("volume", VOLUME), ("volume-copy", VOLUME), ("sessions", SESSIONS[str(vector["sessions"])])):
        if value is not None:
            with open(os.path.join(store, ".balefs", name + ".json"), "w", encoding="utf-8") as file:
                json.dump(value, file)
    with open(os.path.join(VECTORS, f"{vector['name']}.container"), "rb") as source:
        with open(path, "wb") as file:
            file.write(source.read())
    balefs = os.environ["BALEFS"]
    content, wanted, wrong = vector["content"], int(str(vector["fsck"])), []
    status, _ = run(balefs, "fsck", "--data", store)
    if status != wanted:
        wrong.append(f"fsck ends with {status}")
    status, found = run(balefs, "cat", path)
    if content is None and status != 1 or content is not None and found != str(content).encode():
        wrong.append(f"cat ends with {status}: {found!r}")
    faults, read = read_with_reader(path, store)
    if read != content:
        wrong.append(f"the reader reads {read!r}")
    if bool(faults) != bool(wanted & 12):
        wrong.append(f"the reader finds {faults}")
    return wrong


def read_with_reader(path: str, store: str) -> tuple[list[str], Optional[str]]:
    """What is wrong, and the contents, or None if some of them are lost."""
    faults: list[Fault] = []
    out, whole = bytearray(), True
    with Container(path, Store(store)) as container:
        try:
            root = container.choose(faults.append)
        except Fault as fault:
            return [str(fault)], None
        if root is not None:
            index = container.walk(root, 0, faults.append)
            container.check_rules(root, index, faults.append)
            for _, length, data in container.pieces(root, index, faults.append):
                whole = whole and data != b""
                out += bytes(data) if data else bytes(length)
    return [str(fault) for fault in faults], bytes(out).decode() if whole else None


def main() -> int:
    failed = 0
    with open(os.path.join(VECTORS, "INDEX.json"), encoding="utf-8") as file:
        vectors = json.load(file)
    for vector in vectors:
        with tempfile.TemporaryDirectory() as work:
            for line in check(vector, os.path.join(work, "store")):
                print(f"{vector['name']} ({vector['what']}): {line}")
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
