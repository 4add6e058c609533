#!/usr/bin/python3
"""layers.py finds what it is there to find, and nothing in a tree that keeps the rules."""
import contextlib
import io
import os
import sys
import tempfile

from layers import Layers

GOOD, BAD = 0, 1

# A source, what it includes (which is there, by its whole path), and whether that is right.
INCLUDES = [
    (GOOD, "format/a.c", '"format/root.h"'),
    (GOOD, "format/a.c", "<errno.h>"),
    (BAD, "format/a.c", '"kernels/codec/codec.h"'),
    (GOOD, "kernels/codec/a.c", '"kernels/base/lock.h"'),
    (BAD, "kernels/base/a.c", '"kernels/codec/codec.h"'),
    (GOOD, "kernels/snappy/a.c", '"kernels/codec/codec.h"'),
    (GOOD, "kernels/snappy/a.c", '"kernels/lzss/lzss.h"'),
    (GOOD, "kernels/snappy/a.c", '"kernels/snappy/b.h"'),
    (BAD, "kernels/snappy/a.c", '"kernels/gpulz/gpulz.h"'),
    (BAD, "kernels/snappy/a.c", '"kernels/engine/engine.h"'),
    (BAD, "kernels/lzss/a.c", '"kernels/snappy/b.h"'),
    (GOOD, "kernels/frame/a.c", '"kernels/snappy/b.h"'),
    (BAD, "kernels/engine/a.c", '"kernels/snappy/b.h"'),
    (BAD, "kernels/engine/a.c", '"kernels/cuda/queue.h"'),
    (GOOD, "kernels/cuda/a.cu", '"kernels/snappy/b.cuh"'),
    (BAD, "kernels/api/a.c", '"kernels/cuda/queue.h"'),
    (BAD, "kernels/snappy/a.h", '"fs/container/io.h"'),
    (BAD, "kernels/snappy/a.cu", '"tools/common/x.h"'),
    (BAD, "kernels/snappy/a.c", "<cuda_runtime.h>"),
    (GOOD, "kernels/snappy/a.cu", "<cuda_runtime.h>"),
    (GOOD, "fs/container/a.c", '"kernels/codec/codec.h"'),
    (GOOD, "fs/cache/a.c", '"fs/container/io.h"'),
    (BAD, "fs/container/a.c", '"fs/cache/file.h"'),
    (BAD, "fs/cache/a.c", '"fs/container/internal.h"'),
    (GOOD, "fs/container/a.c", '"fs/container/internal.h"'),
    (BAD, "fs/cache/a.c", '"kernels/snappy/b.h"'),
    (BAD, "fs/cache/a.c", '"tools/common/x.h"'),
    (BAD, "fs/nowhere/a.c", '"format/root.h"'),
    (GOOD, "fs/daemon/a.c", '"fs/fuse/ops.h"'),
    (BAD, "fs/fuse/a.c", '"fs/daemon/session.h"'),
    (BAD, "fs/store/a.c", "<fuse_lowlevel.h>"),
    (BAD, "fs/store/a.c", "<fuse3/fuse.h>"),
    (GOOD, "fs/fuse/a.c", "<fuse_lowlevel.h>"),
    (GOOD, "tools/inspect/a.c", '"fs/container/io.h"'),
    (GOOD, "tools/inspect/a.c", '"tools/common/x.h"'),
    (GOOD, "tools/inspect/a.c", '"tools/balefs.h"'),
    (BAD, "tools/inspect/a.c", '"tools/mount/helper.h"'),
    (BAD, "tools/common/a.c", '"tools/mount/helper.h"'),
    (GOOD, "tools/doctor/a.c", '"tools/mount/namespace.h"'),
    (GOOD, "tools/a.c", '"tools/mount/helper.h"'),
    (GOOD, "tests/unit/a.c", '"fs/container/internal.h"'),
]

# A source with one line of text.
LINES = [
    (BAD, "format/a.c", '#include "root.h"'),
    (BAD, "format/a.c", '#  include "format/nowhere.h"'),
    (BAD, "fs/cache/a.c", '#include "fs/../format/a.h"'),
    (BAD, "tests/unit/a.c", '#include "root.h"'),
    (GOOD, "tools/examples/solver/a.c", '#include "grid.h"'),
    (GOOD, "format/a.h", "#ifndef BALE_FORMAT_A_H"),
    (BAD, "format/a.h", "#ifndef BALE_A_H"),
    (BAD, "tools/common/a.cpp", ""),
    (BAD, "fs/cache/a.cu", ""),
    (GOOD, "build/a.cpp", ""),
]


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def guard(path):
    """A header as it should begin."""
    return f"#ifndef BALE_{path.replace('/', '_').replace('.', '_').upper()}\n" if path.endswith(("h", "cuh")) else ""


def judge(path, text, included=None):
    with tempfile.TemporaryDirectory() as root:
        if included:
            write(root, included, guard(included))
        write(root, path, text + "\n")
        with contextlib.redirect_stdout(io.StringIO()):
            return Layers(root).check()


def main():
    failed = 0
    cases = [(want, path, guard(path) + f"#include {include}", include[1:-1] if include[0] == '"' else None)
             for want, path, include in INCLUDES]
    cases += [(want, path, line, None) for want, path, line in LINES]
    for want, path, text, included in cases:
        if judge(path, text, included) != want:
            print(f"{path} with {text!r}: should be {'good' if want == GOOD else 'bad'}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
