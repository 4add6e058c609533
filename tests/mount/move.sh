#!/usr/bin/env bash
# balefs import --move and export --move end at each of their changes, and the file system that they write to loses what
# was not synced: every file is at its origin or has its copy, and another run moves the rest.
# usage: move.sh LOSSY KILLER, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

usage="usage: move.sh LOSSY KILLER"
lossy=${1:?$usage} killer=${2:?$usage}
mount_begin move
backing=$work/backing mnt=$work/mnt tree=$work/tree
mkdir "$backing" "$work/disk" "$mnt"

make_tree() {
    local i
    mkdir -p "$1/deep/er" "$1/none"
    for i in 1 2 3; do
        seq "$i" 3000 >"$1/deep/text-$i"
        head -c $((i * 70000)) /dev/urandom >"$1/deep/er/random-$i"
    done
    : >"$1/deep/er/empty"
    truncate -s 1M "$1/hole"
    ln "$1/deep/text-1" "$1/deep/er/linked"
    ln -s deep/er "$1/symbolic"
    find "$1" -depth -exec touch -h -d "2020-02-03 04:05:06.789" {} +
}

contents() (cd "$1" && find . -name .balefs -prune -o -type f -exec md5sum {} + | LC_ALL=C sort)
shape() { find "$1" -name .balefs -prune -o -printf '%P %y %m %n %l %s %T@\n' | grep -v '^ \| d ' | LC_ALL=C sort; }

# lose: the file system that has the copies loses what was not synced
lose() { if [ -n "$syncing" ]; then lossy_down "$backing" && lossy_up "$lossy" "$work/disk" "$backing"; fi; }

# move ARGUMENT...: 0 when it came to its end, 1 when it was killed
move() {
    local status=0
    LD_PRELOAD=$killer "$BALEFS" "$@" -j 1 >"$work/out" 2>"$work/said" || status=$?
    [ "$status" = 0 ] || [ "$status" = 137 ] || fail "$*: $status: $(cat "$work/said")"
    return $((status != 0))
}

# both COPY: every file with its contents is in $tree or in COPY; one that was being removed has its name hidden
both() {
    { contents "$tree" && contents "$1"; } | sed 's/\.balefs-moved\.//' | LC_ALL=C sort -u >"$work/now"
    diff "$work/contents" "$work/now" >&2 || fail "killed at change $at: a file is neither at its origin nor copied, or is not whole"
}

# finish COPY: a run that was not killed has moved everything
finish() {
    [ -z "$(ls -A "$tree")" ] || fail "killed at change $at: the next run leaves $(ls -A "$tree")"
    diff "$work/contents" <(contents "$1") >&2 || fail "killed at change $at: the contents after the next run"
    diff "$work/shape" <(shape "$1") >&2 || fail "killed at change $at: names, modes, links or times after the next run"
}

fresh() {
    rm -rf "$tree" "$store" "$work/copy" "$backing/copy"
    cp -a "$work/whole" "$tree"
}

export_whole() {
    rm -rf "$work/copy"
    "$BALEFS" export "$store" "$work/copy" >"$work/out" 2>"$work/said" || fail "export: $(cat "$work/said")"
}

in_kills() {
    for ((at = 1; ; at += step)); do
        fresh
        "$BALEFS" init "$store"
        if MOVE_KILL=$at move import --move "$tree" "$store"; then break; fi
        lose
        export_whole
        both "$work/copy"
        move import --move "$tree" "$store" || fail "the second run was killed"
        lose
        fsck_clean "$store"
        export_whole
        finish "$work/copy"
    done
    [ "$at" -gt 40 ] || fail "only $at changes in an import"
    say "import $1: $at changes"
}

out_kills() {
    local kept=$tree
    for ((at = 1; ; at += step)); do
        fresh
        "$BALEFS" import --create "$tree" "$store" >"$work/out"
        rm -rf "$tree"
        if MOVE_KILL=$at move export --move "$store" "$target"; then break; fi
        lose
        mkdir -p "$target"
        "$BALEFS" export "$store" "$work/copy" >"$work/out" 2>"$work/said" || fail "export: $(cat "$work/said")"
        tree=$work/copy both "$target"
        move export --move "$store" "$target" || fail "the second run was killed"
        lose
        mkdir "$tree"
        finish "$target"
        [ -z "$(find "$store" -mindepth 1 -not -path '*/.balefs*')" ] || fail "killed at change $at: the store still has files"
        rm -rf "$target"
    done
    tree=$kept
    [ "$at" -gt 40 ] || fail "only $at changes in an export"
    say "export $1: $at changes"
}

mount_kills() {
    for ((at = 1; ; at += step)); do
        fresh
        "$BALEFS" init "$store"
        mount_up "$store" "$mnt"
        if MOVE_KILL=$at move import --move "$tree" "$mnt"; then break; fi
        mount_kill "$mnt"
        lose
        export_whole
        both "$work/copy"
        mount_up "$store" "$mnt"
        move import --move "$tree" "$mnt" || fail "the second run was killed"
        finish "$mnt"
        mount_down "$mnt"
    done
    mount_down "$mnt"
    [ "$at" -gt 40 ] || fail "only $at changes in an import into a mount"
    say "import $1: $at changes"
}

make_tree "$work/whole"
contents "$work/whole" >"$work/contents"
shape "$work/whole" >"$work/shape"

syncing='' store=$work/store target=$work/target step=5
in_kills "to a file system that syncs as a whole"
out_kills "to a file system that syncs as a whole"
lossy_up "$lossy" "$work/disk" "$backing"
syncing=each store=$backing/store step=11
in_kills "with power loss"
step=17
mount_kills "into a mount, with power loss"
step=13 store=$work/store target=$backing/target
out_kills "with power loss"
say "passed"
