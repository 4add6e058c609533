#!/usr/bin/env bash
# layers.sh finds what it is there to find, and nothing in a tree that keeps the rules.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# expect good|bad PATH LINE: a tree with that one file
expect() {
    local want=$1 path=$2 line=$3 got=good
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/$(dirname "$path")"
    printf '%s\n' "$line" >"$tree/$path"
    "$here/layers.sh" "$tree" >/dev/null || got=bad
    if [ "$got" != "$want" ]; then
        printf '%s with %s: %s, should be %s\n' "$path" "$line" "$got" "$want"
        failed=1
    fi
}

expect good format/a.c '#include "format/root.h"'
expect good format/a.c '#include <errno.h>'
expect bad format/a.c '#include "kernels/codec/codec.h"'
expect bad format/a.c '#include "root.h"'
expect good kernels/lz/a.h '#include "format/root.h"'
expect bad kernels/lz/a.h '#  include "fs/container/io.h"'
expect bad kernels/lz/a.cu '#include "tools/x.h"'
expect bad kernels/lz/a.c '#include <cuda_runtime.h>'
expect good kernels/lz/a.cu '#include <cuda_runtime.h>'
expect good fs/a.c '#include "kernels/codec/codec.h"'
expect bad fs/a.c '#include "kernels/../tools/x.h"'
expect bad fs/a.c '#include "tools/x.h"'
expect bad fs/a.c '#include <fuse_lowlevel.h>'
expect bad fs/a.c '#include <fuse3/fuse.h>'
expect good fs/fuse/a.c '#include <fuse_lowlevel.h>'
expect good tools/a.c '#include "fs/container/io.h"'
expect bad tools/a.cpp ''
expect bad fs/a.cu ''
expect good build/a.cpp ''
exit "$failed"
