#!/usr/bin/env bash
# edges.sh: what mounts.sh cannot see from inside a mount: what a daemon does with few descriptors, when it is refused
# a write, when it is killed, and what an ordinary user's daemon may do in the backing store.
# shellcheck source-path=SCRIPTDIR source=../mount/lib.sh
. "$(dirname "$0")/../mount/lib.sh"
mount_begin edges

as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
store=$work/top/store
mnt=$work/mnt

# up COMMAND...: a new store, mounted by the user that COMMAND becomes
up() {
    rm -rf "$work/top"
    mkdir -m 777 "$work/top"
    "$@" "$BALEFS" init "$store" || fail "cannot make a store"
    again "$@"
}

again() {
    local i
    : >"$work/log"
    "$@" "$BALEFS" mount -f --log "$work/log" "$store" "$mnt" </dev/null 2>>"$work/err" &
    daemon=$!
    for ((i = 0; i < 5000; i++)); do
        grep -qF "[$daemon] info: $store on $mnt: " "$work/log" && return 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.05
    done
    fail "cannot mount"
}

descriptors() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }

# The names of files are enough to reach them: the daemon keeps no descriptor for each.
many_links() {
    local files=3000 i line
    up prlimit --nofile=256:256
    mkdir "$mnt/A" && (cd "$mnt/A" && for ((i = 0; i < files; i++)); do echo "$i" >"$i"; done)
    cp -al "$mnt/A" "$mnt/B"
    # The kernel knows both names of each file. The name by which the daemon found it first is removed.
    for i in "$mnt"/A/*; do [ -s "$i" ] || fail "$i: empty"; done
    mv "$mnt/B/7" "$mnt/B/seven" && mv "$mnt/B" "$mnt/C"
    rm -r "$mnt/A" 2>>"$work/err" || fail "cannot remove the first names"
    (($(descriptors) < 200)) || fail "$(descriptors) descriptors" # half of 256 are a cache
    for ((i = 0; i < files; i++)); do
        if ((i == 7)); then read -r line <"$mnt/C/seven"; else read -r line <"$mnt/C/$i"; fi
        [ "$line" = "$i" ] || fail "C/$i: '$line'"
    done
    cp -al "$mnt/C" "$mnt/D" && rm -r "$mnt/D" 2>>"$work/err" && cat "$mnt"/C/* >"$work/all"
    [ "$(wc -l <"$work/all")" = "$files" ] || fail "not all are there"
    (($(descriptors) < 200)) || fail "$(descriptors) descriptors" # half of 256 are a cache
    rm -r "$mnt/C"
    mount_down "$mnt"
    ! grep -q ' error' "$work/log" || fail "errors in the log"
}

# If the container of a new file cannot be written, the file does not exist.
refused_create() {
    up env --ignore-signal=XFSZ "${as_user[@]}"
    "${as_user[@]}" touch "$mnt/before"
    "${as_user[@]}" prlimit --pid "$daemon" --fsize=0:unlimited
    "${as_user[@]}" touch "$mnt/file" 2>/dev/null && fail "a file was made without a container"
    "${as_user[@]}" mknod "$mnt/node" p || fail "no pipe"
    "${as_user[@]}" prlimit --pid "$daemon" --fsize=unlimited:unlimited
    [ "$("${as_user[@]}" ls "$mnt" | xargs)" = "before node" ] || fail "left behind: $(ls "$store")"
    [ ! -e "$store/file" ] || fail "left behind in the store"
    "${as_user[@]}" sh -c "echo text >'$mnt/file' && grep -q text '$mnt/file'" || fail "not made later"
    mount_down "$mnt"
}

# A user's directories have their parent's settings whatever their mode, and no other mode.
user_modes() {
    local mode
    up "${as_user[@]}"
    "${as_user[@]}" bash -eus "$mnt" <<'END' || fail "settings"
cd "$1"
mkdir -m 0755 top
setfattr -n user.balefs.codec -v zstd:9 top
umask 027
for mode in 0755 0555 0444 0500 0111 0000; do
    mkdir -m "$mode" "top/d$mode"
    [ "$(stat -c %04a "top/d$mode")" = "$mode" ]
    chmod u+r "top/d$mode"
    [ "$(getfattr --only-values -n user.balefs.codec "top/d$mode")" = zstd:9 ]
    (umask "$(printf '%04o' $((0777 & ~mode)))" && : >"top/f$mode")
    chmod u+r "top/f$mode"
    [ "$(getfattr --only-values -n user.balefs.codec "top/f$mode")" = zstd:9 ]
done
END
    # Settings that cannot be read count as absent.
    "${as_user[@]}" sh -c "mkdir -m 0300 '$mnt/box' && echo text >'$mnt/box/f' && mkdir '$mnt/box/d' &&
        grep -q text '$mnt/box/f'" || fail "nothing can be put into a box"
    for mode in 0111 0000; do
        "${as_user[@]}" chmod 0700 "$mnt/top/d$mode"
    done
    [ "$(stat -c %a "$store/top/d0555" "$store/top/d0500" | xargs)" = "555 500" ] || fail "wider in the store"
    mount_down "$mnt"
}

# A truncation through a descriptor that is open for reading is stored like any other change.
truncating_reader() {
    up env
    for i in 1 2 3; do head -c 100000 "$work/balefs" >"$mnt/f$i"; done
    python3 -c 'import os, sys
for name in sys.argv[1:]:
    os.close(os.open(name, os.O_RDONLY | os.O_TRUNC))' "$mnt/f1" "$mnt/f2"
    [ "$(stat -c %s "$mnt/f1")" = 0 ] || fail "not truncated"
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null || true
    daemon=
    umount -l "$mnt"
    again env
    [ "$(stat -c %s "$mnt/f1" "$mnt/f2" "$mnt/f3" | xargs)" = "0 0 100000" ] || fail "lost by a kill: $(stat -c %s "$mnt"/f*)"
    mount_down "$mnt"
}

# What a change by somebody who may not keep set-id bits leaves of them is what it leaves on the file system below: by a
# stranger, by a member of the file's group, by its owner, and by root.
set_id_bits() {
    local modes
    mkdir -p "$work/plain"
    chmod 777 "$work/plain"
    for modes in inode container; do
        rm -rf "$work/top"
        mkdir "$work/top"
        "$BALEFS" init --modes "$modes" "$store" || fail "cannot make a store"
        "$BALEFS" mount -o set_id "$store" "$mnt" || fail "cannot mount"
        chmod 777 "$mnt"
        python3 "$(dirname "$0")/set_id_bits.py" "$work/plain" "$mnt" || fail "set-id bits, modes in the $modes"
        "$BALEFS" umount "$mnt" || fail "cannot unmount"
    done
}

cp "$BALEFS" "$work/balefs"
BALEFS=$work/balefs
mkdir "$mnt"
chmod 777 "$work" "$mnt"
chmod 666 "$work/log" "$work/err"
many_links
truncating_reader
set_id_bits
if command -v fusermount3 >/dev/null && [ -u "$(command -v fusermount3)" ]; then
    fuse_for_all
    refused_create
    user_modes
    umount /dev/fuse
fi
say "passed"
