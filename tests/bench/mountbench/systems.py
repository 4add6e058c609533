"""The file systems that are compared, each in a directory of its own."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from .machine import Failed, drop_caches, is_mounted, run

READ_AHEAD_KIB = 4096  # what balefs asks for, and btrfs has
WAIT = 60
BELOW = {"ext4": "loop,noinit_itable"}  # options of its mount: nothing is made in the background


class System:
    """start() makes it, empty, and mounts it on .mnt; cold() has everything forgotten; stop() ends it."""

    below = None  # type of a new file system for each backing directory; None: that of --backing

    def __init__(self, name, programs, work, backing):
        self.name = name
        self.programs = programs
        self.work = work / name.replace("/", "-").translate(str.maketrans("", "", ":,"))
        self.backing = backing / self.work.name
        self.mnt = self.work / "mnt"
        self.daemon = None
        self.wait = True

    def start(self, wait=True):
        """Without wait it is used at once, whatever it still prepares in the background."""
        self.wait = wait
        self.stop()
        self.remove_below()
        for path in (self.work, self.backing):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        self.mnt.mkdir(exist_ok=True)
        self.make_below()
        self.make()
        self.mount()

    def make(self):
        pass

    def image(self):
        """The loop file of what lies below."""
        return self.backing.with_name(self.backing.name + ".image")

    def make_below(self):
        if self.below:
            make_image(self.image())
            run(f"mkfs.{self.below}", "-q", self.image())
            run("mount", "-o", BELOW[self.below], self.image(), self.backing)

    def remove_below(self):
        if is_mounted(self.backing):
            run("umount", self.backing)
        self.image().unlink(missing_ok=True)

    def mount(self):
        raise NotImplementedError

    def unmount(self):
        for _ in range(20):
            try:
                run("umount", self.mnt)
                break
            except Failed as failed:
                trouble = failed
                time.sleep(0.2)
        else:
            raise trouble
        self.end_daemon()

    def cold(self):
        self.unmount()
        drop_caches(self.backing)
        self.mount()

    def stop(self):
        if is_mounted(self.mnt):
            self.unmount()
        self.end_daemon()

    def remove(self):
        """Ends the system in whatever state it is."""
        try:
            self.stop()
        except Failed:
            subprocess.run(["umount", "-l", str(self.mnt)], stderr=subprocess.DEVNULL, check=False)
            self.kill_daemon()
        if not is_mounted(self.mnt):
            self.remove_below()
            shutil.rmtree(self.work, ignore_errors=True)
            shutil.rmtree(self.backing, ignore_errors=True)

    def sync(self):
        """Returns when all of it would survive a power loss."""
        run("sync", "-f", self.mnt)

    def stored(self):
        """Bytes that what is in it takes below; None: not known."""
        return None

    def within(self):
        """How much an element of binary32 that is read may differ from what was written."""
        return 0

    def make_dir(self, name):
        (self.mnt / name).mkdir()

    def pids(self):
        return [self.daemon.pid] if self.daemon else []

    # ---- Daemons ----

    def start_daemon(self, *command):
        log = open(self.work / "log", "ab")
        with log:
            self.daemon = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log,
                                           stderr=log)
        end = time.monotonic() + WAIT
        while not is_mounted(self.mnt):
            if self.daemon.poll() is not None or time.monotonic() > end:
                said = (self.work / "log").read_text(errors="replace")[-500:]
                raise Failed(f"{' '.join(str(word) for word in command)}: does not mount: {said}")
            time.sleep(0.01)
        self.read_ahead()

    def read_ahead(self):
        device = os.stat(self.mnt).st_dev
        path = pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        if path.exists():
            path.write_text(str(READ_AHEAD_KIB))

    def kill_daemon(self):
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()
            self.daemon = None

    def end_daemon(self):
        if not self.daemon:
            return
        try:
            self.daemon.wait(WAIT)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{self.name}: unmounted, but its daemon does not end: report this") from late
        finally:
            self.kill_daemon()


def make_image(image):
    """A loop file, which may grow to nine tenths of what is free."""
    free = shutil.disk_usage(image.parent).free
    with open(image, "wb") as file:
        file.truncate(free // 10 * 9 // (1 << 20) * (1 << 20))


def blocks_below(top):
    """Bytes allocated for the files of a tree."""
    total = 0
    for path, dirs, names in os.walk(top):
        if ".balefs" in dirs:
            dirs.remove(".balefs")
        total += sum(os.lstat(os.path.join(path, name)).st_blocks * 512 for name in names)
    return total


class Balefs(System):
    """balefs[/CODEC][/direct][/OPTION=VALUE...]: the options are those of its mount."""

    def __init__(self, name, programs, work, backing):
        super().__init__(name, programs, work, backing)
        words = ["io=direct" if word == "direct" else word for word in name.split("/")[1:]]
        self.options = [word for word in words if "=" in word.split(":")[0]]
        self.codec = next((word for word in words if word not in self.options), "auto")
        self.lossy = self.codec.startswith("cusz:")
        self.pid = None

    def make(self):
        run(self.programs["balefs"], "init", "--codec", "auto" if self.lossy else self.codec, self.backing / "store")

    def start(self, wait=True):
        super().start(wait)
        self.choose_codec(self.mnt)

    def choose_codec(self, directory):
        """For its files. A codec that changes values is neither a volume's nor inherited."""
        if self.lossy:
            run(self.programs["balefs"], "set", "--match", "*", directory, self.codec)

    def make_dir(self, name):
        super().make_dir(name)
        self.choose_codec(self.mnt / name)

    def within(self):
        bound = re.search(r"\babs=([^,]+)", self.codec)
        if self.lossy and not bound:
            raise Failed(f"{self.name}: say the bound as abs=E")
        return bound[1] if self.lossy else 0

    def mount(self):
        """As users do: it returns when the GPU is open."""
        options = ["--log", self.work / "log", "-o", ",".join(["trusted", *self.options])]
        run(self.programs["balefs"], "mount", *options, self.backing / "store", self.mnt)
        self.pid = json.loads((self.backing / "store/.balefs/lock").read_text())["process"]
        self.read_ahead()
        if self.wait and {"engine=gpu", "engine=auto"} & set(self.options):
            self.await_gpu()
            drop_caches(self.backing)  # stat has looked at all files

    def status(self):
        """Looks at all files of the mount."""
        return json.loads(run(self.programs["balefs"], "stat", "--json", self.mnt))["mount"]

    def pids(self):
        return [self.pid] if self.pid else []

    def await_gpu(self):
        """Until its device is open and no more memory is being pinned: that is in the background of the mount."""
        end = time.monotonic() + WAIT
        before, gpu = None, self.status()["engines"]["gpu"]
        while not gpu["open"] or gpu["pinned"] != before:
            if time.monotonic() > end:
                said = (self.work / "log").read_text(errors="replace")[-500:]
                raise Failed(f"{self.name}: there is no GPU: {said}")
            time.sleep(0.2)
            before, gpu = gpu["pinned"], self.status()["engines"]["gpu"]

    def unmount(self):
        """Its daemon has ended then."""
        run(self.programs["balefs"], "umount", self.mnt)
        self.pid = None

    def kill_daemon(self):
        for pid in self.pids():
            subprocess.run(["kill", "-KILL", str(pid)], stderr=subprocess.DEVNULL, check=False)
        self.pid = None

    def sync(self):
        run(self.programs["balefs"], "sync", self.mnt)

    def stored(self):
        self.sync()
        return blocks_below(self.backing / "store")


class Btrfs(System):
    """On a loop file."""

    below = None

    def __init__(self, name, programs, work, backing):
        super().__init__(name, programs, work, backing)
        self.codec = name.split("/")[1] if "/" in name else "zstd:1"
        self.empty = 0

    def make(self):
        image = self.backing / "image"
        make_image(image)
        run("mkfs.btrfs", "-q", "-f", "-m", "single", image)
        self.mount()
        self.empty = self.used()
        self.unmount()

    def mount(self):
        run("mount", "-o", f"loop,compress-force={self.codec}", self.backing / "image", self.mnt)

    def used(self):
        run("sync", "-f", self.mnt)
        lines = run("btrfs", "filesystem", "df", "-b", self.mnt).splitlines()
        return sum(int(line.split("used=")[1]) for line in lines if line.startswith(("Data", "Metadata")))

    def stored(self):
        """du tells the logical size there; this is data and metadata in use."""
        return self.used() - self.empty


class Memfs(System):
    """Its bytes are lost when it ends: for a cold read only the kernel's caches are dropped."""

    below = None
    ready = 0  # MiB touched before anything is written

    def mount(self):
        direct = ["-d"] if self.name.endswith("/direct") else []
        self.start_daemon(self.programs["memfs"], self.mnt, "-f", "-m", self.ready, *direct)

    def cold(self):
        for _ in range(2):
            drop_caches(self.mnt)


class Passthrough(System):
    def make(self):
        (self.backing / "plain").mkdir()

    def mount(self):
        self.start_daemon(self.programs["passthrough"], self.backing / "plain", self.mnt, "-f")

    def sync(self):
        run("sync", "-f", self.backing)

    def stored(self):
        self.sync()
        return blocks_below(self.backing / "plain")


class Plain(System):
    """The file system below itself: a directory of it, mounted where the others are."""

    def make(self):
        (self.backing / "plain").mkdir()

    def mount(self):
        run("mount", "--bind", self.backing / "plain", self.mnt)

    def stored(self):
        self.sync()
        return blocks_below(self.backing / "plain")


CLASSES = {"balefs": Balefs, "btrfs": Btrfs, "memfs": Memfs, "passthrough": Passthrough, "plain": Plain}


def split(text):
    """Names with commas between them. In a codec's options there are commas, too."""
    return re.split(rf",(?=(?:{'|'.join(CLASSES)})(?:[/,]|$))", text)


def create(name, programs, work, backing):
    kind = name.split("/")[0]
    if kind not in CLASSES:
        raise Failed(f"--systems: no system {name}: there are balefs/CODEC[/direct][/OPTION=VALUE], btrfs/CODEC, "
                     "memfs[/direct], passthrough and plain")
    return CLASSES[kind](name, programs, work, backing)


def lacks(name, programs):
    """What a system needs and does not find here; None: nothing."""
    kind = name.split("/")[0]
    if kind == "btrfs":
        if not shutil.which("mkfs.btrfs") or not shutil.which("btrfs"):
            return "there is no mkfs.btrfs: install btrfs-progs"
        if "btrfs" not in pathlib.Path("/proc/filesystems").read_text() and not shutil.which("modprobe"):
            return "the kernel has no btrfs"
        if not os.path.exists("/dev/loop-control"):
            return "there are no loop devices"
    elif kind == "plain":
        return None
    elif not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "there is no /dev/fuse that may be used"
    elif not os.access(programs[kind], os.X_OK):
        return f"{programs[kind]} has not been built"
    return None
