"""Bursts: a job that writes once in a while, all at once. The same bytes at once after the mount, when everything is
warm, after a pause, and some seconds after another mount, each until synced."""

import shutil
import time

from .machine import drop_caches, touch_free
from .measure import work_on

WHAT = "burst of writes until synced"
LATER = 5  # seconds after the last mount, or the pause if that is shorter


def _burst(chain, system, keys, number):
    """Writes to a directory of its own, then reads it back, outside the time. What work_on returns for the writes."""
    below = f"burst{number}"
    system.make_dir(below)
    done = work_on(chain.programs, system, "write", below=below, touch=False, **keys)
    drop_caches(system.mnt)
    work_on(chain.programs, system, "read", below=below, touch=False, **keys)
    shutil.rmtree(system.mnt / below)
    return done


def measure(chain, system, kind, source, jobs):
    """One system, one kind of data, one count of jobs, once. Nothing of the system is waited for after its mount."""
    keys = {"source": source, "size": chain.plan.size // jobs // 4096 * 4096, "jobs": jobs}
    detail = f"{kind}, {jobs} job{'s' if jobs > 1 else ''}"
    pause = f"after {chain.plan.pause:g} s without work"
    touch_free(2 * keys["size"] * jobs)
    system.start(wait=False)
    times = {"first after the mount": _burst(chain, system, keys, 0)}
    _burst(chain, system, keys, 1)  # whatever the first one has begun, this one ends
    times["warm"] = _burst(chain, system, keys, 2)
    time.sleep(chain.plan.pause)
    times[pause] = _burst(chain, system, keys, 3)
    system.cold()
    seconds = min(LATER, chain.plan.pause)
    later = f"{seconds:g} s after the mount"
    time.sleep(seconds)
    times[later] = _burst(chain, system, keys, 4)
    system.stop()
    for name, done in times.items():
        chain.add(f"{WHAT}, {name}", detail, system, done)
    for name in ("first after the mount", later, pause):
        chain.results.add(f"burst {name}, against warm", detail, "of warm", system.name,
                          times["warm"][0] / times[name][0])
