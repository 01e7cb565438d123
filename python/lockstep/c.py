# SPDX-License-Identifier: BSD-3-Clause
"""What the headers of lockstep declare, for ctypes.  Written by
python/declare.py."""

import ctypes as C

from .ctypes_of import (Enum, Int, NodeOrNull, P, Struct, Text, Value,
                        function)

INT, INT64 = Int(C.c_int), Int(C.c_int64)

ENOMEM = -1
EINVAL = -2
ESHAPE = -3
ERANGE = -4
ENONFINITE = -5
EIO = -6
EFORMAT = -7
ETHREAD = -8
ENOTFOUND = -9
EUSER = -10
ENOTSUP = -11
EBUSY = -12
EDIFFERS = -13
F32 = 1
I32 = 2
F64 = 3
I64 = 4
U8 = 5
MAX_RANK = 8
TEXT = 256
UNEVEN_ERROR = 0
UNEVEN_PAD = 1
UNEVEN_CUT = 2
METRICS = 8
SGD = 0
MOMENTUM = 1
NESTEROV = 2
ADAM = 3
ADAMW = 4
RMSPROP = 5
ADAGRAD = 6
LION = 7
AMSGRAD = 8
CONSTANT = 0
LINEAR = 1
COSINE = 2
EXPONENTIAL = 3
PIECEWISE = 4
POLYNOMIAL = 5
RESTARTS = 6
ONE_CYCLE = 7
LINEAR_ONE_CYCLE = 8
WARM_RESTARTS = 9
COSLOG = 10
FLAT_COSINE = 11
F32_LAYERS = 0
BF16_LAYERS = 1
F32X3_LAYERS = 2
F32X6_LAYERS = 3
MEAN_EXACT = 0
MEAN_OF_SHARDS = 1
SUM = 2
REPLICATE = 0
SHARD = 1
KEYS_NNX = 0
KEYS_LINEN = 1
ROWS_ALL = 0
ROWS_MOVED = 1
ROWS_KEPT = 2
REDUCE_MEAN = 1
REDUCE_SUM = 2
UNIFORM = 0
NORMAL = 1
TRUNCATED_NORMAL = 2
FAN_IN = 0
FAN_OUT = 1
FAN_AVERAGE = 2
INIT_LAYER = 0
INIT_CONSTANT = 1
INIT_RANDOM = 2
INIT_VARIANCE = 3
INIT_ORTHOGONAL = 4
INIT_OWN = 5
SAVE_MODEL = 0
SAVE_ADAPTERS = 1
SAVE_MERGED = 2
STATISTICS_STORED = 0
STATISTICS_OF_SHARD = 1
STATISTICS_OF_BATCH = 2
SAME = 0
VALID = 1
CAUSAL = 2
EXPLICIT = 3
OWN_INPUTS = 3
STATE_PARAMS = 1
STATE_OPTIMIZER = 2
STATE_ALL = 3
BAG_SUM = 0
BAG_MEAN = 1
TRANSCRIPT_NOTE = 640
TRANSCRIPT_TEXT = 512
RECORD_TEXT = 512
RANK_SOUND = 0
RANK_DIES = 1
RANK_STALLS = 2
RANK_LIES = 3
TABLE_AUTO = 0
TABLE_CLASSIFICATION = 1
TABLE_REGRESSION = 2
IMAGE_CROP = 0
IMAGE_FIT = 1
IMAGE_STRETCH = 2
REALMLP_TD = 0
REALMLP_TD_S = 1
REALMLP_RATE = 0
REALMLP_DECAY = 1
REALMLP_DROPOUT = 2

ls_dtype = Enum("dtype", F32=1, I32=2, F64=3, I64=4, U8=5)
ls_uneven = Enum("uneven", UNEVEN_ERROR=0, UNEVEN_PAD=1, UNEVEN_CUT=2)
ls_optimizer_kind = Enum("optimizer_kind", SGD=0, MOMENTUM=1, NESTEROV=2,
    ADAM=3, ADAMW=4, RMSPROP=5, ADAGRAD=6, LION=7, AMSGRAD=8)
ls_schedule_kind = Enum("schedule_kind", CONSTANT=0, LINEAR=1, COSINE=2,
    EXPONENTIAL=3, PIECEWISE=4, POLYNOMIAL=5, RESTARTS=6, ONE_CYCLE=7,
    LINEAR_ONE_CYCLE=8, WARM_RESTARTS=9, COSLOG=10, FLAT_COSINE=11)
ls_precision = Enum("precision", F32_LAYERS=0, BF16_LAYERS=1, F32X3_LAYERS=2,
    F32X6_LAYERS=3)
ls_mean = Enum("mean", MEAN_EXACT=0, MEAN_OF_SHARDS=1, SUM=2)
ls_state = Enum("state", REPLICATE=0, SHARD=1)
ls_keys = Enum("keys", KEYS_NNX=0, KEYS_LINEN=1)
ls_rows = Enum("rows", ROWS_ALL=0, ROWS_MOVED=1, ROWS_KEPT=2)
ls_reduction = Enum("reduction", REDUCE_MEAN=1, REDUCE_SUM=2)
ls_distribution = Enum("distribution", UNIFORM=0, NORMAL=1, TRUNCATED_NORMAL=2)
ls_fan = Enum("fan", FAN_IN=0, FAN_OUT=1, FAN_AVERAGE=2)
ls_init_kind = Enum("init_kind", INIT_LAYER=0, INIT_CONSTANT=1, INIT_RANDOM=2,
    INIT_VARIANCE=3, INIT_ORTHOGONAL=4, INIT_OWN=5)
ls_save_kind = Enum("save_kind", SAVE_MODEL=0, SAVE_ADAPTERS=1, SAVE_MERGED=2)
ls_statistics = Enum("statistics", STATISTICS_STORED=0, STATISTICS_OF_SHARD=1,
    STATISTICS_OF_BATCH=2)
ls_padding = Enum("padding", SAME=0, VALID=1, CAUSAL=2, EXPLICIT=3)
ls_state_part = Enum("state_part", STATE_PARAMS=1, STATE_OPTIMIZER=2,
    STATE_ALL=3)
ls_bag = Enum("bag", BAG_SUM=0, BAG_MEAN=1)
ls_rank_fault = Enum("rank_fault", RANK_SOUND=0, RANK_DIES=1, RANK_STALLS=2,
    RANK_LIES=3)
ls_table_task = Enum("table_task", TABLE_AUTO=0, TABLE_CLASSIFICATION=1,
    TABLE_REGRESSION=2)
ls_image_fit = Enum("image_fit", IMAGE_CROP=0, IMAGE_FIT=1, IMAGE_STRETCH=2)
ls_realmlp_recipe = Enum("realmlp_recipe", REALMLP_TD=0, REALMLP_TD_S=1)
ls_realmlp_course = Enum("realmlp_course", REALMLP_RATE=0, REALMLP_DECAY=1,
    REALMLP_DROPOUT=2)


class ArraySpec(Struct):
    """The name, type and shape of an array; copied."""

    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("rank", C.c_int),
        ("shape", C.c_int64 * 8)]
    enums = {"dtype": ls_dtype}


class Array(Struct):
    """An array in memory.  In a set of arrays its first axis counts rows, or
    devices, and it has a name; the name and the data are the caller's.
    Where a function reads an array from a file, its data are malloc's
    (array_free) and its name is NULL.
    """

    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("rank", C.c_int),
        ("shape", C.c_int64 * 8), ("data", P)]
    enums = {"dtype": ls_dtype}


class Setting(Struct):
    """A name with a text."""

    _fields_ = [("name", C.c_char_p), ("value", C.c_char_p)]


class Entry(Struct):
    """An array of an archive."""

    _fields_ = [("name", C.c_char_p), ("dtype", C.c_char_p), ("rank", C.c_int),
        ("shape", C.c_int64 * 8), ("elements", C.c_int64),
        ("bytes", C.c_int64), ("data", P)]


class Option(Struct):
    """An option of an optimizer or a schedule, as optimizer_option and
    schedule_option tell it: its values are least <= x < below.
    """

    _fields_ = [("name", C.c_char_p), ("about", C.c_char_p),
        ("range", C.c_char_p), ("start", C.c_double), ("least", C.c_double),
        ("below", C.c_double), ("whole", C.c_bool)]


class Optimizer(Struct):
    """An optimizer.  sgd and so on, below, make one; its members may be
    changed afterwards.
    """

    _fields_ = [("kind", C.c_int), ("lr", C.c_double),
        ("momentum", C.c_double), ("b1", C.c_double), ("b2", C.c_double),
        ("eps", C.c_double), ("weight_decay", C.c_double),
        ("decay", C.c_double), ("l2", C.c_double),
        ("initial_accumulator", C.c_double), ("lazy", C.c_bool),
        ("room", C.c_double * 8)]
    enums = {"kind": ls_optimizer_kind}


class Group(Struct):
    """Parameters whose name a pattern matches.  One that is in several groups
    has the product of their factors, and is frozen if one of them is, so
    that the order of groups does not matter.
    """

    _fields_ = [("names", C.c_char_p), ("vectors", C.c_bool),
        ("frozen", C.c_bool), ("rate", C.c_double), ("decay", C.c_double),
        ("room", C.c_double * 8)]


class Boundary(Struct):
    """A step of a piecewise schedule."""

    _fields_ = [("update", C.c_int64), ("factor", C.c_double)]


class Schedule(Struct):
    """The learning rate of an update, where c updates were done before it and
    peak is the optimizer's lr.  For c below warmup it is c/warmup peak;
    then, with C = c - warmup, S = decay_steps - warmup, x = min(C, S) / S:

        constant      peak
        linear        peak + (end_lr - peak) x
        cosine        end_lr + (peak - end_lr) (1 + cos(pi x)) / 2
        exponential   peak decay_rate^(C / decay_steps), not past end_lr (0: no
                      end), a lower bound for a rate below 1, else an upper one
        piecewise     peak times the factor of each boundary with update <= c
        polynomial    end_lr + (peak - end_lr) (1 - x)^power
        cosine-restarts  the cosine again and again (SGDR): cycle k = 0, 1, ..
                      is S cycle_factor^k updates long and begins at
                      peak restart_factor^k, though not below end_lr
        one-cycle     no warm-up of its own; with E = decay_steps and
                      U = floor(pct_start E), by half a cosine each: from
                      peak / div_factor at 0 to peak at U, and on to
                      peak / (div_factor final_div_factor) at E
        linear-one-cycle  the same by lines, and in between, at
                      floor(pct_final E), through peak / div_factor once more
        warm-restarts  cosine-restarts of which each cycle begins with warmup
                      updates from 0 to its peak: cycle k takes
                      warmup + S cycle_factor^k
        coslog        peak (1 - cos(2 pi log2(1 + (2^cycles - 1) x))) / 2:
                      `cycles` waves from 0 to 0, each twice as long as the one
                      before (RealMLP's coslog4; Holzmueller et al. 2024)
        flat-cosine   peak up to U = floor(pct_start S), then the cosine from
                      there on (RealMLP's flat_cos)

    So decay_steps counts the warm-up for all but exponential, and is the
    update at which end_lr is reached: as in optax's
    warmup_cosine_decay_schedule and warmup_exponential_decay_schedule from
    0.  The others are optax's polynomial_schedule, sgdr_schedule (whose
    cycles after the first have no warm-up here) and
    cosine_onecycle_schedule. All zero is constant without a warm-up.
    """

    _fields_ = [("kind", C.c_int), ("warmup", C.c_int64),
        ("decay_steps", C.c_int64), ("decay_rate", C.c_double),
        ("end_lr", C.c_double), ("n_boundaries", C.c_int),
        ("boundaries", C.POINTER(Boundary)), ("power", C.c_double),
        ("cycle_factor", C.c_int64), ("restart_factor", C.c_double),
        ("pct_start", C.c_double), ("div_factor", C.c_double),
        ("final_div_factor", C.c_double), ("pct_final", C.c_double),
        ("cycles", C.c_int64), ("room", C.c_double * 7)]
    enums = {"kind": ls_schedule_kind}


class MeshOptions(Struct):
    """The options of a mesh; mesh_open copies them."""

    _fields_ = [("size", C.c_size_t), ("devices", C.c_int),
        ("workers", C.c_int), ("axes", C.c_char_p), ("topology", C.c_char_p),
        ("cpus", C.c_char_p), ("details", C.c_bool), ("log", P),
        ("log_user", P)]


class PoolOptions(Struct):
    """The options of a pool; pool_open copies them."""

    _fields_ = [("size", C.c_size_t), ("no_pin", C.c_bool),
        ("pin_caller", C.c_bool)]


class Key(Struct):
    """The streams of JAX (threefry2x32, partitionable counters) and of NumPy's
    legacy RandomState, to the bit (one exception: numpy_randn).  Value i of
    a JAX stream depends on the key and i alone.
    """

    _fields_ = [("word", C.c_uint32 * 2)]


class Numpy(Struct):
    """NumPy's RandomState(seed): MT19937 and its legacy distributions."""

    _fields_ = [("word", C.c_uint32 * 624), ("at", C.c_int),
        ("has_gauss", C.c_bool), ("gauss", C.c_double)]


class Transport(Struct):
    """What one rank knows of a transport.  A program that makes its own fills
    in all members (`reason` and `patience` may be 0).  Each function is
    called by one thread at a time, with `user` as its first argument, and
    returns a negative status of LS_ERRORS when it fails, after which the
    run cannot go on.

    Messages from one rank to another arrive in the order in which they were
    posted, and each is received by one call that asks for as many bytes.
    """

    _fields_ = [("user", P), ("rank", C.c_int), ("ranks", C.c_int),
        ("patience", C.c_double), ("send", P), ("receive", P), ("test", P),
        ("abort", P), ("reason", P), ("left", P)]


class TrainerOptions(Struct):
    """How a model is trained; trainer_open copies it."""

    _fields_ = [("size", C.c_size_t), ("seed", C.c_int64), ("keys", C.c_int),
        ("optimizer", Optimizer), ("schedule", Schedule),
        ("clip_norm", C.c_double), ("accumulate", C.c_int), ("mean", C.c_int),
        ("state", C.c_int), ("backend", C.c_char_p), ("data_axis", C.c_char_p),
        ("check_divergence", C.c_bool), ("own_dropout_key", C.c_bool),
        ("dropout_key", Key), ("precision", C.c_int), ("transport", P),
        ("even_rows", C.c_bool), ("average", C.c_double),
        ("n_groups", C.c_int), ("groups", C.POINTER(Group)),
        ("clip_value", C.c_double), ("bucket", C.c_int64), ("rows", C.c_int),
        ("check", C.c_double), ("decay_schedule", Schedule),
        ("dropout_schedule", Schedule)]
    enums = {"keys": ls_keys, "mean": ls_mean, "state": ls_state,
        "precision": ls_precision, "rows": ls_rows}


class Result(Struct):
    """What a step or an evaluation computed."""

    _fields_ = [("step", C.c_int64), ("rows", C.c_int64), ("loss", C.c_float),
        ("accuracy", C.c_float), ("lr", C.c_float), ("grad_norm", C.c_float),
        ("updated", C.c_bool), ("weight", C.c_double),
        ("metric", C.c_float * 8), ("gradient_seconds", C.c_double),
        ("reduce_seconds", C.c_double), ("update_seconds", C.c_double)]


class Checks(Struct):
    """What trainer_options.check = C has found.  Steps are drawn with the
    probability C, by the seed and the step's number.  In a drawn step every
    device's gradient, the packed weights, and blocks of the sum and of the
    update (4 for each worker; with C = 1 all) are computed again by another
    worker, into the same memory, and compared.  Where two results differ a
    third computation decides; the step goes on with the right one, and the
    worker that was wrong moves to another core.  A single worker checks
    itself, later. step returns LS_EDIFFERS where nobody can say who is
    right.  A gradient function or operator of one's own is called again
    with the same arguments, and must do the same again.  Rows of tables
    that stand still (lockstep/sparse.h) are summed twice and updated once.
    Over ranks each one checks what it computes, with its own workers, and
    tells that here; a rank that cannot decide ends the step of all with
    LS_EDIFFERS.
    """

    _fields_ = [("steps", C.c_int64), ("drawn", C.c_int64),
        ("checks", C.c_int64), ("wrong", C.c_int64), ("moved", C.c_int64),
        ("step", C.c_int64), ("text", C.c_char_p), ("worker", C.c_int),
        ("pu", C.c_int)]


class CheckpointsOptions(Struct):
    """How a run's checkpoints are kept; checkpoints_open copies it."""

    _fields_ = [("size", C.c_size_t), ("folder", C.c_char_p),
        ("keep", C.c_int), ("n_settings", C.c_int),
        ("settings", C.POINTER(Setting)), ("may_change", C.c_char_p),
        ("keep_first", C.c_bool)]


class Change(Struct):
    """An option or setting that is not what it was in a checkpoint; NULL: it
    is not there.
    """

    _fields_ = [("name", C.c_char_p), ("is", C.c_char_p), ("was", C.c_char_p)]


class Sharding(Struct):
    """Batches are cut along one named axis of the mesh, the data axis; devices
    that differ only along other axes hold the same shard.  A plain value.
    """

    _fields_ = [("axis", C.c_char * 32), ("shards", C.c_int),
        ("stride", C.c_int), ("devices", C.c_int)]


class Buffers(Struct):
    """An array on each device of the mesh: where it is read and where the
    result goes.  A device's own in and out may be the same memory where a
    comment says so; buffers of different devices, and of different arrays,
    do not overlap.
    """

    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("n", C.c_int64),
        ("in", P), ("out", P)]
    enums = {"dtype": ls_dtype}


class EarlyStop(Struct):
    """The rule for ending a run.  All members begin as 0 unless they are set.
    """

    _fields_ = [("patience", C.c_int64), ("min_delta", C.c_double),
        ("rising", C.c_bool), ("values", C.c_int64), ("since", C.c_int64),
        ("best", C.c_double), ("room", C.c_double * 8)]


class Plateau(Struct):
    """optax.contrib.reduce_on_plateau's rule."""

    _fields_ = [("factor", C.c_double), ("patience", C.c_int64),
        ("rtol", C.c_double), ("atol", C.c_double), ("cooldown", C.c_int64),
        ("min_scale", C.c_double), ("rising", C.c_bool), ("values", C.c_int64),
        ("since", C.c_int64), ("rest", C.c_int64), ("best", C.c_double),
        ("scale", C.c_double), ("room", C.c_double * 8)]


class Init(Struct):
    """How a parameter starts: a kind, and what it needs."""

    _fields_ = [("kind", C.c_int), ("distribution", C.c_int), ("fan", C.c_int),
        ("scale", C.c_double), ("fn", P), ("user", P),
        ("room", C.c_double * 8)]
    enums = {"kind": ls_init_kind, "distribution": ls_distribution,
        "fan": ls_fan}


class Source(Struct):
    """A source gives rows in any order.  Fill one in for data of your own, or
    let one of the functions below do it.  It is a plain value; a source
    that loader_open or source_weigh took over is not closed by the program.
    """

    _fields_ = [("rows", C.c_int64), ("classes", C.c_int64),
        ("n_arrays", C.c_int), ("arrays", C.POINTER(ArraySpec)),
        ("weighted", C.c_bool), ("by_epoch", C.c_bool), ("fill", P),
        ("close", P), ("user", P)]


class Series(Struct):
    """What a row of a source takes from an array whose rows follow each other
    in time: row i takes rows i + at .. i + at + length - 1 of it, (length,
    its row shape); with length 0 row i + at alone, of its row shape.
    """

    _fields_ = [("array", Array), ("at", C.c_int64), ("length", C.c_int64)]


class RowClaim(Struct):
    """A word of a batch, and what two sides say it is."""

    _fields_ = [("size", C.c_size_t), ("step", C.c_int64),
        ("batch", C.c_int64), ("batches", C.c_int64), ("shuffle", C.c_bool),
        ("key", Key), ("window", C.c_int64), ("array", C.c_int),
        ("element", C.c_int64), ("a", C.c_uint32), ("b", C.c_uint32)]


class LoaderOptions(Struct):
    """The options of a loader; loader_open copies them."""

    _fields_ = [("size", C.c_size_t), ("batch", C.c_int64),
        ("shuffle", C.c_bool), ("key", Key), ("uneven", C.c_int),
        ("no_thread", C.c_bool)]
    enums = {"uneven": ls_uneven}


class Place(Struct):
    """Where a worker is planned.  Numbers below are hwloc's logical ones, -1
    where the machine tells none.
    """

    _fields_ = [("pu", C.c_int), ("core", C.c_int), ("l3", C.c_int),
        ("numa", C.c_int), ("package", C.c_int), ("kind", C.c_int),
        ("device", C.c_int), ("devices", C.c_int)]


class Level(Struct):
    """A level of the machine: how many it has, allowed here or not, and for
    caches and NUMA memory the bytes of the smallest and of the largest.
    """

    _fields_ = [("name", C.c_char_p), ("count", C.c_int), ("least", C.c_int64),
        ("most", C.c_int64)]


class CoreKind(Struct):
    """A kind of cores, as hybrid CPUs have several."""

    _fields_ = [("name", C.c_char * 32), ("cores", C.c_int),
        ("allowed", C.c_int)]


class Link(Struct):
    """What a training step reads over the link from one NUMA node to another:
    each pair is how much it would be otherwise, and how much it is.  No
    byte of a result depends on it.

    Gradients, in floats of 4 bytes for each parameter of the model: a
    device's gradient lies on the node of its worker, and each worker adds
    all of them over an equal part of the parameters.  Where it makes less
    cross the links, the workers of a node first add the gradients of its
    own devices, and only these sums are read elsewhere.  Who shares the
    device of a worker on another node reads its gradient once more.

    Weights, likewise, as products read them: packed for the forward pass
    and for the backward one, an equal part by each worker.  Workers below
    one L3 would read all of it together for each chunk of rows; instead the
    workers of a node pack them for themselves, which reads parameters once
    a step.

    Rows, as a share of the batch: it would lie where its loader made it.

    And what a position reads that the workers share as a generator's
    (generator_share), in floats for each parameter: packed weights, an
    equal part of which each worker reads.  They would lie where the first
    worker is; instead each node copies them once for a sequence.
    """

    _fields_ = [("from", C.c_int), ("to", C.c_int), ("packages", C.c_bool),
        ("flat", C.c_double), ("floats", C.c_double),
        ("weights_flat", C.c_double), ("weights", C.c_double),
        ("rows_flat", C.c_double), ("rows", C.c_double),
        ("position_flat", C.c_double), ("position", C.c_double)]


class Cost(Struct):
    """An operator of a step, by the FLOP of its matrix products (two for each
    multiply-add; elementwise work is not counted) for one row of the batch.
    """

    _fields_ = [("op", C.c_char_p), ("name", C.c_char_p),
        ("forward", C.c_double), ("backward", C.c_double),
        ("forward_bytes", C.c_double), ("backward_bytes", C.c_double),
        ("chunk_forward_bytes", C.c_double),
        ("chunk_backward_bytes", C.c_double)]


class Work(Struct):
    """What a step does: FLOP and bytes by the sum of the above, and the bytes
    that reduction and update must at least read and write.
    """

    _fields_ = [("row_flops", C.c_double), ("reduce_bytes", C.c_double),
        ("update_bytes", C.c_double), ("row_bytes", C.c_double),
        ("chunk_bytes", C.c_double), ("chunk_rows", C.c_int64),
        ("shards", C.c_int64), ("aid", C.c_double), ("guests", C.c_int64)]


class Times(Struct):
    """Seconds of one worker in the last step: at work in each phase, and the
    rest of the step, at barriers, with nothing to do or helping a worker
    that is behind.
    """

    _fields_ = [("gradients", C.c_double), ("reduce", C.c_double),
        ("update", C.c_double), ("waiting", C.c_double)]


class Isa(Struct):
    """An instruction level of the library's own kernels."""

    _fields_ = [("name", C.c_char_p), ("here", C.c_bool), ("used", C.c_bool)]


class SaveOptions(Struct):
    _fields_ = [("size", C.c_size_t), ("kind", C.c_int), ("n_notes", C.c_int),
        ("notes", C.POINTER(Setting))]
    enums = {"kind": ls_save_kind}


class NormOptions(Struct):
    """More of a layer norm, or of a group norm; norm_defaults() writes what
    those have.
    """

    _fields_ = [("size", C.c_size_t), ("epsilon", C.c_double)]


class BatchNormOptions(Struct):
    """More of a batch norm; batch_norm_defaults() writes what is said here."""

    _fields_ = [("size", C.c_size_t), ("statistics", C.c_int),
        ("epsilon", C.c_double), ("momentum", C.c_double)]
    enums = {"statistics": ls_statistics}


class DenseOptions(Struct):
    """More of a dense layer, sparse_dense included; dense_defaults() writes
    what those have.
    """

    _fields_ = [("size", C.c_size_t), ("no_bias", C.c_bool)]


class AttentionOptions(Struct):
    """More of an attention; attention_defaults() writes what self_attention
    has without a mask.  Each bias is zeros: "<name>.query|key|value.bias"
    of one number for each output of its kernel, "<name>.out.bias" (D).
    dropout: in step each weight, element of the softmax of (heads,T,S), is
    dropped as dropout does, whose `name` is the layer's: PyTorch's, and
    Flax's with broadcast_dropout False.
    """

    _fields_ = [("size", C.c_size_t), ("causal", C.c_bool),
        ("qkv_bias", C.c_bool), ("out_bias", C.c_bool), ("kv_heads", C.c_int),
        ("rotary_base", C.c_double), ("dropout", C.c_double)]


class RecurrentOptions(Struct):
    """More of a recurrent layer: a state to begin from, rows of different
    lengths, and the state that it comes to.  recurrent_defaults() writes
    what lstm and gru have, NULL and false.

    A stream of steps is predicted piece by piece by giving `last` of one
    piece as `state` of the next: the bytes are those of one long row.
    """

    _fields_ = [("size", C.c_size_t), ("state", P), ("lengths", P),
        ("last", P), ("two_biases", C.c_bool), ("bidirectional", C.c_bool)]


class Window(Struct):
    """The size of a window, how far it moves, and its padding."""

    _fields_ = [("height", C.c_int64), ("width", C.c_int64),
        ("stride_y", C.c_int64), ("stride_x", C.c_int64), ("padding", C.c_int)]
    enums = {"padding": ls_padding}


class ConvOptions(Struct):
    """More of a convolution; conv_defaults() writes what conv2d has, LS_SAME
    and ones.  Taps are `dilation` pixels apart, so that a window k wide
    covers (k - 1) dilation + 1, which stands for k in the formulas of
    padding.  Groups of channels, one after the other, each make as many
    outputs of their own, and must divide both; as many groups as channels:
    a depthwise convolution.  With LS_EXPLICIT, `top`, `bottom`, `left` and
    `right` are how many pixels of zeros are around the image, and out = (in
    + both - covered) / s + 1, rounded down; else they are 0.
    """

    _fields_ = [("size", C.c_size_t), ("padding", C.c_int),
        ("no_bias", C.c_bool), ("groups", C.c_int64), ("stride_y", C.c_int64),
        ("stride_x", C.c_int64), ("dilation_y", C.c_int64),
        ("dilation_x", C.c_int64), ("top", C.c_int64), ("bottom", C.c_int64),
        ("left", C.c_int64), ("right", C.c_int64)]
    enums = {"padding": ls_padding}


class PoolingOptions(Struct):
    """More of a pooling; pooling_defaults() writes what max_pool has, LS_SAME
    and ones.  Dilation, and pixels with LS_EXPLICIT, are as in
    conv_options. ceil_mode: where LS_VALID or LS_EXPLICIT would leave
    pixels over, there is one window more, which hangs over, unless it would
    begin behind the image (with `before` pixels of padding, from in +
    before on): PyTorch's ceil_mode. exclude_padding: avg_pool_with divides
    by the pixels of the image in each window, count_include_pad=False; else
    by those of the image and its padding, without those that a window hangs
    over.
    """

    _fields_ = [("size", C.c_size_t), ("padding", C.c_int),
        ("ceil_mode", C.c_bool), ("exclude_padding", C.c_bool),
        ("stride_y", C.c_int64), ("stride_x", C.c_int64),
        ("dilation_y", C.c_int64), ("dilation_x", C.c_int64),
        ("top", C.c_int64), ("bottom", C.c_int64), ("left", C.c_int64),
        ("right", C.c_int64)]
    enums = {"padding": ls_padding}


class Shard(Struct):
    """What a device is given of a batch: rows first .. first+rows of each
    input, and their weights (NULL: all 1).
    """

    _fields_ = [("first", C.c_int64), ("rows", C.c_int64), ("data", P),
        ("weights", P), ("train", C.c_bool), ("call", C.c_int64),
        ("row", C.c_int64), ("drop", C.c_float)]


class Ratio(Struct):
    """A mean over devices and micro-batches in the making."""

    _fields_ = [("sum", C.c_double), ("weight", C.c_double)]


class Sums(Struct):
    """What a device returns with its gradient.  At the start of a call loss
    and weight are 0, correct is NaN and metrics are 0.
    """

    _fields_ = [("loss", C.c_double), ("weight", C.c_double),
        ("correct", C.c_double), ("metric", Ratio * 8)]


class Gradient(Struct):
    """A model that is given by its gradient.  It is copied; what user points
    to is borrowed until the trainer is closed.
    """

    _fields_ = [("fn", P), ("user", P), ("n_inputs", C.c_int),
        ("n_params", C.c_int), ("inputs", C.POINTER(ArraySpec)),
        ("params", C.POINTER(ArraySpec))]


class OwnRun(Struct):
    """What the functions of an own operator are given: some rows of a device's
    shard.  Each array holds those rows, one after the other; arrays do not
    overlap.
    """

    _fields_ = [("rows", C.c_int64), ("x_size", P), ("y_size", C.c_int64),
        ("x", P), ("y", P), ("stash", P), ("dy", P), ("dx", P), ("weights", P),
        ("sums", C.POINTER(Sums))]


class OwnOp(Struct):
    """An operator of your own.  A loss has only name, inputs, user and
    forward.
    """

    _fields_ = [("name", C.c_char_p), ("inputs", C.c_int), ("user", P),
        ("shape", P), ("stash", C.c_int64), ("forward", P), ("backward", P)]


class TraceOptions(Struct):
    """How much is recorded."""

    _fields_ = [("size", C.c_size_t), ("level", C.c_int),
        ("events", C.c_int64)]


class Mark(Struct):
    """A slice of your own that has begun.  It ends on the thread where it
    began, before the slice around it.
    """

    _fields_ = [("name", C.c_char_p), ("before", C.c_char_p),
        ("began", C.c_int64)]


class Doing(Struct):
    """What a worker is doing at this moment."""

    _fields_ = [("phase", C.c_char_p), ("what", C.c_char_p),
        ("device", C.c_int), ("waits", C.c_bool)]


class Control(Struct):
    """A number of the program's own that a resumed run reads, such as its
    place in the data.  `bits` is an int64_t, or a double's representation.
    """

    _fields_ = [("name", C.c_char_p), ("bits", C.c_uint64)]


class DataFile(Struct):
    """A file that a run reads."""

    _fields_ = [("name", C.c_char_p), ("bytes", C.c_int64),
        ("sha256", C.c_char_p)]


class TranscriptOptions(Struct):
    _fields_ = [("size", C.c_size_t), ("path", C.c_char_p),
        ("compare", C.c_bool), ("from", C.c_int64), ("every", C.c_int64),
        ("program", C.c_char_p), ("n_settings", C.c_int),
        ("settings", C.POINTER(Setting)), ("n_files", C.c_int),
        ("files", C.POINTER(DataFile)), ("sum", C.c_char_p),
        ("step_flops", C.c_double), ("resume", C.c_char_p), ("rows", C.c_bool),
        ("gradient", C.c_bool), ("source", C.c_char_p)]


class TranscriptFacts(Struct):
    """What a transcript says, without training."""

    _fields_ = [("lines", C.c_int64), ("batches", C.c_int64),
        ("is_whole", C.c_bool), ("every", C.c_int64), ("file", C.c_char * 65),
        ("root", C.c_char * 65), ("model", C.c_char * 65)]


class StateRoot(Struct):
    """What a state line says."""

    _fields_ = [("batches", C.c_int64), ("root", C.c_char * 65)]


class TranscriptDifference(Struct):
    _fields_ = [("same", C.c_bool), ("line", C.c_int64),
        ("text", C.c_char * 512)]


class RecordOptions(Struct):
    _fields_ = [("size", C.c_size_t), ("path", C.c_char_p),
        ("device", C.c_int), ("values", C.c_bool)]


class RecordDifference(Struct):
    _fields_ = [("same", C.c_bool), ("text", C.c_char * 512),
        ("element", C.c_int64), ("a", C.c_uint32), ("b", C.c_uint32),
        ("place", C.c_char * 512), ("leaf", C.c_int64), ("device", C.c_int)]


class RanksOptions(Struct):
    """What goes wrong between the ranks, or takes its time."""

    _fields_ = [("delay", C.c_double), ("bandwidth", C.c_double),
        ("shuffle", C.c_int64), ("patience", C.c_double), ("fault", C.c_int),
        ("rank", C.c_int), ("posts", C.c_int64)]
    enums = {"fault": ls_rank_fault}


class Column(Struct):
    """A column; its texts live as long as the coding.

    Dates are as ISO 8601 has them: 2026-11-25, and with a time
    2026-11-25T18:30, 2026-11-25 18:30:05.25, and with a zone
    2026-11-25T18:30Z or +02:00.  A column of them becomes columns of
    numbers of one name, one for each of these that `date` names and in
    which its rows differ, "days" in any case:

        days     since 1970-01-01, the time as a fraction, in UTC where there is
                 a zone; the others are of the date as it is written:
        year
        month    1 to 12
        day      of the month, 1 to 31
        weekday  Monday is 1, Sunday 7
        yearday  1 to 366
        hour     of the day, 0 to below 24, minutes and seconds as a fraction
    """

    _fields_ = [("name", C.c_char_p), ("date", C.c_char_p), ("words", C.c_int),
        ("word", P), ("mean", C.c_double), ("scale", C.c_double),
        ("at", C.c_int64)]


class TableDataOptions(Struct):
    """What a table is read for."""

    _fields_ = [("size", C.c_size_t), ("target", C.c_char_p),
        ("ignore", C.c_char_p), ("task", C.c_int), ("missing_mean", C.c_bool),
        ("drop_no_target", C.c_bool), ("window", C.c_int64),
        ("horizon", C.c_int64), ("prefix", C.c_char_p), ("log", P),
        ("log_user", P), ("robust", C.c_bool)]
    enums = {"task": ls_table_task}


class TableModelOptions(Struct):
    _fields_ = [("size", C.c_size_t), ("adapters", C.c_char_p)]


class ImagesOptions(Struct):
    """Which images of a folder are read, and how they are normalised."""

    _fields_ = [("size", C.c_size_t), ("test", C.c_bool),
        ("labels", C.c_char_p), ("image", C.c_char_p), ("label", C.c_char_p),
        ("channels", C.c_int), ("mean", P), ("std", P),
        ("unlabelled", C.c_bool), ("alone", C.c_bool),
        ("shape", C.c_int64 * 3), ("fit", C.c_int), ("skip_broken", C.c_bool),
        ("threads", C.c_int), ("n_classes", C.c_int), ("class_names", P)]
    enums = {"fit": ls_image_fit}


class AugmentOptions(Struct):
    """How images are changed before they are seen, other than the time before;
    all 0: not at all.
    """

    _fields_ = [("size", C.c_size_t), ("key", Key), ("image", C.c_char_p),
        ("label", C.c_char_p), ("other", C.c_char_p), ("share", C.c_char_p),
        ("flip", C.c_bool), ("crop", C.c_int), ("rotate", C.c_double),
        ("scale_low", C.c_double), ("scale_high", C.c_double),
        ("brightness", C.c_double), ("contrast", C.c_double),
        ("cutout", C.c_int), ("mixup", C.c_double), ("channels", C.c_int),
        ("mean", P), ("std", P), ("threads", C.c_int)]


class CsourceOptions(Struct):
    """How a model is written."""

    _fields_ = [("size", C.c_size_t), ("name", C.c_char_p), ("int8", C.c_bool)]


class RealmlpOptions(Struct):
    """What may be otherwise than the recipe has it."""

    _fields_ = [("size", C.c_size_t), ("recipe", C.c_int), ("hidden", C.c_int),
        ("width", P), ("activate", P), ("dropout", C.c_double),
        ("periodic", C.c_double), ("smoothing", C.c_double),
        ("members", C.c_int64), ("low", C.c_double), ("high", C.c_double),
        ("rounds", C.c_bool)]
    enums = {"recipe": ls_realmlp_recipe}


STRUCTS = {"ls_array_spec": ArraySpec, "ls_array": Array,
    "ls_setting": Setting, "ls_entry": Entry, "ls_option": Option,
    "ls_optimizer": Optimizer, "ls_group": Group, "ls_boundary": Boundary,
    "ls_schedule": Schedule, "ls_mesh_options": MeshOptions,
    "ls_pool_options": PoolOptions, "ls_key": Key, "ls_numpy": Numpy,
    "ls_transport": Transport, "ls_trainer_options": TrainerOptions,
    "ls_result": Result, "ls_checks": Checks,
    "ls_checkpoints_options": CheckpointsOptions, "ls_change": Change,
    "ls_sharding": Sharding, "ls_buffers": Buffers, "ls_early_stop": EarlyStop,
    "ls_plateau": Plateau, "ls_init": Init, "ls_source": Source,
    "ls_series": Series, "ls_row_claim": RowClaim,
    "ls_loader_options": LoaderOptions, "ls_place": Place, "ls_level": Level,
    "ls_core_kind": CoreKind, "ls_link": Link, "ls_cost": Cost,
    "ls_work": Work, "ls_times": Times, "ls_isa": Isa,
    "ls_save_options": SaveOptions, "ls_norm_options": NormOptions,
    "ls_batch_norm_options": BatchNormOptions,
    "ls_dense_options": DenseOptions, "ls_attention_options": AttentionOptions,
    "ls_recurrent_options": RecurrentOptions, "ls_window": Window,
    "ls_conv_options": ConvOptions, "ls_pooling_options": PoolingOptions,
    "ls_shard": Shard, "ls_ratio": Ratio, "ls_sums": Sums,
    "ls_gradient": Gradient, "ls_own_run": OwnRun, "ls_own_op": OwnOp,
    "ls_trace_options": TraceOptions, "ls_mark": Mark, "ls_doing": Doing,
    "ls_control": Control, "ls_data_file": DataFile,
    "ls_transcript_options": TranscriptOptions,
    "ls_transcript_facts": TranscriptFacts, "ls_state_root": StateRoot,
    "ls_transcript_difference": TranscriptDifference,
    "ls_record_options": RecordOptions,
    "ls_record_difference": RecordDifference, "ls_ranks_options": RanksOptions,
    "ls_column": Column, "ls_table_data_options": TableDataOptions,
    "ls_table_model_options": TableModelOptions,
    "ls_images_options": ImagesOptions, "ls_augment_options": AugmentOptions,
    "ls_csource_options": CsourceOptions, "ls_realmlp_options": RealmlpOptions}

ls_version = function("ls_version", C.c_char_p)
ls_strerror = function("ls_strerror", C.c_char_p, INT)
ls_errmsg = function("ls_errmsg", C.c_char_p)
ls_error = function("ls_error", C.c_int, INT, Text)
ls_array_free = function("ls_array_free", None, P)
ls_archive_open = function("ls_archive_open", C.c_int, P, Text)
ls_archive_close = function("ls_archive_close", None, P)
ls_archive_entries = function("ls_archive_entries", C.c_int, P)
ls_archive_entry_bytes = function("ls_archive_entry_bytes", C.c_bool, P, INT,
    P, C.c_size_t)
ls_archive_read = function("ls_archive_read", C.c_int, P, INT, INT64, P)
ls_archive_note = function("ls_archive_note", C.c_bool, P, INT, P, P)
ls_graph_new = function("ls_graph_new", C.c_int, P)
ls_graph_free = function("ls_graph_free", None, P)
ls_graph_errors_pass = function("ls_graph_errors_pass", None, P, C.c_bool)
ls_input = function("ls_input", P, P, Text, ls_dtype, INT, P)
ls_node_shape = function("ls_node_shape", C.c_int, NodeOrNull, P)
ls_output = function("ls_output", C.c_int, P, NodeOrNull, Text)
ls_metric = function("ls_metric", C.c_int, P, NodeOrNull)
ls_loss = function("ls_loss", C.c_int, P, NodeOrNull)
ls_graph_nodes = function("ls_graph_nodes", C.c_int, P)
ls_graph_node = function("ls_graph_node", P, P, INT)
ls_graph_loss = function("ls_graph_loss", P, P)
ls_graph_output = function("ls_graph_output", P, P, INT, P)
ls_node_op = function("ls_node_op", C.c_char_p, NodeOrNull)
ls_node_name = function("ls_node_name", C.c_char_p, NodeOrNull)
ls_node_input = function("ls_node_input", P, NodeOrNull, INT)
ls_node_param = function("ls_node_param", C.c_bool, NodeOrNull, INT, P)
ls_sgd = function("ls_sgd", Optimizer, C.c_double)
ls_momentum = function("ls_momentum", Optimizer, C.c_double, C.c_double)
ls_nesterov = function("ls_nesterov", Optimizer, C.c_double, C.c_double)
ls_adam = function("ls_adam", Optimizer, C.c_double)
ls_adamw = function("ls_adamw", Optimizer, C.c_double)
ls_rmsprop = function("ls_rmsprop", Optimizer, C.c_double)
ls_adagrad = function("ls_adagrad", Optimizer, C.c_double)
ls_lion = function("ls_lion", Optimizer, C.c_double)
ls_amsgrad = function("ls_amsgrad", Optimizer, C.c_double)
ls_optimizer_defaults = function("ls_optimizer_defaults", Optimizer,
    ls_optimizer_kind, C.c_double)
ls_optimizer_name = function("ls_optimizer_name", C.c_char_p,
    ls_optimizer_kind)
ls_optimizer_option_bytes = function("ls_optimizer_option_bytes", C.c_bool,
    ls_optimizer_kind, INT, P, C.c_size_t)
ls_optimizer_set = function("ls_optimizer_set", C.c_int, P, Text, C.c_double)
ls_group_of = function("ls_group_of", Group, Text)
ls_group_frozen = function("ls_group_frozen", Group, Text)
ls_group_no_decay = function("ls_group_no_decay", Group)
ls_schedule_defaults = function("ls_schedule_defaults", Schedule,
    ls_schedule_kind)
ls_schedule_lr = function("ls_schedule_lr", C.c_int, P, C.c_double, INT64, P)
ls_schedule_name = function("ls_schedule_name", C.c_char_p, ls_schedule_kind)
ls_schedule_option_bytes = function("ls_schedule_option_bytes", C.c_bool,
    ls_schedule_kind, INT, P, C.c_size_t)
ls_schedule_set = function("ls_schedule_set", C.c_int, P, Text, C.c_double)
ls_scale_lr = function("ls_scale_lr", C.c_double, C.c_double, INT64)
ls_mesh_defaults_bytes = function("ls_mesh_defaults_bytes", None, P,
    C.c_size_t)
ls_mesh_open = function("ls_mesh_open", C.c_int, P, P)
ls_mesh_close = function("ls_mesh_close", None, P)
ls_mesh_devices = function("ls_mesh_devices", C.c_int, P)
ls_mesh_workers = function("ls_mesh_workers", C.c_int, P)
ls_mesh_usable_cores = function("ls_mesh_usable_cores", C.c_int, P)
ls_mesh_axis_size = function("ls_mesh_axis_size", C.c_int, P, Text)
ls_mesh_text = function("ls_mesh_text", C.c_char_p, P)
ls_mesh_note = function("ls_mesh_note", C.c_char_p, P, INT)
ls_pool_defaults_bytes = function("ls_pool_defaults_bytes", None, P,
    C.c_size_t)
ls_pool_open = function("ls_pool_open", C.c_int, P, P, P)
ls_pool_close = function("ls_pool_close", None, P)
ls_pool_devices = function("ls_pool_devices", C.c_int, P)
ls_pool_workers = function("ls_pool_workers", C.c_int, P)
ls_key_new = function("ls_key_new", Key, INT64)
ls_key_fold_in = function("ls_key_fold_in", Key, Value(Key), C.c_uint32)
ls_key_split = function("ls_key_split", Key, Value(Key), C.c_uint64)
ls_random_bits = function("ls_random_bits", None, Value(Key), C.c_uint64,
    INT64, P)
ls_random_uniform = function("ls_random_uniform", None, Value(Key), C.c_uint64,
    INT64, C.c_float, C.c_float, P)
ls_random_normal = function("ls_random_normal", None, Value(Key), C.c_uint64,
    INT64, P)
ls_random_truncated_normal = function("ls_random_truncated_normal", None,
    Value(Key), C.c_uint64, INT64, P)
ls_random_bernoulli = function("ls_random_bernoulli", None, Value(Key),
    C.c_uint64, INT64, C.c_float, P)
ls_random_randint = function("ls_random_randint", None, Value(Key), C.c_uint64,
    INT64, C.c_int32, C.c_int32, P)
ls_random_categorical = function("ls_random_categorical", C.c_int64,
    Value(Key), INT64, P, C.c_float)
ls_random_permutation = function("ls_random_permutation", C.c_int, Value(Key),
    INT64, P)
ls_numpy_seed = function("ls_numpy_seed", None, P, C.c_uint32)
ls_numpy_randint = function("ls_numpy_randint", None, P, INT64, INT64, INT64,
    P)
ls_numpy_randint32 = function("ls_numpy_randint32", None, P, C.c_int32,
    C.c_int32, INT64, P)
ls_numpy_rand = function("ls_numpy_rand", None, P, INT64, P)
ls_numpy_randn = function("ls_numpy_randn", None, P, INT64, P)
ls_numpy_permutation = function("ls_numpy_permutation", None, P, INT64, P)
ls_trainer_defaults_bytes = function("ls_trainer_defaults_bytes", None, P,
    C.c_size_t)
ls_trainer_open = function("ls_trainer_open", C.c_int, P, P, P, P)
ls_trainer_close = function("ls_trainer_close", None, P)
ls_batch_open = function("ls_batch_open", C.c_int, P, P)
ls_batch_close = function("ls_batch_close", None, P)
ls_batch_set = function("ls_batch_set", C.c_int, P, Text, ls_dtype, P, INT64)
ls_batch_set_view = function("ls_batch_set_view", C.c_int, P, Text, ls_dtype,
    INT64, P, INT64)
ls_batch_set_weights = function("ls_batch_set_weights", C.c_int, P, P, INT64)
ls_step_bytes = function("ls_step_bytes", C.c_int, P, P, P, C.c_size_t)
ls_evaluate_bytes = function("ls_evaluate_bytes", C.c_int, P, P, P, C.c_size_t)
ls_trainer_checks_bytes = function("ls_trainer_checks_bytes", None, P, P,
    C.c_size_t)
ls_predict = function("ls_predict", C.c_int, P, P, Text, INT64, P)
ls_trainer_devices = function("ls_trainer_devices", C.c_int, P)
ls_trainer_params = function("ls_trainer_params", C.c_int, P)
ls_trainer_param_name = function("ls_trainer_param_name", C.c_char_p, P, INT)
ls_trainer_param_shape = function("ls_trainer_param_shape", C.c_int, P, INT, P)
ls_trainer_get = function("ls_trainer_get", C.c_int, P, Text, INT64, P)
ls_trainer_set = function("ls_trainer_set", C.c_int, P, Text, INT64, P)
ls_trainer_step = function("ls_trainer_step", C.c_int64, P)
ls_trainer_set_step = function("ls_trainer_set_step", C.c_int, P, INT64)
ls_row_losses = function("ls_row_losses", C.c_int, P, P, INT64, P)
ls_trainer_set_lr = function("ls_trainer_set_lr", C.c_int, P, C.c_double)
ls_trainer_use_average = function("ls_trainer_use_average", C.c_int, P,
    C.c_bool)
ls_trainer_check = function("ls_trainer_check", C.c_int, P)
ls_trainer_hash = function("ls_trainer_hash", C.c_int, P, P)
ls_trainer_save = function("ls_trainer_save", C.c_int, P, Text)
ls_trainer_load = function("ls_trainer_load", C.c_int, P, Text, Text)
ls_checkpoints_defaults_bytes = function("ls_checkpoints_defaults_bytes", None,
    P, C.c_size_t)
ls_checkpoints_open = function("ls_checkpoints_open", C.c_int, P, P, P)
ls_checkpoints_close = function("ls_checkpoints_close", None, P)
ls_checkpoints_save = function("ls_checkpoints_save", C.c_int, P, INT, P)
ls_checkpoints_wait = function("ls_checkpoints_wait", C.c_int, P)
ls_checkpoints_count = function("ls_checkpoints_count", C.c_int, P)
ls_checkpoints_load = function("ls_checkpoints_load", C.c_int, P, P)
ls_checkpoints_back = function("ls_checkpoints_back", C.c_int, P, INT64, P)
ls_checkpoints_note = function("ls_checkpoints_note", C.c_char_p, P, Text)
ls_checkpoints_change = function("ls_checkpoints_change", C.c_bool, P, INT, P)
ls_checkpoints_skipped = function("ls_checkpoints_skipped", C.c_char_p, P)
ls_sharding_data_parallel = function("ls_sharding_data_parallel", C.c_int, P,
    P, Text)
ls_sharding_shard = function("ls_sharding_shard", C.c_int, P, INT)
ls_shards_cut = function("ls_shards_cut", C.c_int, P, P, INT, P, ls_uneven)
ls_shards_free = function("ls_shards_free", None, P)
ls_shards_rows = function("ls_shards_rows", C.c_int64, P)
ls_shards_get = function("ls_shards_get", C.c_int, P, Text, INT, P)
ls_shards_mask = function("ls_shards_mask", P, P, INT)
ls_pmap = function("ls_pmap", C.c_int, P, P, P, INT, P, INT, P)
ls_all_reduce = function("ls_all_reduce", C.c_int, P, Text, ls_reduction, INT,
    P)
ls_reduce_scatter = function("ls_reduce_scatter", C.c_int, P, Text,
    ls_reduction, INT, P)
ls_all_gather = function("ls_all_gather", C.c_int, P, Text, INT, P)
ls_broadcast = function("ls_broadcast", C.c_int, P, Text, INT, INT, P)
ls_early_stop_take = function("ls_early_stop_take", C.c_bool, P, C.c_double)
ls_plateau_defaults = function("ls_plateau_defaults", Plateau)
ls_plateau_take = function("ls_plateau_take", C.c_double, P, C.c_double)
ls_gradients_open = function("ls_gradients_open", C.c_int, P, P, INT)
ls_gradients_close = function("ls_gradients_close", None, P)
ls_gradients_compute_bytes = function("ls_gradients_compute_bytes", C.c_int, P,
    P, P, C.c_size_t)
ls_gradients_add = function("ls_gradients_add", C.c_int, P, P)
ls_gradients_mean_bytes = function("ls_gradients_mean_bytes", C.c_int, P, P,
    C.c_size_t)
ls_gradients_get = function("ls_gradients_get", C.c_int, P, Text, INT64, P)
ls_gradients_get_device = function("ls_gradients_get_device", C.c_int, P, INT,
    Text, INT64, P)
ls_gradients_set = function("ls_gradients_set", C.c_int, P, Text, INT64, P)
ls_gradients_clear = function("ls_gradients_clear", None, P)
ls_input_gradient = function("ls_input_gradient", C.c_int, P, P, C.c_bool,
    Text, INT64, P)
ls_gradients_apply_bytes = function("ls_gradients_apply_bytes", C.c_int, P, P,
    C.c_size_t)
ls_gradients_between = function("ls_gradients_between", C.c_int, P, P, P)
ls_init_constant = function("ls_init_constant", Init, C.c_double)
ls_init_random = function("ls_init_random", Init, ls_distribution, C.c_double)
ls_init_variance = function("ls_init_variance", Init, ls_distribution, ls_fan,
    C.c_double)
ls_init_orthogonal = function("ls_init_orthogonal", Init, C.c_double)
ls_init_named = function("ls_init_named", C.c_int, P, Text)
ls_init_name = function("ls_init_name", C.c_char_p, INT)
ls_init_params = function("ls_init_params", C.c_int, P, Text, P)
ls_source_arrays = function("ls_source_arrays", C.c_int, P, INT, P)
ls_source_series = function("ls_source_series", C.c_int, P, INT, P)
ls_source_weigh = function("ls_source_weigh", C.c_int, P, P, INT64)
ls_source_root = function("ls_source_root", C.c_int, P, P)
ls_row_claim_defaults_bytes = function("ls_row_claim_defaults_bytes", None, P,
    C.c_size_t)
ls_source_evidence = function("ls_source_evidence", C.c_int, P, P, Text)
ls_source_close = function("ls_source_close", None, P)
ls_loader_defaults_bytes = function("ls_loader_defaults_bytes", None, P,
    C.c_size_t)
ls_loader_open = function("ls_loader_open", C.c_int, P, P, P, P)
ls_loader_close = function("ls_loader_close", None, P)
ls_loader_batches = function("ls_loader_batches", C.c_int64, P)
ls_loader_fill = function("ls_loader_fill", C.c_int, P, INT64, P, P)
ls_loader_seconds = function("ls_loader_seconds", C.c_double, P)
ls_lora_add = function("ls_lora_add", C.c_int, P, Text, INT64, C.c_double)
ls_lora_add_saved = function("ls_lora_add_saved", C.c_int, P, Text)
ls_lora_rest = function("ls_lora_rest", Group)
ls_lora_load = function("ls_lora_load", C.c_int, P, Text)
ls_mesh_worker_pu = function("ls_mesh_worker_pu", C.c_int, P, INT)
ls_mesh_cores_text = function("ls_mesh_cores_text", C.c_char_p, P)
ls_mesh_cpu = function("ls_mesh_cpu", C.c_char_p, P)
ls_mesh_place_bytes = function("ls_mesh_place_bytes", C.c_bool, P, INT, P,
    C.c_size_t)
ls_mesh_level_bytes = function("ls_mesh_level_bytes", C.c_bool, P, INT, P,
    C.c_size_t)
ls_mesh_kind_bytes = function("ls_mesh_kind_bytes", C.c_bool, P, INT, P,
    C.c_size_t)
ls_mesh_link_bytes = function("ls_mesh_link_bytes", C.c_bool, P, INT, P,
    C.c_size_t)
ls_trainer_cost_bytes = function("ls_trainer_cost_bytes", C.c_bool, P, INT, P,
    C.c_size_t)
ls_trainer_work_bytes = function("ls_trainer_work_bytes", None, P, P,
    C.c_size_t)
ls_trainer_clock = function("ls_trainer_clock", C.c_int, P)
ls_trainer_times_bytes = function("ls_trainer_times_bytes", C.c_int, P, INT, P,
    C.c_size_t)
ls_blis_tune = function("ls_blis_tune", None)
ls_blis_text = function("ls_blis_text", None, P)
ls_isa_level_bytes = function("ls_isa_level_bytes", C.c_bool, INT, P,
    C.c_size_t)
ls_isa_check = function("ls_isa_check", C.c_int)
ls_backend_name = function("ls_backend_name", C.c_char_p, INT)
ls_backend_text = function("ls_backend_text", C.c_int, P, Text, ls_precision)
ls_measure_flops = function("ls_measure_flops", C.c_int, P, INT, Text, P)
ls_measure_products = function("ls_measure_products", C.c_int, P, INT,
    ls_precision, P)
ls_measure_copy = function("ls_measure_copy", C.c_int, P, INT, P)
ls_trainer_save_model = function("ls_trainer_save_model", C.c_int, P, Text)
ls_save_defaults_bytes = function("ls_save_defaults_bytes", None, P,
    C.c_size_t)
ls_trainer_save_with = function("ls_trainer_save_with", C.c_int, P, Text, P)
ls_graph_load = function("ls_graph_load", C.c_int, P, Text)
ls_archive_of_trainer = function("ls_archive_of_trainer", C.c_int, P, P)
ls_norm_defaults_bytes = function("ls_norm_defaults_bytes", None, P,
    C.c_size_t)
ls_batch_norm_defaults_bytes = function("ls_batch_norm_defaults_bytes", None,
    P, C.c_size_t)
ls_data_parallel_step = function("ls_data_parallel_step", C.c_int, INT64, P, P,
    INT64, INT64, INT64, INT, C.c_double, P)
ls_dense_defaults_bytes = function("ls_dense_defaults_bytes", None, P,
    C.c_size_t)
ls_attention_defaults_bytes = function("ls_attention_defaults_bytes", None, P,
    C.c_size_t)
ls_recurrent_defaults_bytes = function("ls_recurrent_defaults_bytes", None, P,
    C.c_size_t)
ls_parameter = function("ls_parameter", P, P, Text, INT, P)
ls_tie = function("ls_tie", C.c_int, P, Text, Text, C.c_bool)
ls_conv_defaults_bytes = function("ls_conv_defaults_bytes", None, P,
    C.c_size_t)
ls_pooling_defaults_bytes = function("ls_pooling_defaults_bytes", None, P,
    C.c_size_t)
ls_trainer_open_gradient = function("ls_trainer_open_gradient", C.c_int, P, P,
    P, P)
ls_own = function("ls_own", P, P, P)
ls_own_loss = function("ls_own_loss", P, P, P)
ls_state_place = function("ls_state_place", C.c_int, P, ls_state_part, Text)
ls_state_axis = function("ls_state_axis", C.c_int, P, ls_state_part, Text, P)
ls_state_owners = function("ls_state_owners", C.c_char_p, P, ls_state_part,
    Text, P)
ls_predictor_open = function("ls_predictor_open", C.c_int, P, P)
ls_predictor_load = function("ls_predictor_load", C.c_int, P, Text)
ls_predictor_load_lora = function("ls_predictor_load_lora", C.c_int, P, Text,
    Text)
ls_predictor_open_graph = function("ls_predictor_open_graph", C.c_int, P, P,
    Text)
ls_predictor_set = function("ls_predictor_set", C.c_int, P, INT, P)
ls_predictor_refresh = function("ls_predictor_refresh", C.c_int, P, P)
ls_predictor_close = function("ls_predictor_close", None, P)
ls_predictor_input = function("ls_predictor_input", C.c_bool, P, INT, P)
ls_predictor_output = function("ls_predictor_output", C.c_bool, P, INT, P)
ls_archive_of_predictor = function("ls_archive_of_predictor", C.c_int, P, P)
ls_context_open = function("ls_context_open", C.c_int, P, P, P)
ls_context_close = function("ls_context_close", None, P)
ls_context_set = function("ls_context_set", C.c_int, P, Text, ls_dtype, P,
    INT64)
ls_context_set_view = function("ls_context_set_view", C.c_int, P, Text,
    ls_dtype, INT64, P, INT64)
ls_context_predict = function("ls_context_predict", C.c_int, P, Text, INT64, P)
ls_generator_open = function("ls_generator_open", C.c_int, P, P, Text)
ls_generator_share = function("ls_generator_share", C.c_int, P, P)
ls_generator_close = function("ls_generator_close", None, P)
ls_generator_append = function("ls_generator_append", C.c_int, P, INT64, P,
    INT64, P)
ls_generator_cut = function("ls_generator_cut", C.c_int, P, INT64)
ls_generator_length = function("ls_generator_length", C.c_int64, P)
ls_generator_window = function("ls_generator_window", C.c_int64, P)
ls_sparse_rows = function("ls_sparse_rows", C.c_int, INT64, P, P, P, INT64,
    INT64, P, P)
ls_trace_defaults_bytes = function("ls_trace_defaults_bytes", None, P,
    C.c_size_t)
ls_trace_open = function("ls_trace_open", C.c_int, P, P, P)
ls_trace_close = function("ls_trace_close", None, P)
ls_trace_write = function("ls_trace_write", C.c_int, P, Text)
ls_trace_dropped = function("ls_trace_dropped", C.c_int64, P)
ls_mark_begin = function("ls_mark_begin", Mark, P, Text)
ls_mark_end = function("ls_mark_end", None, P, Value(Mark))
ls_trace_counter = function("ls_trace_counter", None, P, Text, C.c_double)
ls_pool_doing_bytes = function("ls_pool_doing_bytes", C.c_int, P, INT, P,
    C.c_size_t)
ls_trainer_root = function("ls_trainer_root", C.c_int, P, INT64, INT, P, P)
ls_digest = function("ls_digest", None, P, C.c_size_t, P)
ls_file_digest = function("ls_file_digest", C.c_int, Text, P, P)
ls_transcript_defaults_bytes = function("ls_transcript_defaults_bytes", None,
    P, C.c_size_t)
ls_transcript_every = function("ls_transcript_every", C.c_int64, P, C.c_double)
ls_transcript_open = function("ls_transcript_open", C.c_int, P, P, P, INT, P)
ls_transcript_step = function("ls_transcript_step", C.c_int, P, INT64, P)
ls_transcript_event = function("ls_transcript_event", C.c_int, P, Text, INT, P)
ls_transcript_is_due = function("ls_transcript_is_due", C.c_bool, P)
ls_transcript_state = function("ls_transcript_state", C.c_int, P, INT, P)
ls_transcript_end = function("ls_transcript_end", C.c_int, P, INT, P, Text)
ls_transcript_same = function("ls_transcript_same", C.c_int64, P)
ls_transcript_note = function("ls_transcript_note", C.c_int, P, P)
ls_transcript_close = function("ls_transcript_close", C.c_int, P)
ls_transcript_check_bytes = function("ls_transcript_check_bytes", C.c_int,
    Text, P, C.c_size_t)
ls_transcript_root_at = function("ls_transcript_root_at", C.c_int, Text, INT64,
    P)
ls_transcript_states = function("ls_transcript_states", C.c_int64, Text, INT64,
    P)
ls_transcript_compare_bytes = function("ls_transcript_compare_bytes", C.c_int,
    Text, Text, P, C.c_size_t)
ls_record_defaults_bytes = function("ls_record_defaults_bytes", None, P,
    C.c_size_t)
ls_trainer_record_bytes = function("ls_trainer_record_bytes", C.c_int, P, P, P,
    P, C.c_size_t)
ls_record_compare_bytes = function("ls_record_compare_bytes", C.c_int, Text,
    Text, P, C.c_size_t)
ls_record_leaf = function("ls_record_leaf", C.c_int, Text, Text, INT64, P)
ls_record_leaf_hash = function("ls_record_leaf_hash", C.c_int, Text, Text,
    INT64, P)
ls_record_evidence = function("ls_record_evidence", C.c_int, Text, Text, INT64,
    C.c_uint32, C.c_uint32, Text)
ls_record_judges = function("ls_record_judges", C.c_bool, Text, Text)
ls_record_unjudged = function("ls_record_unjudged", C.c_int, P, INT, P)
ls_transport_check = function("ls_transport_check", C.c_int, P)
ls_transport_compare = function("ls_transport_compare", C.c_int, P, INT, P)
ls_transport_cpus = function("ls_transport_cpus", C.c_int, P, Text, P,
    C.c_size_t)
ls_transport_sums = function("ls_transport_sums", C.c_int, INT, INT)
ls_ranks_open = function("ls_ranks_open", C.c_int, P, INT, P)
ls_ranks_transport = function("ls_ranks_transport", P, P, INT)
ls_ranks_sent = function("ls_ranks_sent", C.c_int64, P, INT)
ls_ranks_close = function("ls_ranks_close", None, P)
ls_predictor_save_onnx = function("ls_predictor_save_onnx", C.c_int, P, Text)
ls_trainer_load_torch = function("ls_trainer_load_torch", C.c_int, P, Text,
    Text, Text)
ls_predictor_load_torch = function("ls_predictor_load_torch", C.c_int, P, Text,
    Text)
ls_table_open = function("ls_table_open", C.c_int, P, Text)
ls_table_close = function("ls_table_close", None, P)
ls_table_columns = function("ls_table_columns", C.c_int, P)
ls_table_column = function("ls_table_column", C.c_char_p, P, INT)
ls_table_find = function("ls_table_find", C.c_int, P, Text)
ls_table_next = function("ls_table_next", C.c_int, P)
ls_table_rewind = function("ls_table_rewind", C.c_int, P)
ls_table_line = function("ls_table_line", C.c_int64, P)
ls_table_text = function("ls_table_text", C.c_char_p, P, INT)
ls_table_missing = function("ls_table_missing", C.c_bool, P, INT)
ls_table_number = function("ls_table_number", C.c_int, P, INT, P)
ls_coding_column = function("ls_coding_column", C.c_bool, P, INT, P)
ls_coding_target = function("ls_coding_target", C.c_bool, P, P)
ls_coding_width = function("ls_coding_width", C.c_int64, P)
ls_coding_window = function("ls_coding_window", C.c_int64, P, P)
ls_coding_note = function("ls_coding_note", C.c_char_p, P)
ls_coding_read = function("ls_coding_read", C.c_int, P, Text, Text)
ls_coding_free = function("ls_coding_free", None, P)
ls_table_data_defaults_bytes = function("ls_table_data_defaults_bytes", None,
    P, C.c_size_t)
ls_table_data_open = function("ls_table_data_open", C.c_int, P, Text, P)
ls_table_data_open_as = function("ls_table_data_open_as", C.c_int, P, Text, P)
ls_table_data_close = function("ls_table_data_close", None, P)
ls_table_data_rows = function("ls_table_data_rows", C.c_int64, P)
ls_table_data_coding = function("ls_table_data_coding", P, P)
ls_table_data_take = function("ls_table_data_take", C.c_int, P, P, P, P)
ls_table_model_defaults_bytes = function("ls_table_model_defaults_bytes", None,
    P, C.c_size_t)
ls_table_model_open = function("ls_table_model_open", C.c_int, P, Text, P)
ls_table_model_of = function("ls_table_model_of", C.c_int, P, P, P)
ls_table_model_close = function("ls_table_model_close", None, P)
ls_table_model_coding = function("ls_table_model_coding", P, P)
ls_table_model_predictor = function("ls_table_model_predictor", P, P)
ls_table_context_open = function("ls_table_context_open", C.c_int, P, P, P)
ls_table_context_close = function("ls_table_context_close", None, P)
ls_table_predict_text = function("ls_table_predict_text", C.c_int, P, INT64,
    INT, P, P, P, P)
ls_table_predict_doubles = function("ls_table_predict_doubles", C.c_int, P,
    INT64, P, P, P, P)
ls_table_predict_from = function("ls_table_predict_from", C.c_int, P, P)
ls_table_predict_next = function("ls_table_predict_next", C.c_int, P, INT64, P,
    P, P)
ls_npy_load = function("ls_npy_load", C.c_int, P, Text, ls_dtype)
ls_npy_shape = function("ls_npy_shape", C.c_int, Text, P)
ls_npz_load = function("ls_npz_load", C.c_int, P, Text, Text, ls_dtype)
ls_npz_shape = function("ls_npz_shape", C.c_int, Text, Text, P)
ls_images_defaults_bytes = function("ls_images_defaults_bytes", None, P,
    C.c_size_t)
ls_source_images = function("ls_source_images", C.c_int, P, Text, P)
ls_source_pictures = function("ls_source_pictures", C.c_int, P, INT64, P, P)
ls_images_class = function("ls_images_class", C.c_char_p, P, INT64)
ls_images_file = function("ls_images_file", C.c_char_p, P, INT64)
ls_images_left_out = function("ls_images_left_out", C.c_int64, P)
ls_images_label = function("ls_images_label", C.c_bool, P, INT64, P)
ls_source_split = function("ls_source_split", C.c_int, P, INT64, P, P)
ls_source_share = function("ls_source_share", C.c_int, P, P)
ls_augment_defaults_bytes = function("ls_augment_defaults_bytes", None, P,
    C.c_size_t)
ls_source_augment = function("ls_source_augment", C.c_int, P, P)
ls_images_save = function("ls_images_save", C.c_int, Text, INT64, P, P, INT, P)
ls_csource_defaults_bytes = function("ls_csource_defaults_bytes", None, P,
    C.c_size_t)
ls_csource_save = function("ls_csource_save", C.c_int, Text, Text, P)
ls_realmlp_defaults_bytes = function("ls_realmlp_defaults_bytes", None, P,
    C.c_size_t)
ls_realmlp_new = function("ls_realmlp_new", C.c_int, P, P, P)
ls_realmlp_free = function("ls_realmlp_free", None, P)
ls_realmlp_build = function("ls_realmlp_build", None, P, P)
ls_realmlp_optimizer = function("ls_realmlp_optimizer", Optimizer, P)
ls_realmlp_schedule = function("ls_realmlp_schedule", Schedule,
    ls_realmlp_course, INT64)
ls_realmlp_groups = function("ls_realmlp_groups", P, P, P)
ls_realmlp_start = function("ls_realmlp_start", C.c_int, P, P, P, P, P)
