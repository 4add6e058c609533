#!/usr/bin/env bash
# A file that another machine removes just while `balefs sync` syncs it, which fails with ESTALE then, as on GlusterFS: the
# sync succeeds, and reaches the others.
# usage: stale.sh LOSSY, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: stale.sh LOSSY}
mount_begin stale
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$backing" "$work/disk" "$mnt"
LOSSY_VANISH=gone lossy_up "$lossy" "$work/disk" "$backing"
"$BALEFS" init "$store" || fail "init"
mount_up "$store" "$mnt"
"$BALEFS" sync "$mnt" || fail "the first sync, which goes through the store"
mkdir "$mnt/dir"
for name in before gone later; do
    seq 10000 >"$mnt/dir/$name"
done

# Only closed files are synced by name. Descriptors that are only places in the tree stay.
closed() {
    local fd
    while read -r fd; do
        ! grep -q '^flags:.*2$' "/proc/$daemon/fdinfo/$fd" || return 1 # O_RDWR
    done < <(find "/proc/$daemon/fd" -lname "$store/dir/*" -printf '%f\n')
}
for ((i = 0; i < 5000; i++)); do
    ! closed || break
    sleep 0.01
done
closed || fail "the files stay open"
"$BALEFS" sync "$mnt" || fail "sync"
[ ! -e "$store/dir/gone" ] || fail "nothing was removed"
! grep -q 'could not be synced' "$work/log" || fail "the removed file is reported"
echo more >>"$mnt/dir/before"
"$BALEFS" sync "$mnt" || fail "a second sync"

mount_kill "$mnt"
lossy_down "$backing"
lossy_up "$lossy" "$work/disk" "$backing"
fsck_clean "$store"
[ "$("$BALEFS" cat "$store/dir/before" | tail -n 1)" = more ] || fail "before"
[ "$("$BALEFS" cat "$store/dir/later" | tail -n 1)" = 10000 ] || fail "later"
