"""File handles of what lies in a mount.

usage: handles.py save TOP FILE            the handles of everything in TOP, and what it is
       handles.py check TOP FILE           opens each by its handle, and compares
       handles.py stale TOP FILE           none can be opened
       handles.py forged TOP FILE          handles that nobody was given are refused
       handles.py keyed TOP FILE KEY PATH  so are those of directories beside the store, although the key is known
       handles.py refused TOP              there are no handles
"""

import ctypes
import errno
import hashlib
import os
import pickle
import resource
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]


def called(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def handle_of(path):
    handle, mount = Handle(bytes=128), ctypes.c_int()
    called(libc.name_to_handle_at(AT_FDCWD, path, ctypes.byref(handle), ctypes.byref(mount), 0))
    return handle.type, bytes(handle.data[:handle.bytes])


def open_handle(top, handle, flags):
    made = Handle(bytes=len(handle[1]), type=handle[0])
    made.data[:len(handle[1])] = handle[1]
    return called(libc.open_by_handle_at(top, ctypes.byref(made), flags))


def is_stale(top, handle):
    try:
        os.close(open_handle(top, handle, os.O_PATH))
    except OSError as error:
        return error.errno == errno.ESTALE
    return False


def what(fd):
    """What an O_PATH descriptor shows: the inode, and its contents."""
    st = os.fstat(fd)
    if stat.S_ISREG(st.st_mode):
        with open("/proc/self/fd/%d" % fd, "rb") as file:
            shown = hashlib.sha256(file.read()).hexdigest()
    elif stat.S_ISDIR(st.st_mode):
        shown = sorted(os.listdir(b"/proc/self/fd/%d" % fd))
    else:
        shown = None
    return st.st_ino, st.st_mode, st.st_size, st.st_nlink, shown


def save(top, file):
    saved = {}
    for path, names, files in os.walk(top.encode()):
        for name in [b""] + files + [name for name in names if os.path.islink(os.path.join(path, name))]:
            at = os.path.join(path, name) if name else path
            fd = os.open(at, os.O_PATH | os.O_NOFOLLOW)
            saved[os.path.relpath(at, top.encode())] = handle_of(at), what(fd)
            os.close(fd)
    with open(file, "wb") as out:
        pickle.dump(saved, out)
    print(len(saved))


def load(file):
    with open(file, "rb") as saved:
        return pickle.load(saved)


def check(top, file):
    mount = os.open(top, os.O_RDONLY)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # All at the same time: the daemon knows no names for them, and has fewer descriptors.
    opened = {path: open_handle(mount, handle, os.O_PATH) for path, (handle, _) in load(file).items()}
    for path, (_, wanted) in load(file).items():
        fd = opened[path]
        assert what(fd) == wanted, (path, what(fd), wanted)
        if stat.S_ISDIR(wanted[1]):
            shown = os.readlink(b"/proc/self/fd/%d" % fd)
            assert os.path.relpath(shown, top.encode()) == path, (path, shown)
        os.close(fd)


def stale(top, file):
    mount = os.open(top, os.O_RDONLY)
    for path, (handle, _) in load(file).items():
        assert is_stale(mount, handle), path


def fuse_handle(number, generation):
    return 0x81, struct.pack("<III", number >> 32, number & 0xffffffff, generation)


def parts(handle):
    high, low, generation = struct.unpack("<III", handle[1][:12])
    return high << 32 | low, generation


def forged(top, file):
    mount = os.open(top, os.O_RDONLY)
    saved = load(file)
    number, generation = parts(saved[b"plain"][0])
    assert not is_stale(mount, fuse_handle(number, generation))
    other = parts(saved[b"dir/file"][0])[1]
    for made in (number, generation + 1), (number, 0), (number, other), (number + 1, generation), (2, 0), (3, 0):
        assert is_stale(mount, fuse_handle(made[0], made[1] & 0xffffffff)), made
    for ino in range(1, 3000):
        assert is_stale(mount, fuse_handle(ino, generation)), ino


def encipher(key, block):
    """XTEA."""
    a, b, total = block >> 32, block & 0xffffffff, 0
    for _ in range(32):
        a = (a + ((((b << 4) ^ (b >> 5)) + b) ^ (total + key[total & 3]))) & 0xffffffff
        total = (total + 0x9e3779b9) & 0xffffffff
        b = (b + ((((a << 4) ^ (a >> 5)) + a) ^ (total + key[total >> 11 & 3]))) & 0xffffffff
    return a << 32 | b


def keyed(top, file, key, *paths):
    """Makes handles as the daemon does, and opens what they name: a known file, and what is not the store's."""
    mount = os.open(top, os.O_RDONLY)
    with open(key, "rb") as source:
        words = [list(words) for words in struct.iter_unpack("<4I", source.read())]
    assert len(words) == 2 and stat.S_IMODE(os.stat(key).st_mode) == 0o600
    for half in words:
        mine = encipher(half, os.stat(top).st_ino)
        half[0] ^= mine & 0xffffffff
        half[1] ^= mine >> 32

    def keyed_handle(ino, backing):
        generation = struct.unpack("<I", handle_of(backing)[1][4 if backing_type(backing) == 1 else 8:][:4])[0]
        hashed = encipher(words[1], encipher(words[1], ino) ^ generation)
        return fuse_handle(encipher(words[0], ino), hashed & 0xffffffff)

    store = os.path.dirname(os.path.dirname(key)).encode()
    for path, (handle, wanted) in load(file).items():
        assert path == b"." or keyed_handle(wanted[0], os.path.join(store, path)) == handle, path
    for path in paths:
        assert is_stale(mount, keyed_handle(os.stat(path).st_ino, path.encode())), path


def backing_type(path):
    return handle_of(path)[0]


def refused(top):
    try:
        handle_of(top.encode() + b"/plain")
    except OSError as error:
        assert error.errno == errno.EOPNOTSUPP, error
        return
    sys.exit("a handle of %s" % top)


{"save": save, "check": check, "stale": stale, "forged": forged, "keyed": keyed, "refused": refused}[sys.argv[1]](
    *sys.argv[2:])
