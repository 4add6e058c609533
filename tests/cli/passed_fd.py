#!/usr/bin/env python3
"""passed_fd.py [--nonblock] MNT COMMAND...: mounts at MNT and becomes COMMAND, which is to serve it.

"@" in COMMAND is the descriptor of /dev/fuse.
"""
import ctypes
import os
import sys

words = sys.argv[1:]
flags = os.O_RDWR
if words[0] == "--nonblock":
    flags |= os.O_NONBLOCK
    words.pop(0)
point, command = words[0], words[1:]
fd = os.open("/dev/fuse", flags)
os.set_inheritable(fd, True)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"passed-fd", point.encode(), b"fuse.balefs", 0, options.encode()) != 0:
    sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
os.execv(command[0], [word.replace("@", str(fd)) for word in command])
