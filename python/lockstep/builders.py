# SPDX-License-Identifier: BSD-3-Clause
"""Builders of nodes, and optimizers, as the headers document them.
Written by python/declare.py.

In texts of C, a NULL is None; and constants such as LS_SAME are ls.SAME
or "same".
"""

import ctypes as C

from . import c
from . import nodes as _


c.ls_sub = c.function("ls_sub", c.P, c.NodeOrNull, c.NodeOrNull)

def sub(a, b):
    """y = a - b."""
    return _.made(c.ls_sub, a, b)


c.ls_mul = c.function("ls_mul", c.P, c.NodeOrNull, c.NodeOrNull)

def mul(a, b):
    """y = a b, element by element."""
    return _.made(c.ls_mul, a, b)


c.ls_div = c.function("ls_div", c.P, c.NodeOrNull, c.NodeOrNull)

def div(a, b):
    """y = a / b, element by element."""
    return _.made(c.ls_div, a, b)


c.ls_min = c.function("ls_min", c.P, c.NodeOrNull, c.NodeOrNull)

def min(a, b):
    """y = the lesser of a and b, NaN where either is.  Where they are equal
    each gets half of the gradient, as in JAX.
    """
    return _.made(c.ls_min, a, b)


c.ls_max = c.function("ls_max", c.P, c.NodeOrNull, c.NodeOrNull)

def max(a, b):
    """y = the greater of a and b; otherwise as min."""
    return _.made(c.ls_max, a, b)


c.ls_scale_shift = c.function("ls_scale_shift", c.P, c.NodeOrNull, C.c_double,
    C.c_double)

def scale_shift(x, scale, shift):
    """y = scale x + shift, rounded once.  LS_EINVAL when a constant is NaN,
    here and below.
    """
    return _.made(c.ls_scale_shift, x, scale, shift)


c.ls_neg = c.function("ls_neg", c.P, c.NodeOrNull)

def neg(x):
    """y = -x, and +0 for 0."""
    return _.made(c.ls_neg, x)


c.ls_square = c.function("ls_square", c.P, c.NodeOrNull)

def square(x):
    """y = x x."""
    return _.made(c.ls_square, x)


c.ls_sqrt = c.function("ls_sqrt", c.P, c.NodeOrNull)

def sqrt(x):
    """y = the square root of x, NaN below 0."""
    return _.made(c.ls_sqrt, x)


c.ls_exp = c.function("ls_exp", c.P, c.NodeOrNull)

def exp(x):
    """y = e^x."""
    return _.made(c.ls_exp, x)


c.ls_log = c.function("ls_log", c.P, c.NodeOrNull)

def log(x):
    """y = the natural logarithm of x: -infinity for 0, NaN below."""
    return _.made(c.ls_log, x)


c.ls_sin = c.function("ls_sin", c.P, c.NodeOrNull)

def sin(x):
    """y = the sine of x in radians, of any size; NaN for the infinities.
    Within 2 units in the last place.
    """
    return _.made(c.ls_sin, x)


c.ls_cos = c.function("ls_cos", c.P, c.NodeOrNull)

def cos(x):
    """y = the cosine of x, as sin."""
    return _.made(c.ls_cos, x)


c.ls_abs = c.function("ls_abs", c.P, c.NodeOrNull)

def abs(x):
    """y = |x|; its derivative at 0 is 0."""
    return _.made(c.ls_abs, x)


c.ls_clamp = c.function("ls_clamp", c.P, c.NodeOrNull, C.c_double, C.c_double)

def clamp(x, low, high):
    """y = x within [low, high], else the nearer of the two; either may be
    infinite. The derivative is 1 between them and 0 elsewhere, both ends
    included, as jax.lax.clamp has it.  LS_EINVAL when low is above high.
    """
    return _.made(c.ls_clamp, x, low, high)


c.ls_pow = c.function("ls_pow", c.P, c.NodeOrNull, C.c_double)

def pow(x, power):
    """y = x^power.  For a whole power products alone, of any x; else e^(power
    log x), which is NaN below 0.
    """
    return _.made(c.ls_pow, x, power)


c.ls_leaky_relu = c.function("ls_leaky_relu", c.P, c.NodeOrNull, C.c_double)

def leaky_relu(x, slope):
    """y = x from 0 on, slope x below."""
    return _.made(c.ls_leaky_relu, x, slope)


c.ls_elu = c.function("ls_elu", c.P, c.NodeOrNull, C.c_double)

def elu(x, alpha):
    """y = x above 0, alpha (e^x - 1) elsewhere (Clevert et al. 2016)."""
    return _.made(c.ls_elu, x, alpha)


c.ls_softplus = c.function("ls_softplus", c.P, c.NodeOrNull)

def softplus(x):
    """y = log(1 + e^x), computed as max(0,x) + log(1 + e^-|x|)."""
    return _.made(c.ls_softplus, x)


c.ls_silu = c.function("ls_silu", c.P, c.NodeOrNull)

def silu(x):
    """y = x / (1 + e^-x), also called swish: jax.nn.silu."""
    return _.made(c.ls_silu, x)


c.ls_selu = c.function("ls_selu", c.P, c.NodeOrNull)

def selu(x):
    """y = 1.0507 x above 0, 1.0507 1.67326 (e^x - 1) elsewhere, with more
    digits of both (Klambauer et al. 2017): jax.nn.selu.
    """
    return _.made(c.ls_selu, x)


c.ls_mish = c.function("ls_mish", c.P, c.NodeOrNull)

def mish(x):
    """y = x tanh(log(1 + e^x)) (Misra 2019), computed as x n / (n + 2) with n
    = e^x (e^x + 2): jax.nn.mish.
    """
    return _.made(c.ls_mish, x)


c.ls_gelu_exact = c.function("ls_gelu_exact", c.P, c.NodeOrNull)

def gelu_exact(x):
    """y = x/2 (1 + erf(x / sqrt 2)): torch's gelu as it is without
    approximate= "tanh", which is gelu; jax.nn.gelu(approximate=False).
    Within 6 units in the last place, far below 0 too, where 1 + erf would
    lose all digits.
    """
    return _.made(c.ls_gelu_exact, x)


c.ls_clipped_relu = c.function("ls_clipped_relu", c.P, c.NodeOrNull,
    C.c_double)

def clipped_relu(x, top):
    """y = x within [0, top]: clamp.  With top 1 it is the activation of
    efficiently updated game evaluators, with top 6 it is relu6.
    """
    return _.made(c.ls_clipped_relu, x, top)


c.ls_squared_clipped_relu = c.function("ls_squared_clipped_relu", c.P,
    c.NodeOrNull, C.c_double)

def squared_clipped_relu(x, top):
    """y = the square of clipped_relu."""
    return _.made(c.ls_squared_clipped_relu, x, top)


c.ls_reshape = c.function("ls_reshape", c.P, c.NodeOrNull, c.INT, c.P)

def reshape(x, shape):
    """y has x's elements in their order, under another shape of the same size.
    """
    return _.made(c.ls_reshape, x, _.count(shape), _.whole(shape))


c.ls_transpose = c.function("ls_transpose", c.P, c.NodeOrNull, c.P)

def transpose(x, axes=None):
    """Axis k of y is axis axes[k] of x; NULL: the last two change places.
    LS_EINVAL unless each axis stands there once.
    """
    return _.made(c.ls_transpose, x, _.axes(axes, x))


c.ls_slice = c.function("ls_slice", c.P, c.NodeOrNull, c.INT, c.INT64, c.INT64)

def slice(x, axis, first, count):
    """y is x[.., first:first+count, ..] along an axis."""
    return _.made(c.ls_slice, x, axis, first, count)


c.ls_concat = c.function("ls_concat", c.P, c.P, c.INT, c.INT)

def concat(x, axis):
    """x[0], x[1], .. one after the other along an axis; all other extents must
    be equal.  count from 1 up.
    """
    return _.made(c.ls_concat, _.nodes(x), _.count(x), axis)


c.ls_broadcast_to = c.function("ls_broadcast_to", c.P, c.NodeOrNull, c.INT,
    c.P)

def broadcast_to(x, shape):
    """y has that shape; axes that x lacks at its front, and axes of which x
    has only one element, are repeated, as NumPy's broadcast_to does.
    """
    return _.made(c.ls_broadcast_to, x, _.count(shape), _.whole(shape))


c.ls_reverse = c.function("ls_reverse", c.P, c.NodeOrNull, c.NodeOrNull)

def reverse(x, lengths=None):
    """y is x (T,..) with its first axis the other way round.  lengths (NULL:
    none), one LS_I32 a row from 0 to T: only so many steps change places,
    and those beyond stay where they are, as ONNX's ReverseSequence has it.
    """
    return _.made(c.ls_reverse, x, lengths)


c.ls_sum_over = c.function("ls_sum_over", c.P, c.NodeOrNull, c.INT, c.P)

def sum_over(x, axes=None):
    """The sum over `count` axes, which y does not have; count 0 with NULL:
    over all, y being one number a row.  Axes that follow each other are
    summed in one go, the last ones first.
    """
    return _.made(c.ls_sum_over, x, _.count(axes), _.axes(axes))


c.ls_mean_over = c.function("ls_mean_over", c.P, c.NodeOrNull, c.INT, c.P)

def mean_over(x, axes=None):
    """That sum times 1 / (elements of each sum)."""
    return _.made(c.ls_mean_over, x, _.count(axes), _.axes(axes))


c.ls_max_over = c.function("ls_max_over", c.P, c.NodeOrNull, c.INT, c.P)

def max_over(x, axes=None):
    """The greatest over `count` axes, NaN where one is.  Of several that are
    equal each gets the same share of the gradient, as in JAX.
    """
    return _.made(c.ls_max_over, x, _.count(axes), _.axes(axes))


c.ls_softmax = c.function("ls_softmax", c.P, c.NodeOrNull)

def softmax(x):
    """e^x / sum e^x along the last axis, shifted by its maximum first."""
    return _.made(c.ls_softmax, x)


c.ls_log_softmax = c.function("ls_log_softmax", c.P, c.NodeOrNull)

def log_softmax(x):
    """The logarithm of that, without its loss of digits."""
    return _.made(c.ls_log_softmax, x)


c.ls_matmul = c.function("ls_matmul", c.P, c.NodeOrNull, c.NodeOrNull)

def matmul(a, b):
    """y = a b for each pair of matrices: a (..,m,k) and b (..,k,n) give
    (..,m,n). Leading axes that one lacks, or has only one element of, are
    repeated, as NumPy's matmul does.
    """
    return _.made(c.ls_matmul, a, b)


c.ls_one_hot = c.function("ls_one_hot", c.P, c.NodeOrNull, c.INT64)

def one_hot(indices, count):
    """y[..,j] = 1 where j is indices[..], else 0: (..) of LS_I32 below count
    gives (..,count).  It has no gradient.
    """
    return _.made(c.ls_one_hot, indices, count)


c.ls_gather = c.function("ls_gather", c.P, c.NodeOrNull, c.NodeOrNull)

def gather(x, indices):
    """y[s,..] = x[indices[s],..]: of x (n,..) the vectors that indices of any
    shape (s) name, each below n; a vector that is named twice gets both
    gradients.
    """
    return _.made(c.ls_gather, x, indices)


c.ls_mean_loss = c.function("ls_mean_loss", c.P, c.NodeOrNull, c.NodeOrNull)

def mean_loss(terms, weights=None):
    """The loss that is the mean of all elements of all rows of terms, any
    node; or with weights (NULL: none), of the shape of terms, sum of
    weights x terms / sum of weights.  Weights are data: 0 leaves a term out
    (an ignored label), and a class's weight is put where its labels are.
    Weights of rows (batch_set_weights) multiply both sums too.  Several
    heads: add what mean_over makes of each one's terms, scaled, and take
    the mean loss.
    """
    return _.made(c.ls_mean_loss, terms, weights)


c.ls_mean_absolute_error = c.function("ls_mean_absolute_error", c.P,
    c.NodeOrNull, c.NodeOrNull)

def mean_absolute_error(y, target):
    """The mean of |y - target|."""
    return _.made(c.ls_mean_absolute_error, y, target)


c.ls_huber_loss = c.function("ls_huber_loss", c.P, c.NodeOrNull, c.NodeOrNull,
    C.c_double)

def huber_loss(y, target, delta):
    """The mean of d^2 / 2 where |d| is at most delta, d = y - target, and of
    delta (|d| - delta / 2) elsewhere: optax.huber_loss.
    """
    return _.made(c.ls_huber_loss, y, target, delta)


c.ls_binary_cross_entropy = c.function("ls_binary_cross_entropy", c.P,
    c.NodeOrNull, c.NodeOrNull)

def binary_cross_entropy(logits, target):
    """The mean of -t log s(x) - (1 - t) log(1 - s(x)) with s the sigmoid, x
    the logits, t the target in [0,1]: optax.sigmoid_binary_cross_entropy.
    """
    return _.made(c.ls_binary_cross_entropy, logits, target)


c.ls_kl_divergence = c.function("ls_kl_divergence", c.P, c.NodeOrNull,
    c.NodeOrNull)

def kl_divergence(log_predicted, target):
    """The sum along the last axis of t (log t - x), 0 where t is, x being
    logarithms of probabilities (log_softmax) and t the target's
    probabilities; then its mean: optax.kl_divergence.
    """
    return _.made(c.ls_kl_divergence, log_predicted, target)


c.ls_gaussian_loss = c.function("ls_gaussian_loss", c.P, c.NodeOrNull,
    c.NodeOrNull, c.NodeOrNull)

def gaussian_loss(mean, variance, target):
    """The mean of (log v + (mean - target)^2 / v) / 2 with v = the variance,
    but 1e-6 at least: torch's GaussianNLLLoss.  Below 1e-6 the variance
    gets no gradient.
    """
    return _.made(c.ls_gaussian_loss, mean, variance, target)


c.ls_label_terms = c.function("ls_label_terms", c.P, c.NodeOrNull,
    c.NodeOrNull, C.c_double)

def label_terms(logits, labels, smoothing):
    """Cross entropy as terms for mean_loss, one for each label: logits (..,C),
    labels (..) of LS_I32 below C give (..).  Smoothing s in [0,1) moves s
    of the label's probability to all classes alike, as optax.smooth_labels
    does.
    """
    return _.made(c.ls_label_terms, logits, labels, smoothing)



def sgd(lr, **members):
    """p -= lr g"""
    return _.changed(c.ls_sgd(lr), members)



def momentum(lr, momentum, **members):
    """t = g + momentum t; p -= lr t"""
    return _.changed(c.ls_momentum(lr, momentum), members)



def nesterov(lr, momentum, **members):
    """t = g + momentum t; p -= lr (g + momentum t)"""
    return _.changed(c.ls_nesterov(lr, momentum), members)



def adam(lr, **members):
    """m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= lr (m / (1-b1^n)) /
    (sqrt(v / (1-b2^n)) + eps), at update n = 1, 2, .. b1 0.9, b2 0.999, eps
    1e-8.
    """
    return _.changed(c.ls_adam(lr), members)



def adamw(lr, **members):
    """adam with weight_decay p added to the fraction; weight_decay 1e-4."""
    return _.changed(c.ls_adamw(lr), members)



def rmsprop(lr, **members):
    """v = decay v + (1-decay) g^2; p -= lr g / sqrt(v + eps).  decay 0.9, eps
    1e-8: optax.rmsprop as it is without further arguments (eps in the root,
    v from 0, not centered, no momentum).
    """
    return _.changed(c.ls_rmsprop(lr), members)



def adagrad(lr, **members):
    """v = v + g^2, from initial_accumulator on; p -= lr g / sqrt(v + eps), and
    no update where v is 0.  initial_accumulator 0.1, eps 1e-7.
    """
    return _.changed(c.ls_adagrad(lr), members)



def lion(lr, **members):
    """u = sign((1-b1) g + b1 m); m = (1-b2) g + b2 m; p -= lr (u +
    weight_decay p), the sign of 0 being 0.  b1 0.9, b2 0.99, weight_decay
    1e-3.
    """
    return _.changed(c.ls_lion(lr), members)



def amsgrad(lr, **members):
    """adam whose root is of the greatest v / (1-b2^n) there was, "nu_max"
    (Reddi et al. 2018): optax.amsgrad.  PyTorch's takes the greatest v, and
    corrects that.
    """
    return _.changed(c.ls_amsgrad(lr), members)


c.ls_layer_norm = c.function("ls_layer_norm", c.P, c.NodeOrNull, c.Text)

def layer_norm(x, name):
    """y = (x - mean) / sqrt(var + 1e-6) * scale + bias over the last axis,
    with var = max(0, E[x^2] - mean^2) as Flax has it.  Parameters
    "<name>.scale" ones, "<name>.bias" zeros.
    """
    return _.made(c.ls_layer_norm, x, name)


c.ls_layer_norm_with = c.function("ls_layer_norm_with", c.P, c.NodeOrNull, c.P,
    c.Text)

def layer_norm_with(x, name, **options):
    """layer_norm with these options, NULL: the defaults.  LS_EINVAL: epsilon
    is negative or not finite.
    """
    return _.made(c.ls_layer_norm_with, x,
        C.byref(_.defaults(c.ls_norm_defaults_bytes, c.NormOptions, **options)),
        name)


c.ls_rms_norm = c.function("ls_rms_norm", c.P, c.NodeOrNull, C.c_double,
    c.Text)

def rms_norm(x, epsilon, name):
    """y = x / sqrt(mean(x^2) + epsilon) * scale over the last axis (Zhang and
    Sennrich 2019).  epsilon >= 0; Flax has 1e-6.  Parameter "<name>.scale"
    ones: nnx.RMSNorm.
    """
    return _.made(c.ls_rms_norm, x, epsilon, name)


c.ls_batch_norm = c.function("ls_batch_norm", c.P, c.NodeOrNull, C.c_double,
    c.Text)

def batch_norm(x, epsilon, name):
    """y = (x - mean) / sqrt(var + epsilon) * scale + bias for each channel,
    the last axis (Ioffe and Szegedy 2015), by statistics that are stored:
    for a network that was trained with batch norm elsewhere.  They are not
    computed from batches and no optimizer moves them; scale and bias are
    trained unless a group freezes them.  epsilon >= 0; PyTorch and Flax
    have 1e-5.  Parameters of x's last extent each: "<name>.scale" ones,
    "<name>.bias" zeros, "<name>.mean" zeros, "<name>.var" ones.
    trainer_load_torch reads running_mean and running_var into them.  A var
    that with epsilon is not above 0 makes values that are not finite.
    LS_EINVAL: epsilon is negative or not finite.
    """
    return _.made(c.ls_batch_norm, x, epsilon, name)


c.ls_batch_norm_with = c.function("ls_batch_norm_with", c.P, c.NodeOrNull, c.P,
    c.Text)

def batch_norm_with(x, name, **options):
    """batch_norm with these options, NULL: the defaults.  In a training step
    mean and var of each channel are those of the micro-batch, over the rows
    that count and all other axes: with weights w of rows

        mean = sum(w x) / sum(w),   var = sum(w (x - mean)^2) / sum(w)

    and gradients go through both.  A row of weight 0 changes nothing; where
    all of them weigh 0 the stored statistics are taken.  "<name>.mean" and
    "<name>.var" become running averages: after a step that updated, and for
    each of its micro-batches in turn,

        stored = momentum stored + (1 - momentum) of the batch

    var being divided by sum(w) as in Flax, not by one less as in PyTorch.
    Each device goes on with its own, and the mean of all devices is stored.
    Evaluations, predictions, losses of rows and gradients by inputs go by
    what is stored, and so do files for other programs.  A step keeps the
    values of all rows of a shard, with LS_STATISTICS_OF_BATCH those of all
    devices of the process; docs/design.md says more.

    LS_EINVAL: an option is out of its range.  trainer_open fails with
    LS_ENOTSUP for LS_STATISTICS_OF_BATCH together with operators or losses
    of the program's own, LS_MEAN_OF_SHARDS or check_divergence, and for
    both together with trainer_options.check.
    """
    return _.made(c.ls_batch_norm_with, x,
        C.byref(_.defaults(c.ls_batch_norm_defaults_bytes, c.BatchNormOptions, **options)),
        name)


c.ls_group_norm = c.function("ls_group_norm", c.P, c.NodeOrNull, c.INT, c.Text)

def group_norm(x, groups, name):
    """y = (x - mean) / sqrt(var + 1e-6) * scale + bias, mean and variance (in
    the form of layer_norm) over all pixels and the C / groups channels of a
    group, of one row.  x (..,C); groups must divide C.  Parameters
    "<name>.scale" (C) ones, "<name>.bias" (C) zeros: nnx.GroupNorm.  It is
    what networks have whose results shall depend on the number of devices
    by rounding alone, and whose devices shall not wait for each other in
    every layer.
    """
    return _.made(c.ls_group_norm, x, groups, name)


c.ls_group_norm_with = c.function("ls_group_norm_with", c.P, c.NodeOrNull,
    c.INT, c.P, c.Text)

def group_norm_with(x, groups, name, **options):
    """group_norm with these options, NULL: the defaults; as layer_norm_with.
    """
    return _.made(c.ls_group_norm_with, x, groups,
        C.byref(_.defaults(c.ls_norm_defaults_bytes, c.NormOptions, **options)),
        name)


c.ls_dense = c.function("ls_dense", c.P, c.NodeOrNull, c.INT64, c.Text)

def dense(x, n, name):
    """y[..,j] = sum_i x[..,i] w[i,j] + bias[j].  x (..,I) -> (..,n).
    Parameters "<name>.kernel" (I,n) lecun_normal, "<name>.bias" (n) zeros.
    """
    return _.made(c.ls_dense, x, n, name)


c.ls_dense_with = c.function("ls_dense_with", c.P, c.NodeOrNull, c.INT64, c.P,
    c.Text)

def dense_with(x, n, name, **options):
    """dense with these options, NULL: the defaults."""
    return _.made(c.ls_dense_with, x, n,
        C.byref(_.defaults(c.ls_dense_defaults_bytes, c.DenseOptions, **options)),
        name)


c.ls_embed = c.function("ls_embed", c.P, c.NodeOrNull, c.INT64, c.INT64,
    c.Text)

def embed(x, count, width, name):
    """y[..,:] = table[x[..],:].  x (..) of LS_I32 in [0,count) -> (..,width).
    Parameter "<name>.embedding" (count,width), normal / sqrt(width).
    """
    return _.made(c.ls_embed, x, count, width, name)


c.ls_position = c.function("ls_position", c.P, c.NodeOrNull, c.Text)

def position(x, name):
    """y[t,:] = x[t,:] + table[t,:].  x (T,D).  Parameter "<name>" (T,D),
    started from sinusoids (Vaswani et al. 2017, section 3.5) and trained.
    """
    return _.made(c.ls_position, x, name)


c.ls_rotary = c.function("ls_rotary", c.P, c.NodeOrNull, c.INT, C.c_double)

def rotary(x, heads, base):
    """Rotary positions (Su et al. 2021) of x (T,D) with D cut into heads of an
    even width d: element i < d/2 of each head and element i + d/2 are a
    pair (a,b), which position t turns by the angle w = t base^(-2i/d):

        a' = a cos w - b sin w,   b' = b cos w + a sin w

    The base is above 0, as a rule 10000.  The pairs are halves, as in
    GPT-NeoX and Llama; angles are rounded to float as programs on PyTorch
    do.  LS_ESHAPE: heads do not divide D, or d is odd.
    """
    return _.made(c.ls_rotary, x, heads, base)


c.ls_swiglu = c.function("ls_swiglu", c.P, c.NodeOrNull, c.INT64, c.Text)

def swiglu(x, n, name):
    """y = silu(x gate) (x up), silu(z) = z / (1 + e^-z): the gated unit of
    Shazeer 2020.  x (..,I) -> (..,n).  Parameters "<name>.gate.kernel" and
    "<name>.up.kernel" (I,n) lecun_normal.
    """
    return _.made(c.ls_swiglu, x, n, name)


c.ls_self_attention = c.function("ls_self_attention", c.P, c.NodeOrNull, c.INT,
    C.c_bool, c.Text)

def self_attention(x, heads, causal, name):
    """Multi-head attention of x (T,D) to itself, every position to every other
    (no mask) or, with causal, to itself and earlier ones; no biases.
    Parameters "<name>.query|key|value.kernel" (D,heads,D/heads) and
    "<name>.out.kernel" (heads,D/heads,D).
    """
    return _.made(c.ls_self_attention, x, heads, causal, name)


c.ls_grouped_attention = c.function("ls_grouped_attention", c.P, c.NodeOrNull,
    c.INT, c.INT, C.c_double, C.c_bool, c.Text)

def grouped_attention(x, heads, kv_heads, rotary_base, causal, name):
    """self_attention whose keys and values have kv_heads heads, which must
    divide heads: heads / kv_heads query heads, one after the other, share
    one (Ainslie et al. 2023).  Where rotary_base is not 0, queries and keys
    go through rotary.  Parameters "<name>.query.kernel" (D,heads,D/heads),
    "<name>.key|value.kernel" (D,kv_heads,D/heads) and "<name>.out.kernel".
    """
    return _.made(c.ls_grouped_attention, x, heads, kv_heads, rotary_base,
        causal, name)


c.ls_cross_attention = c.function("ls_cross_attention", c.P, c.NodeOrNull,
    c.NodeOrNull, c.NodeOrNull, c.INT, c.Text)

def cross_attention(x, memory, mask, heads, name):
    """Multi-head attention of x (T,D) to memory (S,E), another sequence or x
    itself, under a mask that is an input of the graph or any other node: 1
    where a position may look, 0 where not, of a shape that broadcasts to
    (heads,T,S), as (S) for a memory whose rows are of different lengths, or
    (T,S).  A position that may look nowhere sees the mean of all.  mask
    NULL: all see all.  No biases.  Parameters "<name>.query.kernel"
    (D,heads,D/heads), "<name>.key|value.kernel" (E,heads,D/heads) and
    "<name>.out.kernel" (heads,D/heads,D):
    linen.MultiHeadDotProductAttention.
    """
    return _.made(c.ls_cross_attention, x, memory, mask, heads, name)


c.ls_attention_with = c.function("ls_attention_with", c.P, c.NodeOrNull, c.INT,
    c.P, c.Text)

def attention_with(x, heads, name, **options):
    """grouped_attention with these options, NULL: the defaults.  With both
    biases nn.MultiheadAttention.
    """
    return _.made(c.ls_attention_with, x, heads,
        C.byref(_.defaults(c.ls_attention_defaults_bytes, c.AttentionOptions, **options)),
        name)


c.ls_cross_attention_with = c.function("ls_cross_attention_with", c.P,
    c.NodeOrNull, c.NodeOrNull, c.NodeOrNull, c.INT, c.P, c.Text)

def cross_attention_with(x, memory, mask, heads, name, **options):
    """cross_attention with biases and dropout.  LS_EINVAL: a causal mask,
    heads that are shared or rotary positions, which it does not have.
    """
    return _.made(c.ls_cross_attention_with, x, memory, mask, heads,
        C.byref(_.defaults(c.ls_attention_defaults_bytes, c.AttentionOptions, **options)),
        name)


c.ls_lstm = c.function("ls_lstm", c.P, c.NodeOrNull, c.INT64, c.Text)

def lstm(x, n, name):
    """A long short-term memory, nnx.OptimizedLSTMCell over all steps, from a
    state of zeros.  x (T,I) -> y (T,n), y[t] being h after step t:

        i, f, g, o = the four parts of x[t] w_i + h w_h + bias, of n each
        c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)

    Parameters "<name>.dense_i.kernel" (I,4 n) lecun_normal,
    "<name>.dense_h.kernel" (n,4 n) orthogonal, "<name>.dense_h.bias" (4 n)
    zeros.  Layers are stacked by giving one's y to the next.
    """
    return _.made(c.ls_lstm, x, n, name)


c.ls_gru = c.function("ls_gru", c.P, c.NodeOrNull, c.INT64, c.Text)

def gru(x, n, name):
    """A gated recurrent unit, nnx.GRUCell over all steps, from a state of
    zeros. x (T,I) -> y (T,n), y[t] being h after step t:

        xr, xz, xn = the three parts of x[t] w_i + bias, of n each
        hr, hz, hn = those of h w_h
        r = sigmoid(xr + hr),  z = sigmoid(xz + hz)
        h = (1 - z) tanh(xn + r hn) + z h

    Parameters "<name>.dense_i.kernel" (I,3 n) lecun_normal,
    "<name>.dense_i.bias" (3 n) zeros, "<name>.dense_h.kernel" (n,3 n)
    orthogonal.
    """
    return _.made(c.ls_gru, x, n, name)


c.ls_lstm_with = c.function("ls_lstm_with", c.P, c.NodeOrNull, c.INT64, c.P,
    c.Text)

def lstm_with(x, n, name, **options):
    """lstm with these options, NULL: the defaults."""
    return _.made_with_last(c.ls_lstm_with, x, n,
        C.byref(_.defaults(c.ls_recurrent_defaults_bytes, c.RecurrentOptions, **options)),
        name)


c.ls_gru_with = c.function("ls_gru_with", c.P, c.NodeOrNull, c.INT64, c.P,
    c.Text)

def gru_with(x, n, name, **options):
    """gru with these options, NULL: the defaults."""
    return _.made_with_last(c.ls_gru_with, x, n,
        C.byref(_.defaults(c.ls_recurrent_defaults_bytes, c.RecurrentOptions, **options)),
        name)


c.ls_conv2d = c.function("ls_conv2d", c.P, c.NodeOrNull, c.INT64,
    c.Value(c.Window), c.Text)

def conv2d(x, n, window, name):
    """y[i,j,o] = bias[o] + sum_{a,b,c} x[i s_y + a - top, j s_x + b - left, c]
    w[a,b,c,o], pixels outside x being 0 (no flip: a cross-correlation). x
    (H,W,C) -> (out_y,out_x,n).  Parameters "<name>.kernel"
    (height,width,C,n) lecun_normal, "<name>.bias" (n) zeros: nnx.Conv.
    """
    return _.made(c.ls_conv2d, x, n, window, name)


c.ls_conv2d_with = c.function("ls_conv2d_with", c.P, c.NodeOrNull, c.INT64,
    c.INT64, c.INT64, c.P, c.Text)

def conv2d_with(x, n, height, width, name, **options):
    """A convolution of x (H,W,C) with a window of height by width and these
    options, NULL: the defaults.  With dilations d and groups of q = C /
    groups channels,

        y[i,j,o] = bias[o] + sum_{a,b,c<q}
            x[i s_y + a d_y - top, j s_x + b d_x - left, o / (n / groups) q + c]
            w[a,b,c,o]

    with o / (n / groups) rounded down.  Parameters "<name>.kernel"
    (height,width,q,n) lecun_normal, "<name>.bias" (n) zeros: nnx.Conv with
    kernel_dilation, feature_group_count and padding.  LS_ESHAPE: groups
    that do not divide C and n, or a window that covers more than the padded
    image; LS_EINVAL: sizes out of range, or pixels without LS_EXPLICIT.
    With bf16 layers, windows with gaps and groups are products of patches
    that are written out; a depthwise one (n = C = groups) rounds what it
    multiplies, and sums as f32.
    """
    return _.made(c.ls_conv2d_with, x, n, height, width,
        C.byref(_.defaults(c.ls_conv_defaults_bytes, c.ConvOptions, **options)),
        name)


c.ls_conv1d_with = c.function("ls_conv1d_with", c.P, c.NodeOrNull, c.INT64,
    c.INT64, c.P, c.Text)

def conv1d_with(x, n, width, name, **options):
    """conv2d_with over the steps of x (T,C): an image of height 1, whose
    window, stride and dilation have width, stride_x, dilation_x, left and
    right.  The options for y must stay as they are: LS_EINVAL.
    """
    return _.made(c.ls_conv1d_with, x, n, width,
        C.byref(_.defaults(c.ls_conv_defaults_bytes, c.ConvOptions, **options)),
        name)


c.ls_conv1d = c.function("ls_conv1d", c.P, c.NodeOrNull, c.INT64, c.INT64,
    c.INT64, c.ls_padding, c.Text)

def conv1d(x, n, width, stride, padding, name):
    """A convolution over steps: y[t,o] = bias[o] + sum_{a,c} x[t stride + a -
    before, c] w[a,c,o], steps outside x being 0.  x (T,C) -> (out,n).  It
    is conv2d on an image of height 1, so "<name>.kernel" is (1,width,C,n):
    nnx.Conv's with an axis more.  stride 0: 1.
    """
    return _.made(c.ls_conv1d, x, n, width, stride, padding, name)


c.ls_max_pool = c.function("ls_max_pool", c.P, c.NodeOrNull, c.Value(c.Window))

def max_pool(x, window):
    """y[i,j,c] = the largest x in the window; its gradient goes to the first
    of equals, by rows.  Pixels outside x count as -infinity; NaN stays NaN.
    """
    return _.made(c.ls_max_pool, x, window)


c.ls_avg_pool = c.function("ls_avg_pool", c.P, c.NodeOrNull, c.Value(c.Window))

def avg_pool(x, window):
    """y[i,j,c] = sum of x over the window / (height width); pixels outside x
    count as 0 (nnx.avg_pool).
    """
    return _.made(c.ls_avg_pool, x, window)


c.ls_max_pool_with = c.function("ls_max_pool_with", c.P, c.NodeOrNull, c.INT64,
    c.INT64, c.P)

def max_pool_with(x, height, width, **options):
    """max_pool of windows of height by width with these options, NULL: the
    defaults.  nn.MaxPool2d, whose padding p is top = bottom = left = right
    = p. LS_ESHAPE: the image is too small, or a window would hold none of
    its pixels; LS_EINVAL: sizes out of range, or pixels without
    LS_EXPLICIT.
    """
    return _.made(c.ls_max_pool_with, x, height, width,
        C.byref(_.defaults(c.ls_pooling_defaults_bytes, c.PoolingOptions, **options)))


c.ls_avg_pool_with = c.function("ls_avg_pool_with", c.P, c.NodeOrNull, c.INT64,
    c.INT64, c.P)

def avg_pool_with(x, height, width, **options):
    """The same of avg_pool: nn.AvgPool2d.  LS_EINVAL: a dilation too."""
    return _.made(c.ls_avg_pool_with, x, height, width,
        C.byref(_.defaults(c.ls_pooling_defaults_bytes, c.PoolingOptions, **options)))


c.ls_upsample = c.function("ls_upsample", c.P, c.NodeOrNull, c.INT64, c.INT64)

def upsample(x, high, wide):
    """Images made larger by pixels that stand there again: y[i,j,c] = x[i /
    high, j / wide, c], nearest neighbours.  x (H,W,C) -> (H high, W wide,
    C).  A reshape, broadcast_to and a reshape.  LS_ESHAPE.
    """
    return _.made(c.ls_upsample, x, high, wide)


c.ls_conv2d_transpose = c.function("ls_conv2d_transpose", c.P, c.NodeOrNull,
    c.INT64, c.Value(c.Window), c.Text)

def conv2d_transpose(x, n, window, name):
    """A transposed convolution, which makes images larger: conv2d with stride
    1 of x with zeros between its pixels, stride_y - 1 and stride_x - 1, and
    around them as jax.lax.conv_transpose has them.  x (H,W,C) -> (H
    stride_y, W stride_x, n) with LS_SAME; with LS_VALID more by height -
    stride_y and width - stride_x, where these are above 0.  Parameters as
    conv2d's: nnx.ConvTranspose; torch.nn.ConvTranspose2d has the window
    turned round by both axes.  LS_ESHAPE; LS_EINVAL: LS_EXPLICIT.
    """
    return _.made(c.ls_conv2d_transpose, x, n, window, name)


c.ls_flatten = c.function("ls_flatten", c.P, c.NodeOrNull)

def flatten(x):
    """x (..) -> (size of a row), the last axis fastest."""
    return _.made(c.ls_flatten, x)


c.ls_gelu = c.function("ls_gelu", c.P, c.NodeOrNull)

def gelu(x):
    """y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    return _.made(c.ls_gelu, x)


c.ls_relu = c.function("ls_relu", c.P, c.NodeOrNull)

def relu(x):
    """y = max(0, x), 0 for -0, NaN for NaN; its derivative at 0 is 0."""
    return _.made(c.ls_relu, x)


c.ls_tanh = c.function("ls_tanh", c.P, c.NodeOrNull)

def tanh(x):
    """y = tanh(x)."""
    return _.made(c.ls_tanh, x)


c.ls_sigmoid = c.function("ls_sigmoid", c.P, c.NodeOrNull)

def sigmoid(x):
    """y = 1 / (1 + e^-x)."""
    return _.made(c.ls_sigmoid, x)


c.ls_add = c.function("ls_add", c.P, c.NodeOrNull, c.NodeOrNull)

def add(a, b):
    """y = a + b, equal shapes."""
    return _.made(c.ls_add, a, b)


c.ls_dropout = c.function("ls_dropout", c.P, c.NodeOrNull, C.c_double, c.Text)

def dropout(x, rate, name):
    """Dropout: in step, each element is x / (1 - rate) with probability 1 -
    rate, else 0 (Srivastava et al. 2014); evaluate and predict pass x
    through.  rate in [0,1); 0 is x itself.  Element i of a micro-batch (its
    rows one after the other) is kept where element i of jax.random.uniform
    is below 1 - rate, with Flax's key for the layer in this call of the
    model, call number step x micro-batches + micro-batch: the bits depend
    on no device or worker, and a resumed run needs no more than its step.
    See trainer_options for the keys; with linen's, name is the layer's
    path, "blocks_0.Dropout_0".
    """
    return _.made(c.ls_dropout, x, rate, name)


c.ls_round_bf16 = c.function("ls_round_bf16", c.P, c.NodeOrNull)

def round_bf16(x):
    """y = x rounded to bfloat16 (8 bits of mantissa, to nearest, ties to even;
    NaN stays NaN).  Its gradient is rounded in the same way, as in JAX's
    cast.
    """
    return _.made(c.ls_round_bf16, x)


c.ls_mean_squared_error = c.function("ls_mean_squared_error", c.P,
    c.NodeOrNull, c.NodeOrNull)

def mean_squared_error(y, target):
    """sum_j (y[j] - target[j])^2 over all elements of a row, each a term."""
    return _.made(c.ls_mean_squared_error, y, target)


c.ls_cross_entropy = c.function("ls_cross_entropy", c.P, c.NodeOrNull,
    c.NodeOrNull)

def cross_entropy(logits, labels):
    """-log softmax(logits)[label], a term for each label.  logits (..,V),
    labels (..) of LS_I32 in [0,V).  Also counts the labels that are the
    argmax, the first of equals: the accuracy.  Labels below 0 (-1, -100)
    are ignored: they add no loss, no weight and no gradient.  If any other
    operator reads the same input, a batch with a negative label is
    LS_ERANGE.
    """
    return _.made(c.ls_cross_entropy, logits, labels)


c.ls_next_token_loss = c.function("ls_next_token_loss", c.P, c.NodeOrNull,
    c.NodeOrNull)

def next_token_loss(logits, tokens):
    """cross_entropy of the logits (T,V) at each position t and the token (T)
    at t + 1: T - 1 terms.
    """
    return _.made(c.ls_next_token_loss, logits, tokens)


c.ls_sparse_dense = c.function("ls_sparse_dense", c.P, c.NodeOrNull,
    c.NodeOrNull, c.INT64, c.INT64, c.Text)

def sparse_dense(indices, values, inputs, n, name):
    """dense of rows of `inputs` numbers, given as lists of those that are not
    zero: y[..,j] = sum_k values[..,k] w[indices[..,k],j] + bias[j]. indices
    (..,K) in [0,inputs) or below 0, values (..,K) of LS_F32, or NULL: all
    are 1 -> (..,n).  Parameters "<name>.kernel" (inputs,n) lecun_normal,
    "<name>.bias" (n) zeros.

    The bytes of values and gradients, and of the parameters after any
    number of steps, are those of dense on the rows written out, where
    weights and gradients are finite (there 0 times infinity is NaN, here a
    zero is not there).  Values given in a batch must be finite: LS_ERANGE
    names row and element.  They may be another node's, and have a gradient.
    The layer computes in f32, whatever trainer_options.precision says of
    others.
    """
    return _.made(c.ls_sparse_dense, indices, values, inputs, n, name)


c.ls_sparse_dense_with = c.function("ls_sparse_dense_with", c.P, c.NodeOrNull,
    c.NodeOrNull, c.INT64, c.INT64, c.P, c.Text)

def sparse_dense_with(indices, values, inputs, n, name, **options):
    """sparse_dense with these options, NULL: the defaults."""
    return _.made(c.ls_sparse_dense_with, indices, values, inputs, n,
        C.byref(_.defaults(c.ls_dense_defaults_bytes, c.DenseOptions, **options)),
        name)


c.ls_embed_bag = c.function("ls_embed_bag", c.P, c.NodeOrNull, c.ls_bag,
    c.INT64, c.INT64, c.Text)

def embed_bag(indices, bag, count, width, name):
    """y[..,:] = sum_k table[indices[..,k],:], or that times 1/m where m of the
    indices are not below 0; an empty bag gives zeros (PyTorch's
    EmbeddingBag). indices (..,K) in [0,count) or below 0 -> (..,width).
    Parameter "<name>.embedding" (count,width), normal / sqrt(width).  A
    mean has the bytes of sparse_dense_with no_bias and values 1/m, rounded
    to float.
    """
    return _.made(c.ls_embed_bag, indices, bag, count, width, name)


__all__ = ["sub", "mul", "div", "min", "max", "scale_shift", "neg", "square",
    "sqrt", "exp", "log", "sin", "cos", "abs", "clamp", "pow", "leaky_relu",
    "elu", "softplus", "silu", "selu", "mish", "gelu_exact", "clipped_relu",
    "squared_clipped_relu", "reshape", "transpose", "slice", "concat",
    "broadcast_to", "reverse", "sum_over", "mean_over", "max_over", "softmax",
    "log_softmax", "matmul", "one_hot", "gather", "mean_loss",
    "mean_absolute_error", "huber_loss", "binary_cross_entropy",
    "kl_divergence", "gaussian_loss", "label_terms", "sgd", "momentum",
    "nesterov", "adam", "adamw", "rmsprop", "adagrad", "lion", "amsgrad",
    "layer_norm", "layer_norm_with", "rms_norm", "batch_norm",
    "batch_norm_with", "group_norm", "group_norm_with", "dense", "dense_with",
    "embed", "position", "rotary", "swiglu", "self_attention",
    "grouped_attention", "cross_attention", "attention_with",
    "cross_attention_with", "lstm", "gru", "lstm_with", "gru_with", "conv2d",
    "conv2d_with", "conv1d_with", "conv1d", "max_pool", "avg_pool",
    "max_pool_with", "avg_pool_with", "upsample", "conv2d_transpose",
    "flatten", "gelu", "relu", "tanh", "sigmoid", "add", "dropout",
    "round_bf16", "mean_squared_error", "cross_entropy", "next_token_loss",
    "sparse_dense", "sparse_dense_with", "embed_bag"]
