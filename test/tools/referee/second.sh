#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The contract's second implementation, tools/referee/second.py, trains transcripts of
# the library again, to the bit: five that are filed here, which the library still
# writes, and others that are drawn; its step is that of tools/referee/step.txt, and of
# the library's record.  A transcript, a model or a row that is not what was
# trained is refused by name.  Needs python3 with NumPy.  LS_LONG=1 draws more;
# LS_MAKE=1 writes what is filed anew (rows: randn and randint of RandomState(0)).
tool=${LOCKSTEP_TRAIN:-${top_builddir:-.}/lockstep-train}
. "$(dirname "$0")/../../support/shell.sh"

python3 -c 'import numpy' 2>/dev/null ||
    { echo "skipped: there is no python3 with NumPy here"; exit 77; }
second=$top_srcdir/tools/referee/second.py
filed=$top_srcdir/test/golden/second

# agree NAME ARGS..: second.py says "same".
agree() {
    what=$1
    shift
    python3 "$second" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
    if [ $status -eq 0 ] && grep -q '^same: ' "$dir/out"; then
        pass
    else
        fail "$what: second.py ended with $status"
    fi
}

# refuse NAME STATUS TEXT ARGS..: it ends with the status, and says the text.
refuse() {
    what=$1 expected=$2 text=$3
    shift 3
    python3 "$second" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
    if [ $status -eq "$expected" ] &&
        cat "$dir/out" "$dir/err" | grep -qF -e "$text"; then
        pass
    else
        fail "$what: status $status, wanted $expected and \"$text\""
    fi
}

# ------ filed transcripts, and the same written here ------

cp "$filed/x.npy" "$filed/y.npy" "$dir" || exit 99
x="--x $dir/x.npy --y $dir/y.npy"
small="--hidden 5,4 --devices 3 --batch 16 --transcript :every=2"

# options NAME: of a filed run.
options() {
    case $1 in
    linear) echo "linear" ;;
    steps) echo "linear --steps 9 --batch 20 --devices 5 --optimizer nesterov" \
        "--lr 0.03 --clip-norm 0.4 --schedule linear:warmup=3" ;;
    classes) echo "mlp --rows 40 --d-in 6 --classes 3 $small --epochs 2" \
        "--optimizer adam --ema 0.9" ;;
    files) echo "mlp $x $small --epochs 2 --optimizer adamw --dropout 0.25" \
        "--clip-norm 0.5 --schedule cosine:end=1e-4,warmup=2" ;;
    step) echo "mlp --rows 6 --d-in 3 --classes 3 --hidden 4 --devices 2" \
        "--batch 6 --steps 1 --dropout 0.25 --optimizer adamw --lr 0.01" \
        "--clip-norm 0.5 --schedule cosine:decay-steps=9" ;;
    esac
}

# train NAME OPTIONS..: $dir/NAME.lst and its model.
train() {
    name=$1
    shift
    run "$@" --transcript "$dir/$name.lst" --save "$dir/$name.st"
    [ $status -eq 0 ] || fail "$name: training ended with $status"
}

for name in linear steps classes files step; do
    # shellcheck disable=SC2046 # options are words
    train $name $(options $name)
    [ -z "${LS_MAKE-}" ] || cp "$dir/$name.lst" "$filed"
    agree "$name, filed" "$filed/$name.lst"
    agree "$name, made here" "$dir/$name.lst" --model "$dir/$name.st"
    # A later version may have written it, with other words for options, whose
    # hash is in the model: all else is the same.
    own='s/"\(prev\|model\|contents\)":"[^"]*",*//g'
    sed 1d "$filed/$name.lst" | sed "$own" >"$dir/a"
    sed 1d "$dir/$name.lst" | sed "$own" >"$dir/b"
    same "$name: the lines are those that are filed" "$dir/a" "$dir/b"
done

# ------ one step, number by number ------

python3 "$second" "$filed/step.lst" --step 0 2>"$dir/err" |
    grep -v '^same: ' >"$dir/numbers"
[ -z "${LS_MAKE-}" ] || {
    echo "# A step of the contract of bits, version 1, number by number:"
    echo "# lockstep-train" "$(options step)"
    cat "$dir/numbers"
} >"$top_srcdir/tools/referee/step.txt"
grep -v '^#' "$top_srcdir/tools/referee/step.txt" >"$dir/wanted"
same "the numbers of tools/referee/step.txt" "$dir/wanted" "$dir/numbers"
# shellcheck disable=SC2046 # options are words
run $(options step) --record 0 "$dir/step.lsr" --values
agree "the library's record of the step" "$dir/step.lst" \
    --record "$dir/step.lsr"
has "all of it" out "numbers and arrays of step 0"

# ------ drawn ones ------

python3 - "$dir" "$([ "${LS_LONG-}" ] && echo 60 || echo 4)" <<'END'
import random, sys
import numpy as np
folder, runs = sys.argv[1], int(sys.argv[2])
with open(folder + '/drawn', 'w') as out:
    for i in range(runs):
        r = random.Random(i)
        rows, width, classes = r.randint(30, 60), r.randint(1, 20), r.randint(2, 5)
        if i % 4 == 3:
            rows, width = r.randint(600, 700), r.choice([3, 300])
        n = np.random.RandomState(i)
        np.save('%s/x%d.npy' % (folder, i), n.randn(rows, width).astype('f4'))
        y = np.concatenate([np.arange(classes),
                            n.randint(0, classes, rows - classes)])
        np.save('%s/y%d.npy' % (folder, i), y.astype('i4'))
        batch = r.randint(520, 600) if rows > 512 else r.randint(4, 20)
        print('mlp --x %s/x%d.npy --y %s/y%d.npy --hidden %s --devices %d '
              '--batch %d --epochs %d --lr %s --optimizer %s --schedule %s '
              '--schedule :warmup=%d --clip-norm %s --dropout %s --ema %s --seed %d '
              '--data-seed %d --transcript :every=1 %s' % (
                  folder, i, folder, i,
                  ','.join(str(r.randint(2, 12))
                           for _ in range(r.randint(1, 3))),
                  r.randint(1, min(6, batch)), batch, r.randint(1, 2),
                  r.choice(['.01', '.003', '.1']),
                  r.choice(['sgd', 'momentum', 'nesterov', 'adam', 'adamw']),
                  r.choice(['constant', 'linear', 'cosine']), r.randint(0, 1),
                  r.choice(['0', '.5', '1']), r.choice(['0', '.25', '.5']),
                  r.choice(['0', '.9', '.99']), r.randint(0, 2**40),
                  r.randint(0, 99), r.choice(['--shuffle', '--no-shuffle'])),
              file=out)
END
while read -r line; do
    # shellcheck disable=SC2086 # options are words
    train drawn $line
    agree "$line" "$dir/drawn.lst" --model "$dir/drawn.st"
done <"$dir/drawn"

# ------ what was not trained ------

# forge NAME FIELD LINE: change a digit of a field, and chain what follows anew.
forge() {
    python3 - "$dir/$1.lst" "$2" "$3" >"$dir/forged.lst" <<'END'
import hashlib, json, sys
prev = '0' * 64
for i, text in enumerate(open(sys.argv[1])):
    line = json.loads(text)
    if i == int(sys.argv[3]):
        old = line[sys.argv[2]]
        line[sys.argv[2]] = old + 1 if isinstance(old, int) else \
            ('1' if old[0] != '1' else '2') + old[1:]
    line['prev'] = prev
    text = json.dumps(line, sort_keys=True, separators=(',', ':')) + '\n'
    prev = hashlib.sha256(text.encode()).hexdigest()
    sys.stdout.write(text)
END
}

for field in source sum layout; do
    forge files $field 0
    refuse "head: $field" 5 "$field is" "$dir/forged.lst"
done
forge files root 1
refuse "the first state" 5 "root is" "$dir/forged.lst"
forge files root 2
refuse "steps" 5 "root is" "$dir/forged.lst"
end=$(($(wc -l <"$dir/files.lst") - 1))
for field in root state n lines; do
    forge files $field $end
    refuse "end: $field" 5 "$field is" "$dir/forged.lst"
done
for field in model contents; do
    forge files $field $end
    refuse "end: $field" 5 "$field is" "$dir/forged.lst" --model "$dir/files.st"
done
refuse "another run's model" 5 "model is" "$dir/files.lst" \
    --model "$dir/classes.st"
sed 2q "$dir/files.lst" >"$dir/cut.lst"
refuse "a cut transcript" 1 "has no end" "$dir/cut.lst"
sed '3s/"last":./"last":9/' "$dir/files.lst" >"$dir/unchained.lst"
refuse "a line changed" 1 "chain" "$dir/unchained.lst"
rm "$dir/x.npy"
refuse "other data" 1 "has no file of SHA-256" "$dir/files.lst"
train other mlp --rows 20 --batch 20 --epochs 1 --activation tanh
refuse "what it does not know" 1 'activation "tanh"' "$dir/other.lst"

finish
