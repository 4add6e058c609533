"""Many small files: unpacked until synced, listed and read cold, and removed, on one system after the other."""

import os
import subprocess
import time

from .machine import Failed, run, touch_free


def _read(top):
    """tar would read no file if it wrote to /dev/null itself."""
    size = 0
    with subprocess.Popen(["tar", "-C", str(top), "-cf", "-", "."], stdout=subprocess.PIPE) as tar:
        while piece := tar.stdout.read(1 << 20):
            size += len(piece)
    if tar.returncode != 0:
        raise Failed(f"tar -C {top}: exit status {tar.returncode}")
    return size


def measure_files(results, system, tar, count):
    def timed(what, work, *words, **options):
        begin = time.monotonic()
        value = work(*words, **options)
        results.add(f"small files {what}", f"{count} files", "files/s", system.name, count / (time.monotonic() - begin))
        return value

    def unpack():
        run("tar", "-C", top, "--no-same-owner", "-xf", tar)
        system.sync()

    system.start()
    os.sync()  # what the system before has left to write
    touch_free(2 * tar.stat().st_size)
    top = system.mnt / "tree"
    top.mkdir()
    timed("unpacked until synced", unpack)
    run("tar", "-C", top, "-df", tar)
    system.cold()
    timed("listed with ls -lR, cold", run, "ls", "-lR", top, stdout=subprocess.DEVNULL)
    system.cold()
    size = timed("read with tar, cold", _read, top)
    if size < tar.stat().st_size // 2:
        raise Failed(f"{system.name}: tar read {size} bytes of what it had unpacked: report this")
    timed("removed with rm -r", run, "rm", "-r", top)
    system.stop()
