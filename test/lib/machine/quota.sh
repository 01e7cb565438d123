#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-info counts cores right in control groups that Linux
# really has, of either version: made here, where root may (else it skips), and
# removed in the end.  test_quota knows the rest, on files that it makes.
tool=${LOCKSTEP_INFO:-${top_builddir:-.}/lockstep-info}
. "$(dirname "$0")/../../support/shell.sh"
name=lockstep-test-$$
group=
at_end() {
    [ -z "$group" ] || rmdir "$group/inner" "$group" 2>/dev/null
    [ -z "$set" ] || rmdir "$set" 2>/dev/null
}
set=

skip() {
    echo "skipped: $1"
    exit 77
}

# Where the hierarchy of a controller is mounted: version 1, then 2.
hierarchy() {
    awk -v c="$1" '$1 == "cgroup" && "," $4 "," ~ "," c "," { print $2; exit }' \
        /proc/mounts
}
version=1
top=$(hierarchy cpu)
if [ -z "$top" ]; then
    version=2
    top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    grep -qw cpu "$top/cgroup.subtree_control" 2>/dev/null ||
        skip "no control groups with quotas here"
fi
mkdir "$top/$name" 2>"$dir/err" || skip "no control group may be made here"
group=$top/$name

# quota FOLDER MICROSECONDS: of each 100000; -1: none.
quota() {
    if [ $version = 1 ]; then
        echo 100000 >"$1/cpu.cfs_period_us" &&
            echo "$2" >"$1/cpu.cfs_quota_us"
    else
        echo "$2 100000" | sed 's/^-1/max/' >"$1/cpu.max"
    fi
}

# within GROUP FILE: lockstep-info, started as a member.
within() {
    # shellcheck disable=SC2016 # the inner shell's
    sh -c 'echo $$ >"$1" && exec "$2"' sh "$1/$2" "$tool" \
        >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
}

# leaves CORES CPUSET QUOTA: what the run says of the cores there are for it.
leaves() {
    case $status:$(grep ' usable core' "$dir/out") in
    "0:$1 usable core"*", cpuset "$2,*", quota $3"*) pass ;;
    *) fail "not $1 cores of a cpuset of $2 with a quota of $3" ;;
    esac
}
run
all=$(sed -n 's/ usable core.*//p' "$dir/out")
[ "$all" -ge 2 ] || skip "there is one core, with or without a quota"

quota "$group" 50000 2>"$dir/err" || skip "no quota may be set here"
within "$group" cgroup.procs
leaves 1 '*' '0.5 CPUs'
quota "$group" 100000
within "$group" cgroup.procs
leaves 1 '*' '1 CPU '
# One and a half are one, and two are two.
quota "$group" 150000
within "$group" cgroup.procs
leaves 1 '*' '1.5 CPUs'
has "why it is not two" err "rounded down because all workers wait"
quota "$group" 200000
within "$group" cgroup.procs
leaves 2 '*' '2 CPUs'

# A quota above counts too, and the least.
mkdir "$group/inner"
if [ $version = 1 ]; then
    quota "$group" 100000
    quota "$group/inner" 50000
    within "$group/inner" cgroup.procs
    leaves 1 '*' '0.5 CPUs'
    quota "$group/inner" -1
    within "$group/inner" cgroup.procs
    leaves 1 '*' '1 CPU '
fi
quota "$group" -1
within "$group" cgroup.procs
leaves "$all" '*' none

# A set of one processor.
top=$(hierarchy cpuset)
if [ "$top" ] && mkdir "$top/$name-set" 2>/dev/null; then
    set=$top/$name-set
    if cat "$top/cpuset.mems" >"$set/cpuset.mems" 2>/dev/null &&
        echo 1 >"$set/cpuset.cpus" 2>/dev/null; then
        within "$set" cgroup.procs
        leaves 1 1 none
    fi
fi
finish
