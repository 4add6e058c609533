#!/usr/bin/env bash
# File handles: on ext4 and XFS they last while a file is renamed, the kernel forgets it, the mount is made again and the
# daemon is killed; nobody else's can be made; and where they cannot last there are none.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
mount_begin handles
mnt=$work/mnt
saved=$work/saved
mkdir "$mnt"

handles() { python3 "$(dirname "$0")/handles.py" "$@" || fail "$type: handles $*"; }

# tree DIR
tree() {
    mkdir -p "$1/dir/below" "$1/odd name
and line"
    echo plain >"$1/plain"
    seq 100000 >"$1/dir/file"
    : >"$1/dir/below/empty"
    ln "$1/plain" "$1/dir/linked"
    ln -s plain "$1/symlink"
    mkfifo "$1/dir/fifo"
    echo odd >"$1/odd name
and line/$(printf '\377')"
    for ((i = 0; i < 400; i++)); do echo "$i" >"$1/dir/below/$i"; done
}

for type in ext4 xfs; do
    loop_fs "$type" 400 "$work/$type"
    store=$work/$type/store
    mkdir "$work/$type/beside" "$work/$type/beside/dir"
    "$BALEFS" init "$store" || fail "no store"
    mount_up "$store" "$mnt"
    grep -q ' capabilities .* export_support' "$work/log" || fail "$type: no handles"
    tree "$mnt"
    mkdir "$mnt/to"
    count=$(handles save "$mnt" "$saved")
    [ "$count" -gt 410 ] || fail "$type: $count handles"
    drop_caches "$mnt"
    handles check "$mnt" "$saved"
    mount_down "$mnt"
    # With few descriptors, as files found by their handles have no names.
    mount_up "$store" "$mnt"
    prlimit --pid "$daemon" --nofile=256:256
    handles check "$mnt" "$saved"
    handles forged "$mnt" "$saved"
    handles keyed "$mnt" "$saved" "$store/.balefs/handles" \
        "$store/.balefs" "$store/.balefs/top" "$work/$type/beside" "$work/$type/beside/dir" "$work/$type"
    # What is found by its handle can be changed, moved and removed by its name.
    drop_caches "$mnt"
    handles check "$mnt" "$saved"
    echo more >>"$mnt/dir/file"
    mv "$mnt/dir/file" "$mnt/to/moved"
    mv "$mnt/dir/below" "$mnt/to/above"
    rm "$mnt/dir/linked" "$mnt/to/above/7" "$mnt/to/above/8"
    python3 - "$saved" "$work/gone" <<'END' || fail "$type: the list"
import pickle, sys
with open(sys.argv[1], "rb") as saved, open(sys.argv[2], "wb") as gone:
    handles = pickle.load(saved)
    pickle.dump({path: handles[path] for path in (b"dir/below/7", b"dir/below/8")}, gone)
END
    handles stale "$mnt" "$work/gone"
    # An inode number that another file has now.
    for ((i = 0; i < 50; i++)); do echo new >"$mnt/to/new$i"; done
    handles stale "$mnt" "$work/gone"
    handles save "$mnt" "$saved" >"$work/count"
    mount_kill "$mnt"
    mount_up "$store" "$mnt"
    handles check "$mnt" "$saved"
    mount_down "$mnt"
    # A reader has the same; a copy of the store has others.
    mount_up "$store" "$mnt" -o ro
    handles check "$mnt" "$saved"
    mount_down "$mnt"
    cp -a "$store" "$work/$type/copy"
    mount_up "$work/$type/copy" "$mnt"
    python3 -c 'import pickle, sys
handles = pickle.load(open(sys.argv[1], "rb"))
del handles[b"."]
pickle.dump(handles, open(sys.argv[1], "wb"))' "$saved"
    handles stale "$mnt" "$saved"
    mount_down "$mnt"
    # A key that others may read is replaced.
    chmod 644 "$store/.balefs/handles"
    mount_up "$store" "$mnt"
    [ "$(stat -c %a "$store/.balefs/handles")" = 600 ] || fail "$type: the key can be read"
    mount_down "$mnt"
    fsck_clean "$store"
done

# Where the daemon cannot find a file by its number, there are no handles.
loop_fs btrfs 200 "$work/btrfs"
"$BALEFS" init "$work/btrfs/store" || fail "no store"
mount_up "$work/btrfs/store" "$mnt"
echo plain >"$mnt/plain"
if grep -q ' no_export_support' "$work/log"; then handles refused "$mnt"; fi
mount_down "$mnt"
say "passed"
