#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A second implementation of the contract of bits, in NumPy.

    second.py RUN.lst [--data FOLDER] [--model FILE] [--step N] [--record F.lsr]

reads a transcript of `lockstep-train linear` or `mlp`, trains again by
docs/contract.md and docs/transcript.md alone, and compares every line; with
--model the file's weights, graph and digests, with --record every number of a
step's record.  --step prints all numbers of a step.  It shares no line with
the library.  What it does not know (other optimizers, say) it refuses by name.
Exit status: 0 the same, 1 it could not be done, 2 wrong usage, 5 it differs.
"""
import argparse
import hashlib
import json
import os
import struct
import sys
from fractions import Fraction

import numpy as np

F, D = np.float32, np.float64
LEAST = F(2.0 ** -126)
HEX = float.fromhex


class Refused(Exception):
    """What this program does not know, or a file that is not as it must be."""


class Differs(Exception):
    """The transcript says something else than training again."""


# ------ Numbers: binary32, ties to even, denormals are zeros ------

def flush(x):
    x = np.asarray(x, F)
    return np.where(np.abs(x) < LEAST, np.copysign(F(0), x), x)


def rounded(x):
    """A double, whose last bit may be sticky, to float."""
    with np.errstate(all='ignore'):
        return flush(np.asarray(x, D).astype(F))


def fma(a, b, c):
    """a b + c with one rounding: the product of two floats is exact in double,
    and their sum is rounded to odd before it is rounded to float."""
    a, b, c = (np.asarray(flush(v), D) for v in (a, b, c))
    with np.errstate(all='ignore'):
        p = a * b
        s = np.asarray(p + c)
        t = s - p
        error = (p - (s - t)) + (c - t)
    bits = s.view(np.int64)
    odd = np.isfinite(s) & (error != 0) & (bits & 1 == 0)
    away = np.where((error > 0) == (s > 0), 1, -1)
    return rounded(np.where(odd, bits + away, bits).view(D))


def add(a, b): return rounded(D(flush(a)) + D(flush(b)))
def sub(a, b): return rounded(D(flush(a)) - D(flush(b)))
def mul(a, b): return rounded(D(flush(a)) * D(flush(b)))
def sqrt(a): return rounded(np.sqrt(D(flush(a))))


def div(a, b):
    with np.errstate(all='ignore'):
        return rounded(D(flush(a)) / D(flush(b)))


# ------ Sums ------

def product(a, b, c=None):
    """Chunks of 256 along K, each a chain from +0, added in order to c."""
    for k0 in range(0, a.shape[1], 256):
        s = np.zeros((a.shape[0], b.shape[1]), F)
        for k in range(k0, min(k0 + 256, a.shape[1])):
            s = fma(a[:, k:k + 1], b[k:k + 1, :], s)
        c = s if c is None else add(c, s)
    return add(c, F(0))


def column(a, c=None):
    for r0 in range(0, len(a), 256):
        s = np.zeros(a.shape[1:], F)
        for row in a[r0:r0 + 256]:
            s = add(s, row)
        c = s if c is None else add(c, s)
    return c


def row_sum(a, squares=False):
    """16 lanes, then 8, 4, 2, 1 apart; blocks of 4096 added in order.  A square
    goes into its lane by fma."""
    total = np.zeros(a.shape[:-1], F)
    for j0 in range(0, a.shape[-1], 4096):
        lane = np.zeros(a.shape[:-1] + (16,), F)
        for j in range(j0, min(j0 + 4096, a.shape[-1]), 16):
            part = a[..., j:min(j + 16, j0 + 4096)]
            into = lane[..., :part.shape[-1]]
            into[...] = fma(part, part, into) if squares else add(into, part)
        for n in (8, 4, 2, 1):
            lane = add(lane[..., :n], lane[..., n:2 * n])
        total = add(total, lane[..., 0])
    return total


def tree(x, plus):
    x, s = list(x), 1
    while s < len(x):
        for i in range(0, len(x) - s, 2 * s):
            x[i] = plus(x[i], x[i + s])
        s *= 2
    return x[0]


# ------ Functions ------

def horner(x, *c):
    p = np.full_like(x, F(HEX(c[0])))
    for v in c[1:]:
        p = fma(p, x, F(HEX(v)))
    return p


def least(a, b): return np.where(a < b, a, b).astype(F)
def most(a, b): return np.where(b < a, a, b).astype(F)


def clamp(x, low, high):
    return least(F(high), most(F(low), x))


def exp(x):
    x = clamp(x, -87.8, 88.8)
    n = clamp(np.floor(fma(x, F(HEX('0x1.715476p+0')), F(.5))), -127, 127)
    r = fma(-n, F(HEX('0x1.63p-1')), x)
    r = fma(-n, F(HEX('-0x1.bd0106p-13')), r)
    y = horner(r, '0x1.a0d2cep-13', '0x1.6e879cp-10', '0x1.11121p-7',
               '0x1.555382p-5', '0x1.555554p-3', '0x1p-1')
    power = ((n.astype(np.int32) + 127) << 23).view(F)
    return mul(add(fma(y, mul(r, r), r), F(1)), power)


def log(x):
    bits = x.view(np.int32)
    e = ((bits >> 23) - 127).astype(F)
    m = ((bits & np.int32(-0x7f800001)) | 0x3f000000).view(F)
    low = m < F(HEX('0x1.6a09e6p-1'))
    e = sub(add(e, F(1)), np.where(low, F(1), F(0)))
    t = add(sub(m, F(1)), np.where(low, m, F(0)))
    z = mul(t, t)
    c = mul(z, t)
    p = fma(horner(t, '0x1.204376p-4', '-0x1.d7a37p-4', '0x1.de4a34p-4'), c,
            horner(t, '-0x1.fcba9ep-4', '0x1.23d37ep-3', '-0x1.555cap-3'))
    p = fma(p, c, horner(t, '0x1.999d58p-3', '-0x1.fffff8p-3',
                         '0x1.555554p-2'))
    q = fma(c, p, mul(e, F(HEX('-0x1.bd0106p-13'))))
    return fma(e, F(HEX('0x1.63p-1')), add(fma(F(-.5), z, t), q))


def log1p(x):
    x2 = mul(x, x)
    top = horner(x, '0x1.7bc096p-15', '0x1.fe818ap-2', '0x1.a509f4p+2',
                 '0x1.de9738p+4', '0x1.e798ecp+5', '0x1.c8e75ap+5',
                 '0x1.40a202p+4')
    low = horner(x, '0x1p+0', '0x1.e2035ap+3', '0x1.4c30b6p+6',
                 '0x1.bb865ap+7', '0x1.351946p+8', '0x1.b0db14p+7',
                 '0x1.e0f304p+5')
    near = add(x, fma(F(-.5), x2, mul(mul(x, x2), div(top, low))))
    far = log(most(F(1e-30), add(x, F(1))))
    return np.where(np.abs(x) < F(HEX('0x1.a8279ap-2')), near, far)


def erf_inverse(x):
    w = -log1p(mul(x, -x))
    near = horner(sub(w, F(2.5)), '0x1.e2cb1p-26', '0x1.70966cp-22',
                  '-0x1.d8e6aep-19', '-0x1.26b582p-18', '0x1.ca65b6p-13',
                  '-0x1.48a81p-10', '-0x1.11c9dep-8', '0x1.f91ec6p-3',
                  '0x1.805c5ep+0')
    far = horner(sub(sqrt(np.abs(w)), F(3)), '-0x1.a3e136p-13',
                 '0x1.a76ad6p-14', '0x1.61b8e4p-10', '-0x1.e17bcep-9',
                 '0x1.7824f6p-8', '-0x1.f38baep-8', '0x1.354afcp-7',
                 '0x1.006db6p+0', '0x1.6a9efcp+1')
    return mul(np.where(w < F(5), near, far), x)


def cosine(x):
    """Of a float from 0 to pi, in double, rounded once."""
    if x < F(2.0 ** -12):
        return F(1)
    r, n = D(x), 0
    if not x < F(HEX('0x1.92p-1')):
        n = int((int(r * HEX('0x1.45f306dc9c883p+23')) + 0x800000) / 0x1000000)
        r = r - D(n) * HEX('0x1.921fb544p0')
        r = r - D(n) * HEX('0x1.0b46p-34')
    x2 = r * r
    if (n + 1) & 1:
        x4 = x2 * x2
        high = HEX('-0x1.6c087e89a359dp-10') + x2 * HEX('0x1.99343027bf8c3p-16')
        low = (1.0 + x2 * HEX('-0x1.ffffffd0c621cp-2')) + \
            (x2 * x2) * HEX('0x1.55553e1068f19p-5')
        y = low + (x4 * x2) * high
    else:
        x3 = r * x2
        high = HEX('0x1.1107605230bc4p-7') + x2 * HEX('-0x1.994eb3774cf24p-13')
        y = (r + x3 * HEX('-0x1.555545995a603p-3')) + (x3 * x2) * high
    return F(-y if (n + 1) & 2 else y)


def power(b, n):
    """b^n of a float, in pairs of doubles: exact enough to be rounded right."""
    return F(float(Fraction(float(b)) ** n))


# ------ Random numbers ------

def threefry(key, x0, x1):
    x0, x1 = (np.asarray(x, np.uint32) for x in (x0, x1))
    k = [int(key[0]), int(key[1])]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    with np.errstate(all='ignore'):
        x0, x1 = x0 + np.uint32(k[0]), x1 + np.uint32(k[1])
        for i in range(5):
            for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
                x0 = x0 + x1
                x1 = (x1 << np.uint32(r) | x1 >> np.uint32(32 - r)) ^ x0
            x0 = x0 + np.uint32(k[(i + 1) % 3])
            x1 = x1 + np.uint32((k[(i + 2) % 3] + i + 1) & 0xffffffff)
    return x0, x1


def fold_in(key, n):
    a, b = threefry(key, [0], [n & 0xffffffff])
    return int(a[0]), int(b[0])


def bits(key, n, first=0):
    i = np.arange(first, first + n, dtype=np.uint64)
    a, b = threefry(key, i >> np.uint64(32), i & np.uint64(0xffffffff))
    return a ^ b


def key_of(seed):
    return 0, seed & 0xffffffff


def unit(words):
    """Uniform in [0,1)."""
    return sub((words >> np.uint32(9) | np.uint32(0x3f800000)).view(F), F(1))


def kernel(key, shape):
    """lecun-truncated: a normal cut at 2 deviations, of variance 1 / fan."""
    edge = F(HEX('0x1.e8b43p-1'))
    u = most(-edge, fma(unit(bits(key, shape[0] * shape[1])), edge + edge,
                        -edge))
    x = clamp(mul(F(HEX('0x1.6a09e6p+0')), erf_inverse(u)),
              -HEX('0x1.fffffep+0'), HEX('0x1.fffffep+0'))
    by = div(sqrt(F(1.0 / shape[0])), F(HEX('0x1.c25e4cp-1')))
    return mul(x, by).reshape(shape)


def permutation(key, n):
    order = np.arange(n)
    for _ in range((n > 1) + (n > 1625) + (n > 2642245)):
        words = bits(fold_in(key, 1), n)
        order = order[np.argsort(words, kind='stable')]
        key = fold_in(key, 0)
    return order


# ------ Hashes ------

def sha(*parts):
    return hashlib.sha256(b''.join(parts)).digest()


def number(n):
    return struct.pack('<q', n)


def text(s):
    return s.encode() + b'\0'


def merkle(words):
    """RFC 6962's shape over leaves of 4096 words, the tag behind."""
    raw = words.astype('<u4').tobytes()
    row = [sha(raw[i:i + 16384], b'\0') for i in range(0, len(raw), 16384)]
    while len(row) > 1:
        pairs = [sha(row[i], row[i + 1], b'\1')
                 for i in range(0, len(row) - 1, 2)]
        row = pairs + row[len(row) & ~1:]
    return row[0]


def canonical(x):
    """The words of floats, without payloads and denormals."""
    return np.where(np.isnan(x), np.uint32(0x7fc00000),
                    flush(x).view(np.uint32))


def in_order(names):
    return sorted(names, key=lambda n: [p.encode() for p in n.split('.')])


def flat(arrays):
    """The flat layout: each padded to 16 floats."""
    parts = []
    for name in in_order(arrays):
        a = arrays[name].ravel()
        parts += [a, np.zeros(-len(a) % 16, F)]
    return np.concatenate(parts)


def shape_words(a):
    return number(a.ndim) + b''.join(number(n) for n in a.shape)


def layout_hash(arrays):
    out, at = b'', 0
    for name in in_order(arrays):
        a = arrays[name]
        out += text(name) + shape_words(a) + number(at)
        at += a.size + -a.size % 16
    return sha(out, number(at)).hex()


def mixed(total, words):
    """The head's `sum`: no protection, tells other data from this."""
    words = words.astype(np.uint64).ravel()
    if len(words) % 2: # the last word stands over the pair before it
        words = np.append(words, words[-2] if len(words) > 1 else 0)
    for low, high in words.reshape(-1, 2).tolist():
        total = (total ^ (low | high << 32)) * 0x9e3779b97f4a7c15 & 2**64 - 1
        total ^= total >> 32
    return total


def data_sum(arrays):
    total = 0
    for first in range(0, len(arrays[0]), 64):
        for a in arrays:
            total = mixed(total, a[first:first + 64].view(np.uint32))
    return '%016x' % total


# ------ What a run is ------

# What this program knows; other options of the command line are refused.
KNOWN = {'x', 'y', 'rows', 'd-in', 'd-out', 'classes', 'hidden', 'activation',
         'dropout', 'batch', 'steps', 'epochs', 'shuffle', 'no-shuffle', 'lr',
         'optimizer', 'optimizer:momentum', 'optimizer:b1', 'optimizer:b2',
         'optimizer:eps', 'optimizer:weight-decay', 'schedule',
         'schedule:warmup', 'schedule:decay-steps', 'schedule:end',
         'clip-norm', 'ema', 'seed', 'data-seed', 'devices',
         'transcript:every',
         # Parts of words that were options once:
         'momentum', 'b1', 'b2', 'eps', 'weight-decay', 'warmup',
         'decay-steps', 'end-lr', 'transcript-every'}
OWN = {'linear': {'rows': 64, 'd-in': 8, 'd-out': 4, 'steps': 1},
       'mlp': {'rows': 4096, 'd-in': 64, 'classes': 10, 'hidden': '512,512',
               'batch': 128, 'epochs': 10}}
MOMENTS = {'sgd': [], 'momentum': ['trace'], 'nesterov': ['trace'],
           'adam': ['mu', 'nu'], 'adamw': ['mu', 'nu']}


def named(name, value):
    """What an option of the head says: itself, and parts of its value."""
    bare = name.removeprefix('file ').removeprefix('--')
    if bare not in ('optimizer', 'schedule', 'transcript'):
        return [bare]
    word, _, parts = value.partition(':')
    return ([bare] if word else []) + [
        bare + ':' + part.partition('=')[0] for part in parts.split(',')
        if parts]


class Run:
    """What the head says, with the defaults of its program's version."""

    def __init__(self, head):
        program = head['program'].split()
        if program[:-1] != ['lockstep-train'] or program[-1] not in OWN:
            raise Refused('program "%s"' % head['program'])
        self.head, self.model, self.said = head, program[-1], head['options']
        for name, value in self.said.items():
            if '--' in name and not KNOWN.issuperset(named(name, value)):
                raise Refused('option "%s %s"' % (name, value))
        for name, only in (('accumulate', '1'), ('precision', 'f32'),
                           ('mean', 'exact'), ('groups', '0'), ('keys', 'nnx'),
                           ('dropout_key', 'of the seed')):
            if self.said.get(name, only) != only:
                raise Refused('%s %s' % (name, self.said[name]))
        if self.said['optimizer'] not in MOMENTS:
            raise Refused('optimizer "%s"' % self.said['optimizer'])
        if self.option('activation', 'relu') != 'relu':
            raise Refused('activation "%s"' % self.option('activation', ''))
        self.of_files = 'file --x' in self.said

    def option(self, name, default=None):
        own = OWN[self.model].get(name, default)
        return self.said.get('--' + name, own)

    def whole(self, name, default=None):
        return int(self.option(name, default))

    def real(self, name):
        """An option of the trainer, a double."""
        return float(self.said.get(name, 0))


def find(folder, entry):
    """The file of an entry of the manifest, whatever it is called."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.path.getsize(path) == entry['bytes']:
            with open(path, 'rb') as f:
                if hashlib.sha256(f.read()).hexdigest() == entry['sha256']:
                    return path
    raise Refused('%s has no file of SHA-256 %s (%s)'
                  % (folder, entry['sha256'], entry['name']))


def read_data(run, folder):
    """[x, y]: rows of floats, and of floats or labels."""
    if run.of_files:
        of = {e['role']: find(folder, e) for e in run.head['data']}
        if set(of) != {'--x', '--y'}:
            raise Refused('files for %s' % ', '.join(sorted(of)))
        x, y = (np.load(of[role]) for role in ('--x', '--y'))
        labels = run.model == 'mlp' and y.dtype.kind in 'iu'
        return [flush(x), y.astype(np.int32) if labels
                else flush(y.reshape(len(y), -1))]
    random = np.random.RandomState(run.whole('data-seed', 7))
    rows, width = run.whole('rows'), run.whole('d-in')
    if run.model == 'linear':
        x = random.randn(rows, width).astype(F)
        return [x, random.randn(rows, run.whole('d-out')).astype(F)]
    centre = random.randn(run.whole('classes'), width).astype(F)
    y = random.randint(0, run.whole('classes'), rows, np.int32)
    noise = random.randn(rows, width).astype(F)
    return [add(centre[y], mul(F(3), noise)), y]


def source_root(arrays):
    """Of all rows, one after the other."""
    words = [(canonical(a) if a.dtype == F else a.view(np.uint32))
             .reshape(len(a), -1) for a in arrays]
    return merkle(np.concatenate(words, 1).ravel()).hex()


# ------ Training ------

class Training:
    def __init__(self, run, x, y):
        self.run, self.x, self.y = run, x, y
        self.classes = run.model == 'mlp'
        wide = y.shape[1] if not self.classes else int(y.max()) + 1 \
            if run.of_files and '--classes' not in run.said \
            else run.whole('classes')
        hidden = run.option('hidden') if self.classes else None
        self.sizes = [x.shape[1], *map(int, hidden.split(',')), wide] \
            if hidden else [x.shape[1], wide]
        self.noted = None # where numbers of a step are written down, if they are
        self.batch = run.whole('batch', len(x))
        self.batches = len(x) // self.batch # those that are full
        self.steps = run.whole('steps') if '--steps' in run.said \
            else run.whole('epochs') * self.batches if run.option('epochs') \
            else run.whole('steps')
        self.drop = float(run.option('dropout', 0))
        self.ema = float(run.option('ema', 0))
        self.updates = 0
        self.epoch = [0.0, 0.0, 0.0] # loss, right, weight
        self.first_values()

    def note(self, label, x):
        """A number or an array of the step, with a record's words for it."""
        if self.noted is not None:
            x = np.asarray(x)
            self.noted[label] = [hex64(v) for v in x.ravel()] \
                if x.dtype == D else ['%08x' % v for v in (
                    canonical(x) if x.dtype == F else x.view(np.uint32)
                ).ravel()]

    def note_state(self, phase):
        for name, of in self.arrays():
            self.note('%s %s' % (phase, name or 'parameters'), flat(of))

    def name(self, i, part):
        return part if self.run.model == 'linear' else \
            'layers.%d.%s' % (i, part)

    def first_values(self):
        """nnx: kernel and bias draw a key each, a dropout one behind its
        layer."""
        key, count = key_of(self.run.whole('seed', 0)), 0
        self.weights, self.keys = {}, {}
        for i in range(len(self.sizes) - 1):
            shape = tuple(self.sizes[i:i + 2])
            self.weights[self.name(i, 'kernel')] = kernel(fold_in(key, count),
                                                          shape)
            self.weights[self.name(i, 'bias')] = np.zeros(shape[1], F)
            count += 2
            if self.drop and i + 2 < len(self.sizes):
                self.keys[i] = fold_in(key, count)
                count += 1
        zeros = {n: np.zeros_like(w) for n, w in self.weights.items()}
        self.moments = {m: dict(zeros)
                        for m in MOMENTS[self.run.said['optimizer']]}
        self.average = dict(self.weights)

    def rows_of(self, step):
        epoch, at = divmod(step, self.batches)
        order = np.arange(len(self.x))
        if self.run.option('shuffle', '') == 'true' or (
                self.run.of_files and self.run.model == 'mlp' and
                '--no-shuffle' not in self.run.said):
            key = key_of(self.run.whole('data-seed', 7))
            order = permutation(fold_in(key, epoch), len(self.x))
        return order[at * self.batch:(at + 1) * self.batch]

    # ------ One device ------

    def at(self, label, i):
        """The label of a number of layer i: with device and chunk before it."""
        return '%s %s' % (self.place, label % i)

    def forward(self, x, step, first):
        """The values of all layers; `first` row of the batch."""
        self.z, self.masks, value = [], {}, [x]
        for i in range(len(self.sizes) - 1):
            z = add(product(value[-1], self.weights[self.name(i, 'kernel')]),
                    self.weights[self.name(i, 'bias')])
            self.z.append(z)
            self.note(self.at('forward dense %d y', i), z)
            if i + 2 == len(self.sizes):
                break
            a = add(most(F(0), z), F(0))
            self.note(self.at('forward relu %d y', i), a)
            if self.drop:
                keep = F(1 - self.drop)
                words = bits(fold_in(self.keys[i], step), z.size,
                             first * z.shape[1])
                self.masks[i] = unit(words).reshape(z.shape) < keep
                a = np.where(self.masks[i], mul(a, div(F(1), keep)), F(0))
                self.note(self.at('forward dropout %d y', i), a)
            value.append(a)
        return value

    def loss(self, y):
        """Losses of rows, the gradient of the last value, how many are right,
        and the weight."""
        z = self.z[-1]
        if not self.classes:
            d = sub(z, y)
            return row_sum(d, squares=True), mul(F(2), d), np.nan, y.size
        top = z.max(1, keepdims=True)
        e = exp(sub(z, top))
        total = row_sum(e)
        p = mul(e, div(F(1), total)[:, None])
        at = np.arange(len(y)), y
        terms = sub(log(total), sub(z[at], top[:, 0]))
        p[at] = sub(p[at], F(1))
        return terms, p, (z.argmax(1) == y).sum(), len(y)

    def backward(self, value, dz, sums):
        for i in reversed(range(len(self.sizes) - 1)):
            for part, now in (('kernel', product(value[i].T, dz, sums.get(
                    self.name(i, 'kernel')))),
                              ('bias', column(dz, sums.get(
                                  self.name(i, 'bias'))))):
                sums[self.name(i, part)] = now
                self.note(self.at('backward dense %d d' + part, i), now)
            if not i:
                break
            dz = product(dz, self.weights[self.name(i, 'kernel')].T)
            self.note(self.at('backward dense %d dx', i), dz)
            if self.drop:
                scale = div(F(1), F(1 - self.drop))
                dz = np.where(self.masks[i - 1], mul(dz, scale), F(0))
                self.note(self.at('backward dropout %d dx', i - 1), dz)
            dz = np.where(self.z[i - 1] > 0, dz, F(0))
            self.note(self.at('backward relu %d dx', i - 1), dz)

    def device(self, device, rows, step, first):
        """Gradients, loss, how many are right, and weight of its rows."""
        sums, loss, right, weight = {}, 0.0, 0.0, 0.0
        chunk = self.run.head['plan']
        for name, of in (('x', self.x), ('y', self.y)):
            self.note('%d rows %s' % (device, name), of[rows])
        for c in range(0, len(rows), chunk):
            part, self.place = rows[c:c + chunk], '%d %d' % (device, c)
            value = self.forward(self.x[part], step, first + c)
            terms, dz, good, n = self.loss(self.y[part])
            self.note(self.place + ' backward loss terms', terms)
            self.note(self.place + ' backward loss dx', dz)
            for term in terms:
                loss += float(term)
            right, weight = right + float(good), weight + n
            self.backward(value, dz, sums)
        for name, w in self.weights.items():
            sums.setdefault(name, np.zeros_like(w))
        self.note('%d gradient' % device, flat(sums))
        self.note('%d loss' % device, D(loss))
        self.note('%d weight' % device, D(weight))
        return sums, loss, right, weight

    # ------ One step ------

    def rate(self, done):
        run = self.run
        peak, end = run.real('lr'), run.real('end_lr')
        warmup = int(run.said.get('warmup', 0))
        steps = int(run.said.get('decay_steps', self.steps)) - warmup

        def line(a, b, i, n):
            x = div(F(min(i, n)), F(n))
            return add(mul(F(a - b), sub(F(1), x)), F(b))
        if done < warmup:
            return line(0., peak, done, warmup)
        if run.said['schedule'] == 'constant':
            return F(peak)
        if run.said['schedule'] == 'linear':
            return line(peak, end, done - warmup, steps)
        if run.said['schedule'] != 'cosine':
            raise Refused('schedule "%s"' % run.said['schedule'])
        alpha = end / peak if peak > 0 else 0.
        turn = div(mul(F(HEX('0x1.921fb6p+1')), F(min(done - warmup, steps))),
                   F(steps))
        wave = mul(F(.5), add(F(1), cosine(turn)))
        return mul(F(peak), add(mul(F(1 - alpha), wave), F(alpha)))

    def update(self, name, g, rate, r1, r2):
        run, kind, w = self.run, self.run.said['optimizer'], self.weights[name]
        if 'trace' in self.moments:
            by = F(run.real('momentum'))
            g0, trace = g, self.moments['trace']
            g = trace[name] = fma(by, trace[name], g)
            if kind == 'nesterov':
                g = fma(by, g, g0)
        if 'mu' in self.moments:
            b1, b2 = run.real('b1'), run.real('b2')
            mu, nu = self.moments['mu'], self.moments['nu']
            mu[name] = fma(F(1 - b1), g, mul(F(b1), mu[name]))
            nu[name] = fma(F(1 - b2), mul(g, g), mul(F(b2), nu[name]))
            g = div(mul(mu[name], r1),
                    add(sqrt(mul(nu[name], r2)), F(run.real('eps'))))
            if kind == 'adamw':
                g = fma(F(run.real('weight_decay')), w, g)
        self.weights[name] = fma(-rate, g, w)

    def correction(self, b):
        return div(F(1), sub(F(1), power(F(b), self.updates + 1))) \
            if F(b) > 0 else F(1)

    def step(self):
        """One step: the six numbers of its record."""
        step, rows = self.updates, self.rows_of(self.updates)
        n = int(self.run.head['devices'])
        each = -(-len(rows) // n)
        self.note_state('before')
        for name, all_ in (('x', self.x), ('y', self.y)):
            self.note('batch ' + name, all_[rows])
        of = [self.device(d, rows[i:i + each], step, i)
              for d, i in ((d, min(d * each, len(rows))) for d in range(n))]
        plus = (lambda a, b: a + b)
        loss, right, weight = (tree([d[k] for d in of], plus)
                               for k in (1, 2, 3))
        factor = div(F(1), F(weight))
        g = {name: mul(tree([d[0][name] for d in of], add), factor)
             for name in self.weights}
        self.note('factor', factor)
        self.note('mean', flat(g))
        norm, clip = F(np.nan), self.run.real('clip_norm')
        if clip:
            row = flat(g)
            norm = F(np.sqrt(sum(D(row_sum(row[i:i + 4096], squares=True))
                                 for i in range(0, len(row), 4096))))
            if not norm < F(clip):
                g = {k: mul(mul(v, div(F(1), norm)), F(clip))
                     for k, v in g.items()}
        rate, mean = self.rate(step), F(loss / weight)
        r1, r2 = (self.correction(self.run.real(b)) for b in ('b1', 'b2'))
        for label, x in (('norm', norm), ('-lr', F(-rate)), ('r1', r1),
                         ('r2', r2)):
            self.note(label, x)
        for name in self.weights:
            self.update(name, g[name], rate, r1, r2)
            if self.ema:
                self.average[name] = fma(F(1 - self.ema), self.weights[name],
                                         mul(F(self.ema), self.average[name]))
        self.note_state('after')
        self.updates += 1
        self.count(float(mean), float(F(right / weight)), weight)
        return rate, mean, weight, norm

    def count(self, loss, right, weight):
        """What of an epoch stands among the controls: each step's mean, a
        float, times its weight, added in double."""
        if self.run.model != 'mlp':
            return
        self.epoch = [a + weight * b
                      for a, b in zip(self.epoch, (loss, right, 1.0))]
        if self.updates % self.batches == 0:
            self.epoch = [0.0, 0.0, 0.0]

    # ------ What is hashed ------

    def arrays(self):
        all_ = [('', self.weights), *self.moments.items()]
        return all_ + [('average', self.average)] if self.ema else all_

    def root(self):
        def double(x):
            return struct.pack('<d', x) if x == x else \
                struct.pack('<Q', 0x7ff8000000000000)
        zero = number(0)
        epochs = self.updates // self.batches if self.run.model == 'mlp' else 0
        controls = [
            ('lr', double(self.run.real('lr'))),
            ('cursor', number(self.updates)), ('epoch', number(epochs)),
            *zip(('epoch loss', 'epoch right', 'epoch weight'),
                 map(double, self.epoch)),
            *((name, zero) for name in (
                'evaluations', 'best accuracy', 'best step', 'last accuracy',
                'evaluations since the best', 'judged by loss',
                'plateau: evaluations', 'plateau: since the best',
                'plateau: rest', 'plateau: best')),
            ('plateau: scale', double(1.0))]
        out = text('lockstep state 1') + number(self.updates) * 2
        out += number(len(self.arrays()))
        for name, of in self.arrays():
            words = canonical(flat(of))
            out += text(name) + number(len(words)) + merkle(words)
        out += number(len(controls))
        for name, value in controls:
            out += text(name) + value
        return sha(out, b'\2').hex()

    def kept(self):
        """The weights that a model file has."""
        return self.average if self.ema else self.weights

    def state(self):
        """The state hash that runs print."""
        out = b''
        for name, of in self.arrays():
            for path in in_order(of):
                a = of[path]
                out += text(name + '.' * bool(name) + path) + shape_words(a)
                out += a.astype('<f4').tobytes()
        return sha(out, number(self.updates)).hex()


# ------ The transcript ------

def hex32(x):
    return '%08x' % canonical(np.asarray(x, F)).item()


def hex64(x):
    return '7ff8000000000000' if x != x else '%016x' % np.array(x, D).view(
        np.uint64).item()


def read_lines(path):
    """The lines of a chain; each canonical, with the hash of the one before."""
    lines, prev = [], '0' * 64
    with open(path, 'rb') as f:
        for raw in f:
            line = json.loads(raw)
            again = json.dumps(line, sort_keys=True, separators=(',', ':'),
                               ensure_ascii=False) + '\n'
            if again.encode() != raw or line.get('prev') != prev:
                raise Refused('line %d is not canonical, or not the next of '
                              'the chain' % (len(lines) + 1))
            lines.append(line)
            prev = sha(raw).hex()
    if not lines or [i for i, line in enumerate(lines)
                     if (line['kind'] == 'head') != (i == 0)]:
        raise Refused('%s: a line "head" stands first and nowhere else'
                      % path)
    return lines


def same(line, **here):
    """Does a line have these fields with these values?"""
    for name, value in here.items():
        if line.get(name) != value:
            raise Differs('%s (%s): %s is %s in the file, %s here'
                          % (line['kind'], line.get('n', 'head'), name,
                             line.get(name), value))


def records(rows):
    """The root of short steps: of each the words that are others than
    before."""
    out, before = b'', [0] * 6
    for lr, loss, weight, norm in rows:
        low, high = struct.unpack('<II', struct.pack('<d', weight))
        words = [int(hex32(lr), 16), int(hex32(loss), 16), low, high,
                 int(hex32(norm), 16), 1]
        new = [i for i in range(6) if words[i] != before[i]]
        out += struct.pack('<%dI' % (1 + len(new)), sum(1 << i for i in new),
                           *(words[i] for i in new))
        before = words
    return sha(out).hex()


class Replay:
    """Training again, line by line."""

    def __init__(self, lines, folder, wanted):
        self.wanted, self.numbers = wanted, {}
        self.head, self.lines = lines[0], lines
        self.run = Run(self.head)
        data = read_data(self.run, folder)
        self.training = Training(self.run, *data)
        same(self.head, version=VERSION, bits=1, micro=1, maker='any',
             source=source_root(data), sum=data_sum(data),
             layout=layout_hash(self.training.weights))
        self.stated = -1

    def line(self, line):
        kind = line['kind']
        if not hasattr(self, kind):
            raise Refused('a line of kind "%s"' % kind)
        due = self.training.updates % self.head['every'] == 0
        if kind in ('step', 'steps') and due and \
                self.stated != self.training.updates:
            raise Differs('%s: no state line before it' % kind)
        getattr(self, kind)(line)

    def state(self, line):
        self.stated = self.training.updates
        same(line, n=self.stated, updates=self.stated,
             root=self.training.root())

    def one(self):
        t = self.training
        t.noted = self.numbers if t.updates == self.wanted else None
        return t.step()

    def step(self, line):
        n = self.training.updates
        lr, loss, weight, norm = self.one()
        same(line, n=n, lr=hex32(lr), loss=hex32(loss), norm=hex32(norm),
             weight=hex64(weight), updated=1)

    def steps(self, line):
        n = self.training.updates
        same(line, first=n)
        if not n <= line['last'] < self.training.steps:
            raise Differs('steps (%d): last is %s' % (n, line['last']))
        same(line, root=records([self.one()
                                 for _ in range(n, line['last'] + 1)]))

    def event(self, line):
        if line['what'] != 'saved':
            raise Refused('event "%s"' % line['what'])
        same(line, n=self.training.updates,
             root=merkle(canonical(flat(self.training.kept()))).hex())

    def end(self, line):
        if self.stated != self.training.updates:
            raise Differs('end: no state line before it')
        same(line, n=self.training.steps, lines=len(self.lines),
             root=self.training.root(), state=self.training.state())


# ------ The record of a step ------

def label_of(line, layers):
    """The words of `note` for a line of a record; None: what the numbers
    compared follow from."""
    phase, what, device = line['phase'], line['what'], line['device']
    if phase in ('before', 'after', 'batch'):
        return '%s %s' % (phase, what)
    if what in ('factor', 'norm', '-lr', 'r1', 'r2'):
        return what
    if phase == 'gradient' or (phase == 'rows' and what in 'xy'):
        return '%d %s%s' % (device, 'rows ' * (phase == 'rows'), what)
    if what == 'mean gradient':
        return 'mean'
    if phase not in ('forward', 'backward') or what == 'kept':
        return None
    place = '%d %d %s' % (device, line['first'], phase)
    if line['op'] in ('dense', 'relu', 'dropout'):
        layer = len([n for n in layers if n <= line['node']]) - 1
        part = 'd' + line['name'].split('.')[-1] if what == 'dparam' else what
        return '%s %s %d %s' % (place, line['op'], layer, part)
    return '%s loss %s' % (place, what)


PHASES = ('start before batch rows forward backward gradient mean rule '
          'after').split()
OF_DATA = ('numbers of rows', 'leaf of the data', 'way of the data')


def read_record(path):
    """The head of a record and its arrays, each with its words as texts; all
    hashes are checked."""
    with open(path, 'rb') as f:
        raw = f.read()
    magic, version, tail, size, count, names = struct.unpack_from('<16s5Q', raw)
    index = tail + size
    if magic != b'lockstep record\n' or version != 3 or \
            raw[-32:] != sha(raw[:64] + raw[tail:-32]):
        raise Refused('%s is no record, or was changed' % path)
    texts, arrays = raw[index + 96 * count:-32], []
    for i in range(count):
        e = struct.unpack_from('<6I4i4Q', raw, index + 96 * i)
        what, name, op = [texts[at:texts.index(b'\0', at)].decode()
                          for at in e[2:5]]
        n, leaves = e[12], (e[12] + 4095) // 4096
        words = raw[e[13] + 32 * leaves:e[13] + 32 * leaves + 4 * n]
        for k in range(leaves):
            at = e[13] + 32 * k
            if raw[at:at + 32] != sha(words[16384 * k:16384 * (k + 1)] + b'\0'):
                raise Refused('%s: a leaf has another hash' % path)
        bits = ['%08x' % x for x in struct.unpack('<%dI' % n, words)]
        if e[1] == 2:
            bits = [a + b for a, b in zip(bits[::2], bits[1::2])]
        arrays.append({'phase': PHASES[e[0]], 'what': what, 'name': name,
                       'op': op, 'device': e[6], 'node': e[8],
                       'first': e[10], 'bits': bits})
    return json.loads(raw[tail:index]), arrays


def compare_record(record, numbers):
    """Every number of a record is one of the step's, and the other way
    round."""
    head, arrays = record
    layers = [i for i, n in enumerate(head['graph']['nodes'])
              if n['op'] == 'dense']
    left = dict(numbers)
    for one in arrays:
        label = label_of(one, layers)
        if label is None or one['what'] in OF_DATA:
            continue
        words = left.pop(label, None)
        if words != one['bits']:
            raise Differs('record: %s is %s in the file, %s here' % (
                label, ' '.join(one['bits']), ' '.join(words or [])))
    if left:
        raise Differs('record: has no %s' % ', '.join(left))


# ------ The model's file ------

def contents(tensors, notes, data):
    """A hash of what a file holds, whoever wrote it."""
    def counted(x):
        return number(len(x.encode())) + x.encode()
    pairs = sorted((k, v) for k, v in notes.items()
                   if k not in ('lockstep', 'lockstep.crc32', 'sha256'))
    out = counted('lockstep contents 1') + number(len(pairs))
    out += b''.join(counted(x) for pair in pairs for x in pair)
    out += number(len(tensors))
    for name, of in sorted(tensors.items()):
        first, last = of['data_offsets']
        out += counted(name) + counted(of['dtype']) + number(len(of['shape']))
        out += b''.join(map(number, of['shape'])) + data[first:last]
    return sha(out).hex()


def compare_model(path, replay):
    with open(path, 'rb') as f:
        raw = f.read()
    size, = struct.unpack('<Q', raw[:8])
    tensors, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    notes = tensors.pop('__metadata__')
    end, weights = replay.lines[-1], replay.training.kept()
    same(end, model=sha(raw).hex(), contents=contents(tensors, notes, data))
    if set(tensors) != set(weights):
        raise Differs('model: tensors are %s' % ', '.join(sorted(tensors)))
    for name, w in weights.items():
        first, last = tensors[name]['data_offsets']
        if tensors[name]['shape'] != list(w.shape) or \
                data[first:last] != w.astype('<f4').tobytes():
            raise Differs('model: "%s" is not what training gives' % name)
    graph = json.dumps(json.loads(notes['lockstep.graph']), sort_keys=True,
                       separators=(',', ':'), ensure_ascii=False)
    same(replay.head, graph=sha(graph.encode()).hex())
    if notes.get('lockstep.transcript') != replay.lines[1]['prev']:
        raise Differs('model: lockstep.transcript is of another run')


# ------

VERSION = 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('transcript')
    parser.add_argument('--data', help='the folder of the files it read')
    parser.add_argument('--model', help='the file that the run saved')
    parser.add_argument('--step', type=int, metavar='N',
                        help='print all numbers of step N')
    parser.add_argument('--record', help='of a step, with --values')
    args = parser.parse_args()
    try:
        lines = read_lines(args.transcript)
        folder = args.data or os.path.dirname(args.transcript) or '.'
        record = read_record(args.record) if args.record else None
        wanted = record[0]['step'] if record else args.step
        replay = Replay(lines, folder, wanted)
        for line in lines[1:]:
            replay.line(line)
        if lines[-1]['kind'] != 'end':
            raise Refused('%s has no end' % args.transcript)
        if args.model:
            compare_model(args.model, replay)
        if record:
            compare_record(record, replay.numbers)
    except (Refused, OSError, ValueError, KeyError, TypeError) as e:
        sys.exit('second.py: %s: %s' % (type(e).__name__.lower(), e))
    except Differs as e:
        print('differs: %s' % e)
        sys.exit(5)
    if args.step is not None:
        for label, words in replay.numbers.items():
            print('%s: %s' % (label, ' '.join(words)))
    print('same: %d lines, %d batches%s%s' % (
        len(lines), replay.training.updates, ', the model' * bool(args.model),
        ', %d numbers and arrays of step %s' % (len(replay.numbers), wanted)
        if record else ''))


if __name__ == '__main__':
    main()
