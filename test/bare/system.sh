# shellcheck shell=sh
# SPDX-License-Identifier: BSD-3-Clause
# A bare Debian in a folder, for scripts that try what a fresh machine does;
# read by them, not run.  Needs root and mmdebstrap; where a system cannot be
# made the script that reads this skips, saying why, with status 77.
#
# $root is the system.  It goes with the script, and what runs inside goes
# with the command that started it: nothing is left behind.
set -u
root=
mirror= # of the release alone, without updates; empty: as mmdebstrap has it
backports= # not empty: packages that are named NAME/RELEASE-backports are to be had
namespaces='--mount --pid' # what `inside` unshares
trap '[ -z "$root" ] || rm -rf --one-file-system "$root"' EXIT
trap 'exit 1' HUP INT TERM

skip() {
    echo "skipped: $1"
    exit 77
}

# debian RELEASE MMDEBSTRAP-OPTIONS: make the system in $root, with an
# ordinary user, newcomer.
debian() {
    release=$1
    shift
    [ "$(id -u)" = 0 ] || skip "a bare Debian $release needs root"
    command -v mmdebstrap >/dev/null ||
        skip "a bare Debian $release needs mmdebstrap"
    # shellcheck disable=SC2086 # options
    unshare $namespaces --fork true 2>/dev/null ||
        skip "a bare Debian $release needs namespaces: unshare $namespaces"
    root=$(mktemp -d "${TMPDIR:-/var/tmp}/lockstep-bare.XXXXXX") || exit 99
    if ! mmdebstrap --variant=apt "$@" "$release" "$root" \
        ${mirror:+"deb $mirror $release main"} \
        ${backports:+"deb $mirror $release-backports main"} 2>"$root.log"; then
        why=$(grep -m 1 '^E' "$root.log")
        rm -f "$root.log"
        skip "no bare Debian $release can be made here: $why"
    fi
    rm -f "$root.log"
    chmod 755 "$root"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    echo 'newcomer:x:1000:1000::/home/newcomer:/bin/bash' >>"$root/etc/passwd"
    echo 'newcomer:x:1000:' >>"$root/etc/group"
    mkdir -p "$root/home/newcomer"
    chown 1000:1000 "$root/home/newcomer"
}

# home USER: root's or newcomer's folder, as seen from outside.
home() {
    if [ "$1" = root ]; then echo "$root/root"; else echo "$root/home/$1"; fi
}

# clone TREE USER: TREE's last commit in USER's home.
clone() {
    git -C "$1" rev-parse -q HEAD >/dev/null 2>&1 ||
        skip "a bare Debian gets a clone, and $1 is none"
    git clone -q --no-hardlinks "$1" "$(home "$2")/lockstep" || exit 99
    chown -R "$(stat -c %u:%g "$(home "$2")")" "$(home "$2")/lockstep"
}

# keep USER RESULTS: copy the logs and results of the tests of USER's build to
# the folder RESULTS/USER, if RESULTS is not empty.
keep() {
    [ -n "$2" ] || return 0
    mkdir -p "$2/$1"
    to=$(cd "$2/$1" && pwd)
    (cd "$(home "$1")/lockstep/build" &&
        find . \( -name '*.log' -o -name '*.trs' \) \
            -exec cp --parents -t "$to" {} +)
}

# inside USER FOLDERS COMMAND: run COMMAND, a line for sh, in the home of USER.
# The system sees /dev and a /proc of its own, and those FOLDERS of this one
# besides.
inside() {
    # shellcheck disable=SC2016,SC2086 # the inner shell expands it; options
    unshare $namespaces --fork --kill-child sh -c '
        root=$1 user=$2 home=$3
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" ||
            exit 99
        for folder in $4; do
            mount --rbind "$folder" "$root$folder" || exit 99
        done
        # Root stays root: a namespace of users may not set groups.
        as=
        [ "$user" = root ] || as="--userspec=$user:$user"
        exec chroot $as "$root" \
            env -i HOME="$home" USER="$user" CK_VERBOSITY=normal \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+"http_proxy=$http_proxy"} \
            sh -c "cd && $5"' \
        sh "$root" "$1" "$(home "$1" | sed "s|^$root||")" "$2" "$3"
}
