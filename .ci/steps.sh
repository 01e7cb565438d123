# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
# How .ci/run and .ci/full go through their steps, count and report; read by
# both, each of which has set `ci`, the folder for logs and builds.
#
# Every Check test counts, a shell test or example counts as one, and so does
# a step that failed before or beside its tests.  Status 77 is a step that
# cannot be done here: its last line says why, and it counts as nothing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export LC_ALL=C CK_VERBOSITY=normal
# configure and libtool run under dash where there is one, as in quickstart.
[ ! -x /bin/dash ] || export CONFIG_SHELL=/bin/dash

# The results of the tests below a folder, those of other runs apart.
results()
{
    find "$1" \( -path build/ci -o -path build/full \) -prune -o \
        -name '*.trs' -print
}

# Results of the test logs below a folder: "PASSED FAILED".  Check's own
# figures where there are some; automake's verdict on the program otherwise,
# and also when a program failed although its tests passed (a sanitizer).
count_tests()
{
    results "$1" | while read -r trs; do
        verdict=$(sed -n 's/^:test-result: //p' "$trs")
        sed -n "s/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), \
Errors: \([0-9]*\)\$/$verdict \1 \2 \3/p" "${trs%.trs}.log" |
            grep . || echo "$verdict"
    done | awk '
        NF == 4 { bad = $3 + $4; good += $2 - bad; failed += bad
                  if ($1 != "PASS" && !bad) failed++; next }
        $1 == "PASS" { good++ }
        $1 == "FAIL" || $1 == "ERROR" { failed++ }
        END { print good + 0, failed + 0 }'
}

# The ends of the logs of tests that failed below a folder.
show_failures()
{
    results "$1" | while read -r trs; do
        if grep -qE '^:test-result: (FAIL|ERROR)' "$trs"; then
            echo "---- ${trs%.trs}.log"
            tail -n 25 "${trs%.trs}.log"
        fi
    done
}

# Of what a step made that passed, keep its logs, results, packages and the
# places that no test came to: a suite takes three gigabytes.  What is in build/
# serves the steps that follow.
tidy()
{
    case $1 in
    "$ci"/*)
        chmod -R u+w "$1"
        find "$1" ! -type d ! -name '*.log' ! -name '*.trs' ! -name '*.deb' \
            ! -name '*.changes' ! -name places.txt -delete
        find "$1" -type d -empty -delete ;;
    esac
}

# When, what and where this runs, which bench/tables reads of a report.
say_where()
{
    echo "$(date -u +%F), $(git rev-parse --short HEAD), on $(nproc) cores:" \
        "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
}

# count PASSED FAILED SKIPPED...: add it to the sum; `counted` is the last.
count()
{
    counted=$*
    echo "$counted" >>"$ci/counts"
}

# skip NAME WHY: this step cannot be done here.
skip()
{
    echo "$1: skipped: $2"
    count 0 0 "$1"
}

# The names of the tests below a folder that said they cannot run here.
skipped()
{
    local trs name
    for trs in $(results "$1"); do
        grep -q '^:test-result: SKIP' "$trs" || continue
        name=${trs##*/}
        echo "${name%.trs}"
    done
}

# step NAME FOLDER COMMAND...: run COMMAND, count the tests below FOLDER, and say
# how long it took, by the clock and of the processor.
step()
{
    local name=$1 folder=$2 log=$ci/$1.log status=0 took TIMEFORMAT='%0R %0U %0S'
    shift 2
    mkdir -p "$folder"
    took=$({ time "$@" >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
    took=$(awk '{ print $1 " s, " $2 + $3 " of the processor" }' <<<"$took")
    if [ $status = 77 ]; then
        skip "$name" "$(tail -n 1 "$log" | sed 's/^skipped: //')"
        return
    fi
    # shellcheck disable=SC2046 # two numbers, and names: words
    set -- $(count_tests "$folder") $(skipped "$folder")
    if [ $status = 0 ]; then
        [ "$1" -gt 0 ] || set -- 1 "${@:2}"
        echo "$name: passed, $1 tests, $took"
        tidy "$folder"
    else
        [ "$2" -gt 0 ] || set -- "$1" 1 "${@:3}"
        echo "$name: FAILED ($2), $took; the end of $log:"
        tail -n 30 "$log"
        show_failures "$folder"
    fi
    count "$@"
}

# aside STEPS: the steps of a function, while the script goes on with others;
# `meet` waits for them and says what they said.
aside() { "$1" >"$ci/aside" & }
meet()
{
    wait
    cat "$ci/aside"
}

# build NAME GOAL CONFIGURE-ARGUMENTS...: configure in $ci/NAME and make GOAL,
# under the command `under` if there is one; of all tests, or of `tests`.  With
# `first` this command compiles some of it before all else, as it likes.
under=
tests=
first=
build()
(
    mkdir -p "$ci/$1" && cd "$ci/$1" &&
        ../../../configure --quiet "${@:3}" &&
        { [ -z "$first" ] || $first; } &&
        $under make -j2 --no-print-directory "$2" ${tests:+"TESTS=$tests"}
)

# address [GOAL], thread [GOAL CONFIGURE-ARGUMENTS..]: make that goal of .ci/run, or
# without one the whole suite.  A sanitizer's report needs the numbers of lines
# alone (-g1), which make objects half as large.  At -O1 kernels compile in a third
# of the time; not under ThreadSanitizer, where the language model then takes six
# times as long: there gcc compiles them without -fgcse, in three quarters of it.
#
# With a goal, kernels come from the cache, without a sanitizer: the tests fence what
# they read and write.  Kernels of the level in use may read what another thread
# writes, so ThreadSanitizer is compiled into these.
address()
{
    local first=''
    [ $# = 0 ] || first=kernels
    build address "${1:-check-memory-whole}" --disable-static \
        --enable-sanitizer=address,undefined CFLAGS='-O1 -g1'
}
thread()
{
    local under='' first=''
    [ $# = 0 ] || first=kernels_of_others
    # ThreadSanitizer keeps its shadow where some kernels put programs at random.
    setarch "$(uname -m)" -R true 2>/dev/null && under="setarch $(uname -m) -R"
    build thread "${1:-check-threads-whole}" --disable-static --enable-sanitizer=thread \
        CFLAGS='-O2 -fno-gcse -g1' "${@:2}"
}

# Compile the kernels of all levels with the flags of quickstart; kernels_of_others
# then deletes those that run here, which are compiled anew.
kernels()
{
    make -j2 --no-print-directory CC=cached-cc CFLAGS='-g -O3' \
        SANITIZER_CFLAGS= v2_sanitizer= kernel-levels
}
kernels_of_others()
{
    local own more='' level
    own=$(../../lockstep-info |
        sed -n 's/^  \(x86-64-\)*\([^ ]*\)  *in use, .*/\2/p')
    ! grep -qw avx512_bf16 /proc/cpuinfo || more='v4_bf16 v4_bf16_wide'
    ! grep -qw amx_bf16 /proc/cpuinfo || more="$more v4_amx"
    kernels &&
        for level in $own $more; do
            rm -f "lib/kernel/libkernel_${level}_la-"*.lo
        done
}

# Start anew: only results of this run count.
fresh()
{
    rm -rf "$ci"
    mkdir -p build "$ci"
    results build | xargs -r rm -f
}

# want PACKAGE: install a package named as its command, where this user may, one
# at a time; a step that needs it and has it not skips.
want()
{
    command -v "$1" || [ "$(id -u)" != 0 ] || {
        flock 9
        apt-get -qq install -y --no-install-recommends "$1" ||
            { apt-get -qq update &&
                apt-get -qq install -y --no-install-recommends "$1"; }
    }
} >"$ci/want.log" 2>&1 </dev/null 9>"$ci/want.lock"

# want_python PACKAGE: the same of a Python package, in a virtual environment.
want_python()
{
    command -v "$1" ||
        { python3 -m venv "$ci/python" &&
            "$ci/python/bin/pip" install -q "$1" &&
            PATH=$PATH:$PWD/$ci/python/bin; }
} >"$ci/want.log" 2>&1 </dev/null

# The name of a clang, the first of those that systems have, and its version.
find_clang()
{
    local name
    for name in ${CLANG:-clang} clang-{22..14}; do
        command -v "$name" && return
    done
    return 1
}
clang_version() { "$CLANG" -dumpversion | sed 's/\..*//'; }

# What was skipped in one line, the sum, and the exit status.
finish()
{
    awk '{ good += $1; bad += $2
           for (i = 3; i <= NF; i++)
               if (!seen[$i]++) { skipped = skipped comma $i; comma = ", " } }
         END { if (skipped) print "skipped here: " skipped
               print good + 0 " passed, " bad + 0 " failed"
               exit bad > 0 }' "$ci/counts"
}
