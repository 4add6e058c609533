# Sourced by tests that go through the codecs. tests/cli/help.sh compares the program's list with format/codecs.h.
# shellcheck shell=bash

# codecs WORD [CONDITION]: a line for each codec c of `balefs help codecs --json`, in the order of ids, that fulfils the
# condition: the word. Both are expressions in Python.
codecs() {
    "${BALEFS:?}" help codecs --json | /usr/bin/python3 -S -c 'import json, sys
for c in sorted(json.load(sys.stdin), key=lambda c: c["id"]):
    if '"${2:-True}"':
        print('"$1"')'
}

# The settings that the names alone mean, of the codecs that have a directory in kernels. A lossy one means none.
default_settings() { codecs 'c["default"]' 'not c["built_in"] and c["default"]'; }

# Those of them that a GPU does.
gpu_settings() { codecs 'c["default"]' 'not c["built_in"] and c["default"] and c["gpu"]'; }
