#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Short trainings of random models with random options: the state hash is the
same on two workers, with the state shared out, at each instruction level that
the CPU has, with the other backend, and after a resumption.

test/whole/random_models.py [TRAININGS [SEED]], 100 from seed 1 unless told otherwise.
LOCKSTEP_TRAIN is the tool, build/lockstep-train unless told otherwise.  Options
that exclude each other are drawn too: what is refused counts as such.  Prints
each command whose hashes differ, and then "N passed, N failed".  Needs Python 3
alone.
"""
import collections
import functools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(os.environ.get('LOCKSTEP_TRAIN', 'build/lockstep-train'))
STEPS = 4
LEVELS = {'x86_64': ['x86-64-v3', 'x86-64-v4']}


def files(rng, folder):
    """A text and a table."""
    text = folder / 'text'
    text.write_text(''.join(f'{i} green bottles, {i * i}\n' for i in range(300)))
    table = folder / 'table.csv'
    rows = [f'{rng.gauss(0, 1):.4f},{i % 7},{rng.gauss(0, 2):.3f}'
            for i in range(200)]
    table.write_text('\n'.join(['a,b,y'] + rows) + '\n')
    return text, table


def list_of(rng, least, most, longest):
    return ','.join(str(rng.randint(least, most))
                    for _ in range(rng.randint(1, longest)))


def linear(rng, text, table):
    return {'rows': 8 * rng.randint(1, 9), 'd-in': rng.randint(1, 40),
            'd-out': rng.randint(1, 20)}


def mlp(rng, text, table):
    return {'rows': rng.randint(40, 300), 'd-in': rng.randint(1, 120),
            'classes': rng.randint(2, 30), 'hidden': list_of(rng, 1, 200, 4),
            'activation': rng.choice(['relu', 'tanh', 'gelu', 'sigmoid'])}


def cnn(rng, text, table):
    return {'image': 'x'.join(str(rng.randint(4, 20)) for _ in 'hw') +
                     f'x{rng.randint(1, 5)}',
            'channels': list_of(rng, 1, 40, 2), 'classes': rng.randint(2, 12)}


def lm(rng, text, table):
    heads = rng.randint(1, 4)
    return {'rows': rng.randint(40, 80), 'vocab': rng.randint(3, 90),
            'seq-len': rng.randint(2, 40), 'heads': heads,
            'd-model': heads * rng.randint(1, 30),
            'layers': rng.randint(1, 2), 'd-ff': rng.randint(2, 150)}


def gpt(rng, text, table):
    shared = rng.randint(1, 3)
    heads = shared * rng.randint(1, 2)
    o = {'data': text, 'seq-len': rng.randint(2, 40), 'heads': heads,
         'kv-heads': shared, 'd-model': heads * 2 * rng.randint(1, 20),
         'layers': rng.randint(1, 2), 'd-ff': rng.randint(2, 150),
         'norm': rng.choice(['layer', 'rms']),
         'positions': rng.choice(['learned', 'rotary']),
         'ffn': rng.choice(['gelu', 'swiglu'])}
    if rng.random() < .4:
        o['tie'] = None
    return o


def rnn(rng, text, table):
    o = {'cell': rng.choice(['lstm', 'gru']), 'units': rng.randint(1, 90),
         'layers': rng.randint(1, 3)}
    if rng.random() < .5:
        return o | {'data': text, 'seq-len': rng.randint(2, 40),
                    'd-model': rng.randint(1, 50)}
    return o | {'data': table, 'target': 'y', 'window': rng.randint(1, 30),
                'horizon': rng.randint(1, 4)}


@functools.cache
def optimizers():
    """Those that the tool's help names."""
    help = subprocess.run([TOOL, 'mlp', '--help'], text=True, check=True,
                          capture_output=True).stdout
    return re.search(r'--optimizer (\S+)', help)[1].split('|')


def draw(rng, text, table):
    model = rng.choice([linear, mlp, cnn, lm, gpt, rnn])
    o = model(rng, text, table)
    o |= {'devices': rng.choice([1, 2, 3, 4, 5, 8]), 'seed': rng.randint(0, 99),
          'optimizer': rng.choice(optimizers())}
    if model in (linear, lm):
        o['allow-single'] = None
    if model is not linear:
        o |= {'batch': rng.randint(8, 40), 'uneven': 'pad',
              'precision': rng.choice(['f32', 'f32', 'bf16', 'f32x3'])}
    for name, value, share in (
            ('dropout', 0.3, .3 if model in (mlp, cnn, gpt, rnn) else 0),
            ('clip-norm', 0.5, .3), ('accumulate', rng.choice([2, 3]), .2),
            ('ema', 0.9, .3), ('freeze', '*bias', .2)):
        if rng.random() < share:
            o[name] = value
    return [model.__name__] + [word for name, value in o.items()
                               for word in ['--' + name] +
                               ([] if value is None else [str(value)])]


def train(options, level=None):
    """The state hash, or None, and what was said."""
    env = {k: v for k, v in os.environ.items() if k != 'LS_ISA'}
    if level:
        env['LS_ISA'] = level
    ran = subprocess.run([TOOL] + options, env=env, text=True,
                         capture_output=True, stdin=subprocess.DEVNULL)
    state = re.search(r'^state (\w+)$', ran.stdout, re.M)
    return state and state[1], ran


def variants():
    """Other ways to the same bytes, as options and a level, that are there."""
    machine = os.uname().machine
    every = [(['--workers', '2', '--state', 'shard'], level)
             for level in [None] + LEVELS.get(machine, [])]
    every += [(['--backend', 'blis'], None)]
    return [(more, level) for more, level in every
            if train(['linear', '--steps', '1'] + more, level)[0]]


def is_for(more, options):
    """BLIS computes in f32 alone."""
    return 'blis' not in more or not {'bf16', 'f32x3'} & set(options)


def resumed(options, folder):
    """Half of the steps, and the rest by another process."""
    at = ['--checkpoint', str(folder)]
    train(options + at + ['--steps', str(STEPS // 2)])
    return train(options + at + ['--steps', str(STEPS), '--resume'])[0]


def main():
    count, seed = [int(a) for a in sys.argv[1:3]] + [100, 1][len(sys.argv) - 1:]
    rng = random.Random(seed)
    refused = collections.Counter()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, table = files(rng, folder)
        others = variants()
        for i in range(count):
            options = draw(rng, text, table)
            steps = ['--steps', str(STEPS)]
            want, ran = train(options + steps + ['--workers', '1'])
            if want is None and ran.returncode in (1, 2):
                why = ran.stderr.strip().split('\n')[-1]
                refused[re.sub(r'\d+', 'N', why)] += 1
                continue
            got = [train(options + steps + more, level)[0]
                   for more, level in others if is_for(more, options)]
            got += [resumed(options, folder / f'checkpoints{i}')]
            if want is None or set(got) != {want}:
                failed += 1
                print('differs:', *options, *steps, want, *got, flush=True)
            else:
                passed += 1
    for why, n in refused.items():
        print(f'refused {n} times: {why}')
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
