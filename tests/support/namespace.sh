# Every script that mounts sources this first: root runs the script in a mount namespace of its own, with
# BALE_NAMESPACE set.
#
# A namespace that is made while a file system is mounted keeps it alive until the namespace ends, and its daemon with
# it: balefs umount waits for that. So no test may see the mounts of another one, or of this machine's users.
# shellcheck shell=bash
if [ "$(id -u)" = 0 ] && [ -z "${BALE_NAMESPACE:-}" ] && [ -c /dev/fuse ] && unshare --mount true 2>/dev/null; then
    BALE_NAMESPACE=yes exec unshare --mount --propagation private -- bash "$0" "$@"
fi
if [ "${BALE_NAMESPACE:-}" = yes ]; then
    export BALE_NAMESPACE=entered
    awk '$3 == "fuse.balefs" { print $2 }' /proc/self/mounts | tac | while IFS= read -r at; do
        umount -l "$at" || true
    done
fi

# fuse_for_all: from here on ordinary users may open /dev/fuse; $work/fuse is the device. Skips the test where that is
# not to be had.
fuse_for_all() {
    [ -n "${BALE_NAMESPACE:-}" ] || return 0
    mknod "${work:?}/fuse" c 10 229 || skip "cannot make a device"
    chmod 666 "$work/fuse"
    mount --bind "$work/fuse" /dev/fuse || skip "cannot bind a device"
}
