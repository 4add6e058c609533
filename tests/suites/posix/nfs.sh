#!/usr/bin/env bash
# A mount of balefs, exported by a real NFS server in user space (nfs-ganesha, which finds files by their handles alone)
# and used by a real client (libnfs): written, listed, read, renamed, removed; and a file that the client reads while the
# server ends, the store is mounted again, and another server begins. Not part of CI: see README.md.
# usage: nfs.sh, with BALEFS in the environment, as root
# shellcheck source-path=SCRIPTDIR
[ -n "${NFS_NETWORK:-}" ] || NFS_NETWORK=yes exec unshare --net -- bash "$0" "$@"
. "$(dirname "$0")/rig.sh"

rig_begin
ip link set lo up
mount -t tmpfs tmpfs /run
mkdir -p /run/rpcbind /run/ganesha
rpcbind -f &
registry=$!
mnt=$work/mnt
server=
nfs_end() {
    local status=$?
    kill -KILL ${server:+"$server"} "$registry" 2>/dev/null || true
    rig_end
    exit "$status"
}
trap nfs_end EXIT
mkdir "$mnt"
"$BALEFS" init "$work/backing/store" || fail "no store"
cat >"$work/ganesha" <<END
NFS_Core_Param {
    Protocols = 3; NFS_Port = 12049; MNT_Port = 12050; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false;
}
EXPORT {
    Export_Id = 17; Path = $mnt; Pseudo = /x; Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3;
    Transports = TCP; FSAL { Name = VFS; fsid_type = None; }
}
END

# await COMMAND...
await() {
    local i
    for ((i = 0; i < 600; i++)); do
        if "$@"; then return; fi
        sleep 0.1
    done
    fail "waited for: $*"
}

up() {
    mount -t fuse.balefs "$work/backing/store" "$mnt" || fail "cannot mount"
    : >"$work/log"
    ganesha.nfsd -F -f "$work/ganesha" -L "$work/log" -p "$work/pid" &
    server=$!
    await grep -q 'NFS SERVER INITIALIZED' "$work/log"
}

down() {
    kill "$server"
    wait "$server" || true
    server=
    "$BALEFS" umount "$mnt" || fail "cannot unmount"
}

# at NAME: its URL
at() { echo "nfs://127.0.0.1$mnt/$1?nfsport=12049&mountport=12050&version=3"; }

up
seq 3000000 >"$work/data"
for name in one two three; do
    nfs-cp "$work/data" "$(at "$name")" >/dev/null || fail "nfs-cp $name"
    nfs-cat "$(at "$name")" | cmp - "$work/data" || fail "$name is not what was written"
done
mkdir "$mnt/dir"
mv "$mnt/two" "$mnt/dir/moved"
rm "$mnt/three"
[ "$(nfs-ls "$(at "")" | awk '{ print $NF }' | sort | xargs)" = "dir one" ] || fail "nfs-ls: $(nfs-ls "$(at "")")"
nfs-cat "$(at dir/moved)" | cmp - "$work/data" || fail "what was moved"
! nfs-cat "$(at three)" >/dev/null 2>&1 || fail "what was removed"
echo "nfs: written, read, moved, removed"

# The client keeps its handle of the file, and knows nothing of what happens meanwhile.
mkfifo "$work/slow"
nfs-cat "$(at dir/moved)" >"$work/slow" &
client=$!
exec 9<"$work/slow"
head -c 100000 <&9 >"$work/got"
down
mkdir "$work/other"
mount -t tmpfs tmpfs "$work/other" # takes the device number
up
cat <&9 >>"$work/got"
wait "$client" || fail "the client: exit status $?"
cmp "$work/got" "$work/data" || fail "a file that was read over a remount"
down
"$BALEFS" fsck --data "$work/backing/store" || fail "fsck"
echo "nfs: a file was read over a remount, by its handle"
