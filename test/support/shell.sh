# SPDX-License-Identifier: BSD-3-Clause
# What the shell tests of the tools share; read first by each, which has set
# `tool`, or nothing when it has no use for `run`.
#
# $dir is a folder that goes with the script; `at_end`, which a script may
# define again, is called before.  A check passes or fails by itself, and
# `finish` prints the sum and gives the exit status.
set -u
LC_ALL=C
export LC_ALL
dir=$(mktemp -d) || exit 99
at_end() { :; }
trap 'at_end; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAIL: $1"
    # What the last run said, if there was one.
    [ ! -f "$dir/err" ] || sed 's/^/  err: /' "$dir/err"
    [ ! -f "$dir/out" ] || sed 's/^/  out: /' "$dir/out" | tail -n 20
}
finish() {
    echo "$passed checks passed, $failed failed"
    [ $failed -eq 0 ]
}

# run ARGS: status in $status, output in out and err.
run() {
    "$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
}

# expect STATUS TEXT ARGS: the exit status, and TEXT somewhere on stderr; a
# failure must say something and leave stdout alone.
expect() {
    expected=$1 said=$2
    shift 2
    run "$@"
    if [ $status -ne "$expected" ]; then
        fail "$*: status $status, not $expected"
    elif ! grep -qF -e "$said" "$dir/err"; then
        fail "$*: no \"$said\" on stderr"
    elif [ "$expected" -ne 0 ] && [ -s "$dir/out" ]; then
        fail "$*: a failure with output"
    else
        pass
    fi
}

# ask STATUS TEXT ARGS: the status of "$verify", and TEXT on stdout or stderr.
ask() {
    expected=$1 said=$2
    shift 2
    "$verify" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
    if [ $status -ne "$expected" ]; then
        fail "lockstep-verify $*: status $status, not $expected"
    elif ! cat "$dir/out" "$dir/err" | grep -qF -e "$said"; then
        fail "lockstep-verify $*: no \"$said\""
    else
        pass
    fi
}

# with_blis: is the backend "blis" in this build, and right on this machine?
with_blis() {
    "$tool" linear --steps 0 --backend blis >"$dir/out" 2>"$dir/err" </dev/null
    blis=$?
    [ $blis -eq 0 ] || sed 's/^[^:]*: /skipped: /' "$dir/err"
    return $blis
}

# has NAME FILE TEXT: the last run's out or err holds TEXT.
has() {
    if grep -qF -e "$3" "$dir/$2"; then pass; else fail "$1: no \"$3\""; fi
}

# is NAME A B: two texts are equal.
is() {
    if [ "$2" = "$3" ]; then pass; else fail "$1: \"$2\" is not \"$3\""; fi
}

# same NAME A B, differ NAME A B: two files, neither of which is empty.
same() {
    if [ -s "$2" ] && cmp -s "$2" "$3"; then pass; else fail "$1"; fi
}
differ() {
    cmp -s "$2" "$3"
    if [ $? -eq 1 ] && [ -s "$2" ] && [ -s "$3" ]; then
        pass
    else
        fail "$1"
    fi
}

# npy DESCR SHAPE: the 128 bytes before the data.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
}

# steps FILE: the metrics without the first line and the timings.
steps() { sed -e 1d -e 's/,"ms":[0-9.]*}$/}/' "$1"; }

# ranks_anywhere: ranks start as root, in containers, and more than cores.
ranks_anywhere() {
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
        OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy \
        OMPI_MCA_btl_vader_single_copy_mechanism \
        OMPI_MCA_mpi_yield_when_idle PRTE_MCA_rmaps_default_mapping_policy
}
