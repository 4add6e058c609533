#!/usr/bin/env bash
# balefs import on a file system that loses everything that was not synced, and where syncfs(2) does nothing: that file
# system is killed as soon as import has ended, and what import stored is there.
# usage: import.sh LOSSY, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: import.sh LOSSY}
mount_begin import
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$backing" "$work/disk" "$mnt"

# make_tree DIR SALT: files of one extent, of many, empty and with holes, all kinds of names, attributes and times
make_tree() {
    local i
    mkdir -p "$1/deep/er/est" "$1/none"
    for i in 1 2 3 4 5 6; do
        seq "$i" "$((i * 3000 + $2))" >"$1/deep/text-$i"
        head -c $((i * 70000)) /dev/urandom >"$1/deep/er/random-$i"
    done
    : >"$1/deep/er/est/empty"
    truncate -s 5M "$1/hole"
    ln "$1/deep/text-1" "$1/deep/er/linked"
    ln -s deep/er "$1/symbolic"
    mkfifo "$1/fifo"
    chmod 640 "$1/deep/text-2"
    chmod 711 "$1/deep/er"
    chown 7:8 "$1/deep/text-3" "$1/none"
    /usr/bin/python3 -c 'import os, sys
for name in "deep", "deep/text-4":
    os.setxattr(os.path.join(sys.argv[1], name), "user.v", sys.argv[2].encode())' "$1" "$2"
    find "$1" -depth -exec touch -h -d "2020-02-0$((1 + $2 % 9)) 03:04:05.6789" {} +
    chmod 751 "$1"
}

# describe DIR: everything that import keeps
describe() {
    find "$1" -printf '%P %y %m %n %U:%G %l ' '(' -type d -printf '-' -o -printf '%s %T@' ')' -printf '\n' | LC_ALL=C sort
    (cd "$1" && find . -type f -exec md5sum {} + | LC_ALL=C sort)
    /usr/bin/python3 -c 'import os, sys
for name in "deep", "deep/text-4":
    print(os.getxattr(os.path.join(sys.argv[1], name), "user.v"))' "$1"
}

lose() {
    lossy_down "$backing"
    lossy_up "$lossy" "$work/disk" "$backing"
}

# same TREE PLACE: what import has put at that place of the store is the tree
same() {
    fsck_clean "$store"
    rm -rf "$work/out"
    "$BALEFS" export "$store$2" "$work/out" >/dev/null 2>"$work/said" || fail "export of '$2': $(cat "$work/said")"
    describe "$1" >"$work/wanted"
    describe "$work/out" >"$work/got"
    diff "$work/wanted" "$work/got" >&2 || fail "import to '$2' has lost something"
}

import() {
    "$BALEFS" import "$@" >/dev/null 2>"$work/said" || fail "import $*: $(cat "$work/said")"
}

make_tree "$work/one" 1
make_tree "$work/two" 2
lossy_up "$lossy" "$work/disk" "$backing"

# What this file system loses, it loses.
mkdir "$backing/unsynced"
lose
[ ! -e "$backing/unsynced" ] || fail "the file system below loses nothing"

import --create "$work/one" "$store"
lose
same "$work/one" ""
say "into a new store"

import --codec zstd:3 "$work/two" "$store"
lose
same "$work/two" ""
say "over other files"

import "$work/one" "$store/none/new"
lose
same "$work/one" /none/new
say "into a new directory"

# What an earlier mount wrote and did not sync is not written a second time, but it is acknowledged.
mount_up "$store" "$mnt"
mkdir "$mnt/made" "$mnt/made/before"
cp -a "$work/two" "$mnt/made/before/tree"
mount_kill "$mnt"
import "$work/two" "$store/made/before/tree"
lose
same "$work/two" /made/before/tree
say "over the same files, which a mount has left unsynced"
