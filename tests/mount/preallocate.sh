#!/usr/bin/env bash
# A fallocate that fails leaves the space as it was; a truncation and a hole give back what was preallocated.
# usage: preallocate.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin preallocate
mnt=$work/mnt
mkdir "$mnt"

# free: KiB that are free below the mount
free() {
    sync -f "$base"
    df -k --output=avail "$base" | tail -n 1
}

# free_is LEAST MOST WHAT: so much is free
free_is() {
    local now
    now=$(free)
    if [ "$now" -lt "$1" ] || [ "$now" -gt "$2" ]; then
        fail "$type: $3: $now KiB are free, not $1 to $2"
    fi
}

one_type() {
    local before
    type=$1 base=$work/$1
    loop_fs "$type" 128 "$base"
    "$BALEFS" init "$base/store"
    mount_up "$base/store" "$mnt" -o memory=64M
    touch "$mnt/new" "$mnt/file"
    "$BALEFS" sync "$mnt"
    before=$(free)

    ! fallocate -l 1G "$mnt/new" 2>"$work/err" || fail "$type: 1 GiB fits into 128 MiB"
    grep -q 'No space left' "$work/err" || fail "$type: $(cat "$work/err")"
    free_is $((before - 2000)) $((before + 2000)) "after a fallocate that failed"

    fallocate -l 20M "$mnt/file" || fail "$type: no 20 MiB"
    printf y | dd of="$mnt/file" bs=1 seek=5 conv=notrunc,fsync status=none
    free_is $((before - 24000)) $((before - 18000)) "after a fallocate of 20 MiB"
    ! fallocate -l 1G "$mnt/file" 2>/dev/null || fail "$type: 1 GiB fits into 128 MiB"
    free_is $((before - 24000)) $((before - 18000)) "after another one, of the same file, that failed"

    truncate -s 10M "$mnt/file"
    free_is $((before - 14000)) $((before - 8000)) "after a truncation"
    fallocate --punch-hole -o 2M -l 8M "$mnt/file"
    free_is $((before - 6000)) $((before - 1000)) "after a hole"
    truncate -s 0 "$mnt/file"
    free_is $((before - 2000)) $((before + 2000)) "after a truncation to nothing"

    # What is written takes the place of what was preallocated; what compression spares is free again.
    fallocate -l 20M "$mnt/file" || fail "$type: no 20 MiB"
    head -c 20M /dev/zero | tr '\0' z | dd of="$mnt/file" bs=1M conv=notrunc,fsync status=none
    free_is $((before - 4000)) $((before + 2000)) "after zeros were written over it"
    mount_down "$mnt"
    fsck_clean "$base/store"
    umount "$base"
}

for type in ext4 tmpfs; do
    one_type "$type"
done

# What is punched out of a preallocated file is free at once, wherever the hole lies.
# takes LEAST MOST WHAT: the container of $file takes so many KiB
takes() {
    local now
    now=$(du -k "$base/store/file" | cut -f 1)
    if [ "$now" -lt "$1" ] || [ "$now" -gt "$2" ]; then
        fail "$type: $3: the container takes $now KiB, not $1 to $2"
    fi
}

holes() {
    local data
    type=$1 base=$work/holes-$1
    loop_fs "$type" "$2" "$base"
    "$BALEFS" init "$base/store"
    mount_up "$base/store" "$mnt" -o memory=64M
    fallocate -l 20M "$mnt/file" || fail "$type: no 20 MiB"
    takes 20480 20600 "preallocated"
    fallocate --punch-hole -o 4M -l 8M "$mnt/file"
    takes 12288 12400 "a hole in the middle"
    head -c 1M /dev/urandom | dd of="$mnt/file" bs=1M seek=13 conv=notrunc,fsync status=none
    takes 12288 12400 "after data was written"
    fallocate --punch-hole -o 0 -l 20M "$mnt/file"
    "$BALEFS" sync "$mnt"
    takes 0 100 "all is a hole"
    data=$(od -An -tx1 -N 32 -j 13M "$mnt/file" | tr -d ' \n0*')
    [ -z "$data" ] || fail "$type: a hole shows data"
    mount_down "$mnt"
    fsck_clean "$base/store"
    umount "$base"
}

for size in ext4:100 btrfs:120 xfs:300; do
    if command -v "mkfs.${size%:*}" >/dev/null; then
        holes "${size%:*}" "${size#*:}"
    fi
done
