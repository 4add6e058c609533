"""Where the daemon's time goes, by what its stacks show: perf record on the daemon's threads while it is written to and
read from."""

import pathlib
import re
import signal
import subprocess
import time

from . import measure
from .machine import Failed, run

FREQUENCY = 999  # samples a second, of all jobs together

# The first that is found from the innermost frame outwards counts. What zstd or a copy was called for is told by the
# frames around it.
PARTS = (
    ("codec", re.compile(r"^(ZSTD_|HUF_|FSE_|HIST_|LZ4_|bale_frame_(en|de)code|bale_auto)", re.I)),
    ("checksum", re.compile(r"^(XXH|bale_hash|bale_crc)", re.I)),
    ("FUSE transport", re.compile(r"^(fuse_dev_|fuse_copy|fuse_request|fuse_reply|fuse_session|fuse_ll|fuse_send)")),
    ("container I/O", re.compile(r"^(bale_container|bale_index|bale_free_map|bale_io_|bale_frame_(io|set)|shmem_|ext4_|"
                                 r"xfs_|btrfs_|__x64_sys_(p?write|p?read|fsync|fdatasync|fallocate|pwritev|preadv)|"
                                 r"do_fallocate|vfs_fsync)")),
    ("memory", re.compile(r"^((asm_)?exc_page_fault|clear_page|__x64_sys_(mmap|munmap|madvise)|bale_memory)")),
    ("queue, locks, waiting", re.compile(r"^(bale_queue|bale_pool|bale_turn|pthread_|__lll|futex|__x64_sys_futex|"
                                         r"schedule|__schedule|wake_up|try_to_wake)")),
    ("files and extents", re.compile(r"^(bale_)")),
)
REST = "other"


def classify(frames):
    for frame in frames:
        for part, pattern in PARTS:
            if pattern.match(frame):
                return part
    return REST


def _samples(text):
    """The stacks of perf script's output, innermost frame first."""
    frames = []
    for line in text.splitlines():
        if line.startswith((" ", "\t")) and line.strip():
            words = line.split()
            frames.append((words[1] if len(words) > 1 else words[0]).split("+")[0])
        elif frames and not line.strip():
            yield frames
            frames = []
    if frames:
        yield frames


def record(system, work, frequency, action):
    """Runs action; samples by part."""
    out = work / "perf.data"
    perf = subprocess.Popen(["perf", "record", "-q", "-F", str(frequency), "--call-graph", "dwarf,16384", "-p",
                             str(system.pids()[0]), "-o", str(out)], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        result = action()
    finally:
        perf.send_signal(signal.SIGINT)
        perf.wait()
    counts = {}
    for frames in _samples(run("perf", "script", "-i", out, "-F", "ip,sym", "--max-stack", "40")):
        part = classify(frames)
        counts[part] = counts.get(part, 0) + 1
    out.unlink()
    return result, counts


def lacks():
    """Why there can be no breakdown; None: it can be made."""
    try:
        run("perf", "record", "-q", "-o", "/dev/null", "true")
    except Failed as failed:
        return f"perf cannot be used: {str(failed)[:200]}"
    return None


def measure_parts(system, programs, work: pathlib.Path, **keys):
    """keys: source, size and jobs. For writing and for reading: GB/s, CPU seconds for a GB of the daemon and of all,
    and by part of the daemon."""
    found = []
    frequency = max(49, FREQUENCY // keys["jobs"])
    system.start()
    for operation, what in (("write", "sequential write until synced"), ("read", "sequential read, cold")):
        if operation == "read":
            system.cold()
        done, counts = record(system, work, frequency,
                              lambda: measure.work_on(programs, system, operation, **keys))
        gb = done[1] / measure.GB
        parts = {part: count / frequency / gb for part, count in counts.items()}
        found.append({"what": what, "jobs": keys["jobs"], "rate": gb / done[0], "daemon": sum(parts.values()),
                      "all": done[2] / gb, "parts": parts})
    system.stop()
    return found


def lines(name, kind, found):
    out = [f"where the time goes, CPU s/GB: {name}, {kind}, jobs: {found[0]['jobs']} (perf, samples of the daemon's "
           "threads, by their stacks; user space and kernel)"]
    for result in found:
        rest = max(result["all"] - result["daemon"], 0)
        out.append(f"    {result['what']}, {result['rate']:.2f} GB/s: daemon {result['daemon']:.2f}; "
                   "the program that asks, with the kernel on its side of the transport, and kernel threads "
                   f"{rest:.2f}")
        for part, value in sorted(result["parts"].items(), key=lambda pair: -pair[1]):
            out.append(f"        {part:26} {value:6.3f} {value / max(result['daemon'], 1e-9):6.0%}")
    return out
