#!/usr/bin/env bash
# Where nothing may be written, by whatever name: what export makes into its own store or its mount; plain files into the
# directory of a store; a store into a mount.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cd "$work"
store=$work/store
mnt=$work/mnt
mkdir "$mnt" tree
seq 1 30000 >tree/text
run 0 import --create tree "$store"
mkdir "$store/sub"
run 0 init other
ln -s store/sub link

names() { find "$store" other -path '*/.balefs' -prune -o -print | sort; }
before=$(names)

# --- the store's own directory, and another's
fails 1 "$store/new: it lies inside the store ($store): export to another place" export "$store" "$store/new"
fails 1 "link/new: it lies inside the store ($store): export to another place" export "$store" link/new
fails 1 "$store: it is the store itself ($store): export to another place" export "$store" "$store"
fails 1 "$work: the store lies inside it ($store): export to another place" export "$store" "$work"
fails 1 "other: is inside the store $work/other: mount it, or write elsewhere" export "$store" other
fails 1 "other/new: is inside the store $work/other: mount it, or write elsewhere" export "$store" other/new
fails 1 "link/x.tar: it lies inside the store ($store): export to another place" export --tar -o link/x.tar "$store"
fails 1 "other/x.tar: is inside the store $work/other: mount it, or write elsewhere" export --tar -o other/x.tar "$store"
fails 1 "store/text.bale: is inside the store $store: mount it, or write elsewhere" compress store/text
fails 1 "link/x: is inside the store $store: mount it, or write elsewhere" compress -o link/x tree/text
run 0 compress tree/text
fails 1 "other/text: is inside the store $work/other: mount it, or write elsewhere" decompress -o other/text tree/text.bale
fails 1 "other/x.svg: is inside the store $work/other: mount it, or write elsewhere" inspect --svg other/x.svg store/text
fails 1 "other/x.svg: is inside the store $work/other: mount it, or write elsewhere" bench --svg other/x.svg tree/text
is "$before" "$(names)" "what is in the stores"
run 0 fsck "$store"
run 0 export "$store" out # beside the store, and beside what is there
cmp tree/text out/text

needs_fuse
# --- its mount
run 0 mount "$store" "$mnt"
mkdir "$mnt/sub/there"
ln -s mnt/sub into
before=$(find "$mnt" | sort)
for at in mnt mnt/x mnt/sub/there "$mnt/sub/x" into/x; do
    fails 1 "$at: it lies in a mount of the store ($store): export to another place" export "$store" "$at"
    fails 1 "$at: it lies in a mount of the store ($store): export to another place" export "$store/sub" "$at"
done
fails 1 "mnt/x.tar: it lies in a mount of the store ($store): export to another place" export --tar -o mnt/x.tar "$store"
got=0
"$balefs" export --tar "$store" >mnt/x.tar 2>err || got=$?
is "1 balefs: /dev/stdout: it lies in a mount of the store ($store): export to another place" "$got $(cat err)" "standard output in the mount"
rm mnt/x.tar
fails 1 "mnt/sub: it lies in a mount of the store ($store): import something else" import mnt/sub "$store"
fails 1 "mnt/new: lies in a mount of the store $store: what is stored would be compressed twice: name a directory outside" init mnt/new
fails 1 "mnt/sub/there: lies in a mount of the store $store: what is stored would be compressed twice: name a directory outside" \
    init mnt/sub/there
fails 1 "mnt: is a mount of the store $store: name a directory outside" init mnt
fails 1 "mnt/new: lies in a mount: use cp -a or --move, or unmount it first" import --create tree mnt/new
run 32 mount -o create mnt/new tree
says "^balefs: mnt/new: lies in a mount of the store $store: "
is "$before" "$(find "$mnt" | sort)" "what is in the mount"
# A mount is as good a place for plain files as any, and for another store's.
run 0 compress -o mnt/text.bale tree/text
run 0 inspect --svg mnt/map.svg mnt/text
run 0 export other mnt/sub/there
fails 1 "mnt/map.svg: input and output are the same file: give another output" inspect --svg mnt/map.svg mnt/map.svg
fails 1 "mnt/text: input and output are the same file: give another output" inspect --force --svg mnt/text store/text
run 0 umount "$mnt"

needs_root
# --- by another path: bind mounts of the store, of a part of it, of a part of its mount; the store under a new name
mkdir all part shown
mount --bind "$store" all
mount --bind "$store/sub" part
fails 1 "all/x: it lies inside the store ($store): export to another place" export "$store" all/x
fails 1 "part/x: it lies inside the store ($store): export to another place" export "$store" part/x
fails 1 "part: it lies inside the store ($store): export to another place" export "$store" part
fails 1 "part/x: is inside the store $store: mount it, or write elsewhere" compress -o part/x tree/text
run 0 mount "$store" "$mnt"
mount --bind "$mnt/sub" shown
fails 1 "shown/x: it lies in a mount of the store ($store): export to another place" export "$store" shown/x
fails 1 "mnt/x: it lies in a mount of the store ($store): export to another place" export all mnt/x
umount all part
mv store moved
fails 1 "shown/x: it lies in a mount of the store ($work/moved): export to another place" export moved shown/x
mv moved store
umount shown
run 0 umount "$mnt"
run 0 fsck "$store"
