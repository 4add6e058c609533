# Sourced first, by tests of ordinary users' mounts: root runs them in a mount namespace of their own, in which it makes
# /dev/fuse one for all. BALE_NAMESPACE is set in there.
# shellcheck shell=bash
if [ "$(id -u)" = 0 ] && [ -z "${BALE_NAMESPACE:-}" ] && [ -c /dev/fuse ]; then
    BALE_NAMESPACE=yes exec unshare --mount --propagation private -- bash "$0" "$@"
fi

# fuse_for_all: from here on; $work/fuse is the device. Skips the test where that is not to be had.
fuse_for_all() {
    [ -n "${BALE_NAMESPACE:-}" ] || return 0
    mknod "$work/fuse" c 10 229 || skip "cannot make a device"
    chmod 666 "$work/fuse"
    mount --bind "$work/fuse" /dev/fuse || skip "cannot bind a device"
}
