# Sourced by the suites of other people. Runs the script in a mount namespace of its own, where mount(8) finds the
# helpers of $BALEFS, and the suites their users; $work is a directory that goes away, mounts included; stores are on an
# ext4 of their own, $work/backing, so that a test that fills the file system fills that one.
# shellcheck shell=bash source-path=SCRIPTDIR source=../../support/namespace.sh
. "$(dirname "$0")/../../support/namespace.sh"
set -euo pipefail
export LC_ALL=C

suite=$(basename "$0" .sh)
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    printf '%s: %s\n' "$suite" "$*" >&2
    exit 1
}

# fetched DIR URL REVISION: DIR is a checkout
fetched() {
    [ -d "$1/.git" ] || git clone -q "$2" "$1" || fail "$2: cannot be fetched"
    git -C "$1" checkout -q "$3" || fail "$1: has no revision $3"
}

rig_end() {
    cd /
    awk -v top="$work/" 'index($2, top) == 1 { print $2 }' /proc/self/mounts | tac | while IFS= read -r at; do
        umount "$at" 2>/dev/null || umount -l "$at" || true
    done
    rm -rf --one-file-system "$work"
}

rig_begin() {
    local file user uid=60000
    : "${BALEFS:?the program to test}"
    [ "${BALE_NAMESPACE:-}" = entered ] || fail "needs root, /dev/fuse and a mount namespace"
    work=$(mktemp -d "${TMPDIR:-/tmp}/$suite.XXXXXX")
    trap rig_end EXIT
    trap 'exit 130' INT TERM
    chmod 755 "$work"
    mkdir -p "$work"/{sbin,etc,backing}
    ln -s "$(readlink -f "$BALEFS")" "$work/sbin/umount.fuse.balefs"
    # Where there is no system log, mount says where the log is, which the suites take for an error.
    cat >"$work/sbin/mount.fuse.balefs" <<END
#!/bin/bash
said=\$( (exec -a mount.fuse.balefs "$(readlink -f "$BALEFS")" "\$@") 2>&1)
status=\$?
grep -v ": there is no system log here: " <<<"\$said" | grep . >&2
exit "\$status"
END
    chmod +x "$work/sbin/mount.fuse.balefs"
    mount -t overlay -o "lowerdir=$work/sbin:/usr/sbin" overlay /usr/sbin
    for file in passwd group shadow; do
        cp "/etc/$file" "$work/etc/$file"
        mount --bind "$work/etc/$file" "/etc/$file"
    done
    for user in fsgqa fsgqa2 123456-fsgqa; do
        uid=$((uid + 1))
        printf '%s:x:%d:%d::/tmp:/bin/bash\n' "$user" "$uid" "$uid" >>/etc/passwd
        printf '%s:x:%d:\n' "$user" "$uid" >>/etc/group
        printf '%s:*:19000:0:99999:7:::\n' "$user" >>/etc/shadow
    done
    truncate -s 12G "$work/image"
    mkfs.ext4 -q "$work/image"
    mount -o loop "$work/image" "$work/backing"
}

# judged FAILED PASSED: lists of tests; $here/$suite.failures has those that may fail, with reasons. Ends the script: 0,
# or 1 if another one failed.
judged() {
    local test status=0
    for test in $1; do
        grep -qs "^$test " "$here/$suite.failures" || { status=1 && echo "$suite: $test fails, and is not on the list"; }
    done
    for test in $2; do
        if [[ " $1 " != *" $test "* ]] && grep -qs "^$test " "$here/$suite.failures"; then
            echo "$suite: $test is on the list, and passed"
        fi
    done
    exit "$status"
}
