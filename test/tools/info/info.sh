#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Proves that lockstep-info plans machines we do not own as the golden texts
# say, describes this one, and counts usable cores by what binds it here:
# taskset, and control groups where this user may make them.  Needs only POSIX
# tools; taskset and jq are used where present.
#
# GOLDEN=write rewrites test/golden/info-*.txt: read the difference.
unset LS_ISA BLIS_ARCH_TYPE
tool=${LOCKSTEP_INFO:-${top_builddir:-.}/lockstep-info}
here=$(cd "$(dirname "$0")" && pwd)
man=$here/../../../docs/man/lockstep-info.1
groups=
. "$(dirname "$0")/../../support/shell.sh"
at_end() { for g in $groups; do rmdir "$g"; done 2>/dev/null; }

# golden NAME ARGS: stdout, then stderr, are those of golden/info-NAME.txt.
golden() {
    name=$1
    shift
    run "$@"
    cat "$dir/out" "$dir/err" >"$dir/$name"
    [ "${GOLDEN:-}" = write ] && cp "$dir/$name" "$here/../../golden/info-$name.txt"
    if diff "$here/../../golden/info-$name.txt" "$dir/$name"; then
        pass
    else
        fail "golden $name"
    fi
}

"$tool" --version >/dev/null || exit 99

# ------ help, usage, failures ------

run --help
awk 'length > 80' "$dir/out" >"$dir/long"
[ -s "$dir/long" ] && fail "--help is wider than 80 columns"
for name in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' "$dir/out"); do
    if sed 's/\\-/-/g' "$man" | grep -q -e "--$name\b"; then
        pass
    else
        fail "--$name is not in $man"
    fi
done
run --version
has version out "lockstep-info 0."
expect 2 "unknown option --device; did you mean --devices?" --device 3
expect 2 "unknown option --zzzzzz; see lockstep-info --help" --zzzzzz
expect 2 "unexpected argument \"lm\"" lm
expect 2 "--devices: \"0\" is not auto or" --devices 0
expect 2 "--topology needs a value" --topology
expect 2 "cpus \"1-\": not a list of processors" --cpus 1-
expect 2 "processor 4 may not be used: this machine has none" \
    --topology "core:4 pu:1" --cpus 2-5
run --topology "pack:2 core:8 pu:1" --cpus 8-15
has "--cpus" out "8 devices on 8 workers (PU 8-15)"
has "--cpus counts cores" out "affinity 16, cpus 8, quota"
expect 2 "--measure is of this machine" --measure --topology core:2
expect 2 "not a hwloc synthetic description" --topology many
expect 2 "more than 4096 PUs" --topology "core:5000 pu:1"
expect 1 "none.xml\": No such file" --topology "$dir/none.xml"
echo '<topology version="2.0"><object' >"$dir/bad.xml"
run --topology "$dir/bad.xml"
if [ $status -eq 1 ]; then pass; else fail "bad.xml: status $status"; fi
has bad.xml err "bad.xml\""
status=0
LS_ISA=x86-64-v9 "$tool" >"$dir/out" 2>"$dir/err" || status=$?
if [ $status -eq 1 ]; then pass; else fail "LS_ISA: status $status"; fi
has LS_ISA err "LS_ISA=x86-64-v9: not an instruction level"
LS_ISA='' "$tool" >"$dir/out" 2>"$dir/err"
has "an empty LS_ISA" out "in use, the best of this CPU"
level=$(sed -n 's/^  \(.*[^ ]\)  *in use, .*/\1/p' "$dir/out")
LS_ISA=$level "$tool" >"$dir/out" 2>"$dir/err"
has "LS_ISA=$level" out "in use, LS_ISA asks for it"

# ------ machines we do not own ------

golden 2x64 --devices 64 \
    --topology "pack:2 numa:1(memory=256GiB) l3:8(size=32MiB) core:8 pu:2"
golden 2x64-auto --devices auto \
    --topology "pack:2 numa:1(memory=256GiB) l3:8(size=32MiB) core:8 pu:2"
golden snc4 --devices 64 \
    --topology "pack:2 numa:4(memory=64GiB) l3:1(size=28MiB) core:14 pu:2"
golden hybrid --topology "$here/../../golden/hybrid.xml"
golden hybrid-3 --topology "$here/../../golden/hybrid.xml" --workers 3
golden hybrid-2 --devices 8 --topology "$here/../../golden/hybrid-2.xml"
golden asymmetric --devices 10 --topology "$here/../../golden/asymmetric.xml"
golden 720 --devices 720 \
    --topology "pack:4 numa:3(memory=128GiB) core:60 pu:1"
golden 720-smt --devices 720 --workers 720 \
    --topology "pack:2 numa:3(memory=256GiB) l3:1(size=200MiB) core:60 pu:2"
golden one --topology "core:1 pu:1"
golden 2x96 --devices 192 --topology "pack:2 numa:1 l3:12(size=32MiB) core:8"
golden 4-nodes --devices 192 --topology "pack:2 numa:4 core:24"
golden team --devices 3 --workers 12 --topology "numa:2 core:6"

# ------ this machine ------

# cores: the number of usable ones in the last run's output.
cores() { sed -n 's/^\([0-9]*\) usable core.*/\1/p' "$dir/out"; }

run
all=$(cores)
if [ "${all:-0}" -ge 1 ]; then pass; else fail "no usable cores"; fi
has BLIS out "  BLIS"
has "bf16 layers" out "  bf16 layers: "
has "instruction set" out "in use, the best of this CPU"

run --measure --devices 2
has measure out " GFLOP/s"
has measure out " GB/s, read and written"
has 'the unit of bf16 layers' out "  bf16 "
# What is emulated may be as slow as that, and fused multiply-adds in software.
if [ -z "${LS_EMULATED-}" ] &&
    grep -v '^  x86-64-v2 ' "$dir/out" | grep -q ' 0\.0 '; then
    fail "a rate of 0"
else
    pass
fi

run --workers $((all + 1)) --devices 1
has oversubscribed err "$((all + 1)) workers share $all usable core"

if command -v jq >/dev/null; then
    run --json --workers 3
    if [ "$(jq '.usable_cores, (.workers | length)' "$dir/out" |
        tr '\n' ' ')" = "$all 3 " ]; then
        pass
    else
        fail "--json"
    fi
fi

if command -v taskset >/dev/null; then
    run
    cpu=$(sed -n 's/^.* (PU \([0-9]*\).*/\1/p' "$dir/out")
    taskset -c "$cpu" "$tool" >"$dir/out" 2>"$dir/err"
    has taskset out "1 usable core:"
    has taskset out "affinity 1,"
    has taskset out "on 1 worker (PU $cpu)"
    [ "$all" -gt 1 ] &&
        has taskset err "mpirun unless told --bind-to none"
    # mpirun's default binds a rank to one core and asks for more workers.
    taskset -c "$cpu" "$tool" --workers 2 >"$dir/out" 2>"$dir/err"
    has "bound with 2 workers" err "2 workers share 1 usable core"
fi

# ------ real control groups, where we may make them ------

# inside GROUP COMMAND: run in a group, by a process of our own.
inside() {
    sh -c 'echo $$ >"$0/cgroup.procs" && shift && exec "$@"' "$1" "$@" \
        >"$dir/out" 2>"$dir/err"
}

# make GROUP: for as long as this script runs.
make() { mkdir "$1" 2>/dev/null && groups="$1 $groups"; }

# own CONTROLLER: the folder of this process's group, "" for v2; nothing where
# it is not in sight.
own() {
    awk -v want="$1" '
        function has(list) { return ("," list ",") ~ ("," want ",") }
        NR == FNR { split($0, field, ":")
                    if (want == "" && field[2] == "" || has(field[2]))
                        group = substr($0, index($0, "/"))
                    next }
        group == "" || $4 != "/" { next }
        { for (i = 7; i < NF && $i != "-"; i++)
              ;
          if (want == "" && $(i + 1) == "cgroup2" ||
              want != "" && $(i + 1) == "cgroup" && has($(i + 3))) {
              sub("/$", "", group)
              print $5 group
              exit
          } }' /proc/self/cgroup /proc/self/mountinfo
}

# quota GROUP MICROSECONDS: of periods of 100 ms, v1 or v2.
quota() {
    if [ -e "$1/cpu.max" ]; then
        echo "$2 100000" >"$1/cpu.max"
    else
        echo 100000 >"$1/cpu.cfs_period_us" && echo "$2" >"$1/cpu.cfs_quota_us"
    fi
} 2>/dev/null

tried=
for parent in "$(own cpu)" "$(own '')"; do
    [ -n "$parent" ] || continue
    make "$parent/lockstep-test-$$" || continue
    group=$parent/lockstep-test-$$
    quota "$group" 50000 || continue
    inside "$group" "$tool" || continue
    tried=yes
    has "half a CPU" out "1 usable core:"
    has "half a CPU" out "quota 0.5 CPUs (/"
    quota "$group" 150000
    inside "$group" "$tool"
    has "1.5 CPUs" out "1 usable core:"
    make "$group/inner" && inside "$group/inner" "$tool" &&
        has "a parent's quota" out "quota 1.5 CPUs ($group/cpu."
done
[ "$tried" ] || echo "quota of a real group not tried: may not make one here"

parent=$(own cpuset)
if [ -n "$parent" ] && [ "$all" -gt 1 ] &&
    make "$parent/lockstep-test-$$"; then
    group=$parent/lockstep-test-$$
    run
    cpu=$(sed -n 's/^.* (PU \([0-9]*\).*/\1/p' "$dir/out")
    cat "$parent/cpuset.mems" >"$group/cpuset.mems" &&
        echo "$cpu" >"$group/cpuset.cpus" && inside "$group" "$tool" && {
        has "cpuset of one" out "1 usable core:"
        has "cpuset of one" out "cpuset 1, affinity 1"
        has "cpuset of one" err "the cpuset of this process leaves 1 of"
    }
else
    echo "cpuset of a real group not tried: may not make one here"
fi

finish
