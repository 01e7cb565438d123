"""lockstep from Python: one file on ctypes and NumPy.

    import lockstep as ls

    g = ls.Graph()
    x, y = g.input("x", (2,)), g.input("y", (1,))
    h = ls.gelu(ls.dense(x, 32, "hidden"))
    out = ls.dense(h, 1, "out")
    g.output(out, "product")
    g.loss(ls.mean_squared_error(out, y))

    t = ls.Trainer(g, optimizer=ls.adam(1e-2), devices=4)
    for _ in range(200):
        r = t.step(x=xs, y=ys)          # NumPy arrays, not copied
    t.save_model("product.safetensors")

    p = ls.Predictor("product.safetensors")
    p.predict("product", x=xs[:1])

Arrays are float32 or int32 and C-contiguous, and are read where they are.
Others are refused; ls.array(x) makes one that is good, a copy where it must.
A failure raises ls.Error, which has a status and the words of ls_errmsg().
Every call of the library leaves the interpreter's lock (GIL) free, so that
other threads go on during a step.

The library is liblockstep.so.1; LOCKSTEP_LIBRARY names another file.
"""

import contextlib
import ctypes as C
import os
import threading
import weakref

import numpy as np

__all__ = [
    "Boundary", "EarlyStop", "Gradients", "Group", "Plateau",
    "group", "frozen", "no_decay", "cross_attention", "sparse_dense",
    "Error", "Graph", "Node", "Schedule", "Trainer", "Predictor", "Result", "array",
    "dense", "dense_no_bias", "embed", "embed_bag", "position", "layer_norm",
    "rms_norm", "batch_norm", "rotary", "grouped_attention", "swiglu",
    "self_attention", "lstm", "gru", "flatten", "gelu", "relu", "tanh", "sigmoid", "silu",
    "softmax", "log_softmax", "add", "sub", "mul", "div", "matmul", "dropout",
    "mean_squared_error", "cross_entropy", "next_token_loss", "mean_loss",
    "mean_absolute_error", "binary_cross_entropy", "sgd", "momentum",
    "nesterov", "adam", "adamw", "rmsprop", "adagrad", "lion", "version",
]

F32, I32 = 1, 2
EINVAL = -2
(CONSTANT, LINEAR, COSINE, EXPONENTIAL, PIECEWISE, POLYNOMIAL, RESTARTS,
 ONE_CYCLE, LINEAR_ONE_CYCLE, WARM_RESTARTS) = range(10)
MAX_RANK = 8
METRICS = 8
ROOM = 8

_lib = C.CDLL(os.environ.get("LOCKSTEP_LIBRARY", "liblockstep.so.1"))


# ------ structs, as lockstep.h has them ------


class _MeshOptions(C.Structure):
    _fields_ = [
        ("size", C.c_size_t), ("devices", C.c_int), ("workers", C.c_int),
        ("axes", C.c_char_p), ("topology", C.c_char_p), ("cpus", C.c_char_p),
        ("details", C.c_bool), ("log", C.c_void_p), ("log_user", C.c_void_p),
    ]


class _PoolOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("no_pin", C.c_bool),
                ("pin_caller", C.c_bool)]


class Optimizer(C.Structure):
    """ls_optimizer: its numbers may be changed."""

    _fields_ = [
        ("kind", C.c_int), ("lr", C.c_double), ("momentum", C.c_double),
        ("b1", C.c_double), ("b2", C.c_double), ("eps", C.c_double),
        ("weight_decay", C.c_double), ("decay", C.c_double),
        ("l2", C.c_double), ("initial_accumulator", C.c_double),
        ("lazy", C.c_double), ("room", C.c_double * (ROOM - 3)),
    ]


class Boundary(C.Structure):
    """ls_boundary: from an update on, the rate is multiplied by a factor."""

    _fields_ = [("update", C.c_int64), ("factor", C.c_double)]


class Schedule(C.Structure):
    """ls_schedule: kind is one of CONSTANT, LINEAR, .."""

    _fields_ = [
        ("kind", C.c_int), ("warmup", C.c_int64), ("decay_steps", C.c_int64),
        ("decay_rate", C.c_double), ("end_lr", C.c_double),
        ("boundaries", C.c_int), ("boundary", C.POINTER(Boundary)),
        ("power", C.c_double), ("cycle_factor", C.c_int64),
        ("restart_factor", C.c_double), ("pct_start", C.c_double),
        ("div_factor", C.c_double), ("final_div_factor", C.c_double),
        ("pct_final", C.c_double), ("room", C.c_double * (ROOM - 7)),
    ]


class Group(C.Structure):
    """ls_group: parameters by a pattern of their names; its numbers may be
    changed."""

    _fields_ = [
        ("names", C.c_char_p), ("vectors", C.c_bool), ("frozen", C.c_bool),
        ("rate", C.c_double), ("decay", C.c_double),
        ("room", C.c_double * ROOM),
    ]


class EarlyStop(C.Structure):
    """ls_early_stop: EarlyStop(patience=5).take(loss) says when to end."""

    _fields_ = [
        ("patience", C.c_int64), ("min_delta", C.c_double),
        ("rising", C.c_bool), ("values", C.c_int64), ("since", C.c_int64),
        ("best", C.c_double), ("room", C.c_double * ROOM),
    ]

    def take(self, value):
        return _early_stop_take(C.byref(self), value)


class Plateau(C.Structure):
    """ls_plateau, with its defaults: take(loss) is what multiplies the rate."""

    _fields_ = [
        ("factor", C.c_double), ("patience", C.c_int64), ("rtol", C.c_double),
        ("atol", C.c_double), ("cooldown", C.c_int64),
        ("min_scale", C.c_double), ("rising", C.c_bool),
        ("values", C.c_int64), ("since", C.c_int64), ("rest", C.c_int64),
        ("best", C.c_double), ("scale", C.c_double),
        ("room", C.c_double * ROOM),
    ]

    def __init__(self, **members):
        super().__init__()
        start = _plateau_defaults()
        for name, _ in self._fields_[:-1]:
            setattr(self, name, members.pop(name, getattr(start, name)))
        if members:
            raise TypeError(f"there is no {', '.join(members)}")

    def take(self, value):
        return _plateau_take(C.byref(self), value)


class _Key(C.Structure):
    _fields_ = [("word", C.c_uint32 * 2)]


class Init(C.Structure):
    """ls_init: how parameters start.  initialiser(..) makes one."""

    _fields_ = [
        ("kind", C.c_int), ("distribution", C.c_int), ("fan", C.c_int),
        ("scale", C.c_double), ("fn", C.c_void_p), ("user", C.c_void_p),
        ("room", C.c_double * ROOM),
    ]


class _TrainerOptions(C.Structure):
    _fields_ = [
        ("size", C.c_size_t), ("seed", C.c_int64), ("keys", C.c_int),
        ("optimizer", Optimizer), ("schedule", Schedule),
        ("clip_norm", C.c_double), ("accumulate", C.c_int), ("mean", C.c_int),
        ("state", C.c_int), ("backend", C.c_char_p), ("data_axis", C.c_char_p),
        ("check_divergence", C.c_bool), ("own_dropout_key", C.c_bool),
        ("dropout_key", _Key), ("precision", C.c_int),
        ("transport", C.c_void_p), ("even_rows", C.c_bool),
        ("average", C.c_double), ("groups", C.c_int),
        ("group", C.POINTER(Group)), ("clip_value", C.c_double),
        ("bucket", C.c_int64),
    ]


class Result(C.Structure):
    """ls_result: what a step or an evaluation computed."""

    _fields_ = [
        ("step", C.c_int64), ("rows", C.c_int64), ("loss", C.c_float),
        ("accuracy", C.c_float), ("lr", C.c_float), ("grad_norm", C.c_float),
        ("updated", C.c_bool), ("weight", C.c_double),
        ("metric", C.c_float * METRICS), ("gradient_seconds", C.c_double),
        ("reduce_seconds", C.c_double), ("update_seconds", C.c_double),
    ]


class _ArraySpec(C.Structure):
    _fields_ = [("name", C.c_char_p), ("dtype", C.c_int), ("rank", C.c_int),
                ("shape", C.c_int64 * MAX_RANK)]


# The names in C of the structs above, for the test that compares them.
STRUCTS = {
    "ls_mesh_options": _MeshOptions, "ls_pool_options": _PoolOptions,
    "ls_optimizer": Optimizer, "ls_boundary": Boundary,
    "ls_schedule": Schedule, "ls_key": _Key, "ls_init": Init,
    "ls_group": Group,
    "ls_early_stop": EarlyStop, "ls_plateau": Plateau,
    "ls_trainer_options": _TrainerOptions, "ls_result": Result,
    "ls_array_spec": _ArraySpec,
}


# ------ functions ------

_P, _TEXT, _N = C.c_void_p, C.c_char_p, C.c_int64
_SHAPE = C.POINTER(C.c_int64)


def _function(name, returns, *takes):
    f = getattr(_lib, name)
    f.restype, f.argtypes = returns, takes
    return f


_errmsg = _function("ls_errmsg", _TEXT)
_version = _function("ls_version", _TEXT)


class Error(RuntimeError):
    """A status of LS_ERRORS, in the library's own words."""

    def __init__(self, status):
        super().__init__(_errmsg().decode())
        self.status = status


def _check(status):
    if status < 0:
        raise Error(status)
    return status


def _calls(name, *takes):
    """A function of the library that returns a status."""
    f = _function(name, C.c_int, *takes)
    return lambda *arguments: _check(f(*arguments))


def version():
    return _version().decode()


_mesh_defaults = _function("ls_mesh_defaults_sized", None,
                           C.POINTER(_MeshOptions), C.c_size_t)
_mesh_open = _calls("ls_mesh_open", C.POINTER(_P), C.POINTER(_MeshOptions))
_mesh_close = _function("ls_mesh_close", None, _P)
_pool_defaults = _function("ls_pool_defaults_sized", None,
                           C.POINTER(_PoolOptions), C.c_size_t)
_pool_open = _calls("ls_pool_open", C.POINTER(_P), _P, C.POINTER(_PoolOptions))
_pool_close = _function("ls_pool_close", None, _P)
_graph_new = _calls("ls_graph_new", C.POINTER(_P))
_graph_load = _calls("ls_graph_load", C.POINTER(_P), _TEXT)
_graph_free = _function("ls_graph_free", None, _P)
_graph_errors_pass = _function("ls_graph_errors_pass", None, _P, C.c_bool)
_graph_input = _function("ls_input", _P, _P, _TEXT, C.c_int, C.c_int, _SHAPE)
_graph_output = _calls("ls_output", _P, _P, _TEXT)
_graph_metric = _calls("ls_metric", _P, _P)
_graph_loss = _calls("ls_loss", _P, _P)
_graph_nodes = _function("ls_graph_nodes", C.c_int, _P)
_graph_node = _function("ls_graph_node", _P, _P, C.c_int)
_graph_named = _function("ls_graph_output", _P, _P, C.c_int, C.POINTER(_TEXT))
_node_op = _function("ls_node_op", _TEXT, _P)
_node_name = _function("ls_node_name", _TEXT, _P)
_node_shape = _function("ls_node_shape", C.c_int, _P, _SHAPE)
_trainer_defaults = _function("ls_trainer_defaults_sized", None,
                              C.POINTER(_TrainerOptions), C.c_size_t)
_trainer_open = _calls("ls_trainer_open", C.POINTER(_P), _P, _P,
                       C.POINTER(_TrainerOptions))
_trainer_close = _function("ls_trainer_close", None, _P)
_trainer_params = _function("ls_trainer_params", C.c_int, _P)
_param_name = _function("ls_trainer_param_name", _TEXT, _P, C.c_int)
_param_shape = _function("ls_trainer_param_shape", C.c_int, _P, C.c_int, _SHAPE)
_trainer_get = _calls("ls_trainer_get", _P, _TEXT, _N, _P)
_trainer_set = _calls("ls_trainer_set", _P, _TEXT, _N, _P)
_trainer_step = _function("ls_trainer_step", _N, _P)
_trainer_hash = _function("ls_trainer_hash", None, _P, C.c_char_p)
_trainer_save = _calls("ls_trainer_save", _P, _TEXT)
_save_model = _calls("ls_trainer_save_model", _P, _TEXT)
_save_folded = _calls("ls_trainer_save_folded", _P, _TEXT)
_trainer_load = _calls("ls_trainer_load", _P, _TEXT, _TEXT)
_load_torch = _calls("ls_trainer_load_torch", _P, _TEXT, _TEXT, _TEXT)
_set_lr = _calls("ls_trainer_set_lr", _P, C.c_double)
_set_step = _calls("ls_trainer_set_step", _P, _N)
_use_average = _calls("ls_trainer_use_average", _P, C.c_bool)
_state_place = _calls("ls_state_place", _P, C.c_int, _TEXT)
_row_losses = _calls("ls_row_losses", _P, _P, _N, _P)
_input_gradient = _calls("ls_input_gradient", _P, _P, C.c_bool, _TEXT, _N, _P)
_gradients_open = _calls("ls_gradients_open", C.POINTER(_P), _P, C.c_int)
_gradients_close = _function("ls_gradients_close", None, _P)
_gradients_compute = _calls("ls_gradients_compute_sized", _P, _P,
                            C.POINTER(Result), C.c_size_t)
_gradients_add = _calls("ls_gradients_add", _P, _P)
_gradients_mean = _calls("ls_gradients_mean_sized", _P, C.POINTER(Result),
                         C.c_size_t)
_gradients_get = _calls("ls_gradients_get", _P, _TEXT, _N, _P)
_gradients_device = _calls("ls_gradients_get_device", _P, C.c_int, _TEXT, _N,
                           _P)
_gradients_set = _calls("ls_gradients_set", _P, _TEXT, _N, _P)
_gradients_apply = _calls("ls_gradients_apply_sized", _P, C.POINTER(Result),
                          C.c_size_t)
_early_stop_take = _function("ls_early_stop_take", C.c_bool,
                             C.POINTER(EarlyStop), C.c_double)
_plateau_defaults = _function("ls_plateau_defaults", Plateau)
_plateau_take = _function("ls_plateau_take", C.c_double, C.POINTER(Plateau),
                          C.c_double)
_batch_open = _calls("ls_batch_open", C.POINTER(_P), _P)
_batch_close = _function("ls_batch_close", None, _P)
_batch_set = _calls("ls_batch_set", _P, _TEXT, C.c_int, _P, _N)
_batch_weights = _calls("ls_batch_set_weights", _P, _P, _N)
_step = _calls("ls_step_sized", _P, _P, C.POINTER(Result), C.c_size_t)
_evaluate = _calls("ls_evaluate_sized", _P, _P, C.POINTER(Result), C.c_size_t)
_predict = _calls("ls_predict", _P, _P, _TEXT, _N, _P)
_predictor_open = _calls("ls_predictor_open", C.POINTER(_P), _P)
_predictor_load = _calls("ls_predictor_load", C.POINTER(_P), _TEXT)
_predictor_refresh = _calls("ls_predictor_refresh", _P, _P)
_predictor_close = _function("ls_predictor_close", None, _P)
_predictor_input = _function("ls_predictor_input", C.c_bool, _P, C.c_int,
                             C.POINTER(_ArraySpec))
_predictor_output = _function("ls_predictor_output", C.c_bool, _P, C.c_int,
                              C.POINTER(_ArraySpec))
_save_onnx = _calls("ls_predictor_save_onnx", _P, _TEXT)
_context_open = _calls("ls_context_open", C.POINTER(_P), _P, _P)
_context_close = _function("ls_context_close", None, _P)
_context_set = _calls("ls_context_set", _P, _TEXT, C.c_int, _P, _N)
_context_predict = _calls("ls_context_predict", _P, _TEXT, _N, _P)


def _opened(call, *arguments):
    of = _P()
    call(C.byref(of), *arguments)
    return of


def _defaults(struct, call):
    o = struct()
    call(C.byref(o), C.sizeof(o))
    if o.size != C.sizeof(o):
        raise ImportError("lockstep.py does not fit the library")
    return o


def _bytes(text):
    return None if text is None else os.fsencode(text)


# ------ arrays ------

_DTYPES = {np.dtype(np.float32): F32, np.dtype(np.int32): I32}


def array(x, dtype=None):
    """x as lockstep reads it: float32, or int32 of whole numbers, C-contiguous.
    A copy unless it is so already; a number that int32 cannot hold is refused.
    """
    x = np.asarray(x)
    if dtype is None:
        dtype = np.int32 if x.dtype.kind in "iub" else np.float32
    y = np.ascontiguousarray(x, dtype=dtype).reshape(x.shape)
    if y.dtype == np.int32 and not np.array_equal(x, y):
        raise ValueError("not all of the numbers are int32")
    return y


def _look(name, x):
    """The dtype and the address of an array that is good."""
    if not isinstance(x, np.ndarray):
        raise TypeError(f"{name} is no NumPy array: ls.array(x) makes one")
    if x.dtype not in _DTYPES or not x.dtype.isnative:
        raise TypeError(f"{name} is {x.dtype}, not float32 or int32: "
                        "ls.array(x) copies it")
    if not x.flags.c_contiguous or not x.flags.aligned:
        raise ValueError(f"{name} is not C-contiguous: ls.array(x) copies it")
    if x.ndim < 1:
        raise ValueError(f"{name} has no axis of rows")
    return _DTYPES[x.dtype], x.ctypes.data


@contextlib.contextmanager
def _lacking(given, inputs):
    """An input that was not given is the caller's mistake."""
    try:
        yield
    except Error as e:
        if e.status != EINVAL or given.keys() >= inputs.keys():
            raise
        raise TypeError(str(e)) from None


def _check_rows(name, x, spec):
    dtype, _, shape = spec
    if _look(name, x)[0] != dtype:
        raise TypeError(f"{name} is {x.dtype}, not "
                        f"{'float32' if dtype == F32 else 'int32'}")
    if x.shape[1:] != shape:
        raise ValueError(f"{name} has rows of {x.shape[1:]}, not {shape}")


# ------ graphs ------


class Node:
    """A node, which its graph owns; + - * / between nodes."""

    def __init__(self, graph, of):
        if not of:
            raise Error(EINVAL)
        self.graph, self.of = graph, of

    @property
    def shape(self):
        shape = (C.c_int64 * MAX_RANK)()
        return tuple(shape[:_node_shape(self.of, shape)])

    def __add__(self, other):
        return add(self, other)

    def __sub__(self, other):
        return sub(self, other)

    def __mul__(self, other):
        return mul(self, other)

    def __truediv__(self, other):
        return div(self, other)


def _builder(name, *takes):
    """An operator: nodes, then what `takes` says of the rest."""
    nodes = sum(t is Node for t in takes)
    f = _function("ls_" + name, _P, *(_P if t is Node else t for t in takes))

    def build(*arguments):
        if len(arguments) != len(takes):
            raise TypeError(f"{name} takes {len(takes)} arguments")
        of = [a.of if t is Node else a.encode() if t is _TEXT else a
              for a, t in zip(arguments, takes)]
        return Node(arguments[0].graph, f(*of))

    build.__name__ = name
    build.__doc__ = f"ls_{name}, of {nodes} node{'s' * (nodes > 1)}"
    return build


dense = _builder("dense", Node, _N, _TEXT)
dense_no_bias = _builder("dense_no_bias", Node, _N, _TEXT)
embed = _builder("embed", Node, _N, _N, _TEXT)
embed_bag = _builder("embed_bag", Node, C.c_int, _N, _N, _TEXT)
position = _builder("position", Node, _TEXT)
layer_norm = _builder("layer_norm", Node, _TEXT)
self_attention = _builder("self_attention", Node, C.c_int, C.c_bool, _TEXT)
lstm = _builder("lstm", Node, _N, _TEXT)
gru = _builder("gru", Node, _N, _TEXT)
rms_norm = _builder("rms_norm", Node, C.c_double, _TEXT)
batch_norm = _builder("batch_norm", Node, C.c_double, _TEXT)
rotary = _builder("rotary", Node, C.c_int, C.c_double)
grouped_attention = _builder("grouped_attention", Node, C.c_int, C.c_int,
                             C.c_double, C.c_bool, _TEXT)
swiglu = _builder("swiglu", Node, _N, _TEXT)
dropout = _builder("dropout", Node, C.c_double, _TEXT)
flatten = _builder("flatten", Node)
gelu = _builder("gelu", Node)
relu = _builder("relu", Node)
tanh = _builder("tanh", Node)
sigmoid = _builder("sigmoid", Node)
silu = _builder("silu", Node)
softmax = _builder("softmax", Node)
log_softmax = _builder("log_softmax", Node)
add = _builder("add", Node, Node)
sub = _builder("sub", Node, Node)
mul = _builder("mul", Node, Node)
div = _builder("div", Node, Node)
matmul = _builder("matmul", Node, Node)
mean_squared_error = _builder("mean_squared_error", Node, Node)
mean_absolute_error = _builder("mean_absolute_error", Node, Node)
binary_cross_entropy = _builder("binary_cross_entropy", Node, Node)
cross_entropy = _builder("cross_entropy", Node, Node)
next_token_loss = _builder("next_token_loss", Node, Node)
mean_loss = _builder("mean_loss", Node, Node)


_cross_attention = _function("ls_cross_attention", _P, _P, _P, _P, C.c_int,
                             _TEXT)


def cross_attention(x, memory, mask, heads, name):
    """ls_cross_attention, of two nodes; mask is a node or None."""
    return Node(x.graph, _cross_attention(x.of, memory.of, mask and mask.of,
                                          heads, name.encode()))


_sparse_dense = _function("ls_sparse_dense", _P, _P, _P, _N, _N, _TEXT)
_sparse_dense_no_bias = _function("ls_sparse_dense_no_bias", _P, _P, _P, _N,
                                  _N, _TEXT)


def sparse_dense(indices, values, inputs, n, name, bias=True):
    """ls_sparse_dense, or without a bias; values is a node or None."""
    make = _sparse_dense if bias else _sparse_dense_no_bias
    return Node(indices.graph, make(indices.of, values and values.of, inputs,
                                    n, name.encode()))


_init_constant = _function("ls_init_constant", Init, C.c_double)
_init_random = _function("ls_init_random", Init, C.c_int, C.c_double)
_init_variance = _function("ls_init_variance", Init, C.c_int, C.c_int,
                           C.c_double)
_init_orthogonal = _function("ls_init_orthogonal", Init, C.c_double)
_init_name = _function("ls_init_name", C.c_char_p, C.c_int)
_init_named = _calls("ls_init_named", C.POINTER(Init), C.c_char_p)
_init_params = _calls("ls_init_params", _P, C.c_char_p, C.POINTER(Init))

UNIFORM, NORMAL, TRUNCATED_NORMAL = range(3)
FAN_IN, FAN_OUT, FAN_AVERAGE = range(3)


def initialiser(how):
    """The initialiser of a name of initialisers(), or of a number."""
    if not isinstance(how, str):
        return _init_constant(how)
    init = Init()
    _init_named(C.byref(init), how.encode())
    return init


def initialisers():
    """The names that initialiser takes."""
    names = []
    while name := _init_name(len(names)):
        names.append(name.decode())
    return names


def random_init(distribution, scale):
    """Draws of UNIFORM, NORMAL or TRUNCATED_NORMAL times scale."""
    return _init_random(distribution, scale)


def variance_init(distribution, fan, scale):
    """Draws of variance scale / fan (FAN_IN, FAN_OUT, FAN_AVERAGE)."""
    return _init_variance(distribution, fan, scale)


def orthogonal_init(scale=1.0):
    return _init_orthogonal(scale)


class Graph:
    """A graph to build, or the one that a model file holds."""

    def __init__(self, path=None):
        self.of = (_opened(_graph_new) if path is None
                   else _opened(_graph_load, _bytes(path)))
        _graph_errors_pass(self.of, True)

    def __del__(self):
        if getattr(self, "of", None):
            _graph_free(self.of)

    def input(self, name, shape=(), dtype=np.float32):
        """An array of every batch, by the shape of one of its rows."""
        if np.dtype(dtype) not in _DTYPES:
            raise TypeError("inputs are float32 or int32")
        sizes = (C.c_int64 * max(1, len(shape)))(*shape)
        return Node(self, _graph_input(self.of, name.encode(),
                                       _DTYPES[np.dtype(dtype)], len(shape),
                                       sizes))

    def output(self, node, name):
        _graph_output(self.of, node.of, name.encode())

    def metric(self, node):
        return _graph_metric(self.of, node.of)

    def loss(self, node):
        _graph_loss(self.of, node.of)

    def start(self, names, how):
        """Let parameters whose names a pattern matches start by an initialiser:
        its name ("he-normal"), a number they all have, or an Init."""
        init = how if isinstance(how, Init) else initialiser(how)
        _init_params(self.of, names.encode(), C.byref(init))

    def outputs(self):
        """The shape of a row of each output."""
        shapes, name = {}, _TEXT()
        while of := _graph_named(self.of, len(shapes), C.byref(name)):
            shapes[name.value.decode()] = Node(self, of).shape
        return shapes

    def inputs(self):
        """The shape of a row of each input."""
        nodes = [_graph_node(self.of, i) for i in range(_graph_nodes(self.of))]
        return {_node_name(n).decode(): Node(self, n).shape for n in nodes
                if _node_op(n) == b"input"}


# ------ optimizers ------

sgd = _function("ls_sgd", Optimizer, C.c_double)
momentum = _function("ls_momentum", Optimizer, C.c_double, C.c_double)
nesterov = _function("ls_nesterov", Optimizer, C.c_double, C.c_double)
adam = _function("ls_adam", Optimizer, C.c_double)
adamw = _function("ls_adamw", Optimizer, C.c_double)
rmsprop = _function("ls_rmsprop", Optimizer, C.c_double)
adagrad = _function("ls_adagrad", Optimizer, C.c_double)
lion = _function("ls_lion", Optimizer, C.c_double)


# ------ groups of parameters ------

_group_of = _function("ls_group_of", Group, C.c_char_p)
_group_no_decay = _function("ls_group_no_decay", Group)


def group(names, **members):
    """Parameters that a pattern matches: group("head.*", rate=10)."""
    g = _group_of(b"*")
    g.names = names.encode()  # which g keeps alive
    for name, value in members.items():
        if name not in ("rate", "decay", "vectors", "frozen"):
            raise TypeError(f"there is no {name} in a group")
        setattr(g, name, value)
    return g


def frozen(names):
    """Parameters that keep their values."""
    return group(names, frozen=True)


def no_decay():
    """Biases and scales of norms, without weight decay."""
    return _group_no_decay()


# ------ training ------


class Trainer:
    """A model with its optimizer, its devices and its workers.

    model: a Graph, or the path of a model file, whose weights it begins with.
    groups: a list of group(..), frozen(..), no_decay().
    Other options are members of ls_trainer_options, by their names.
    """

    def __init__(self, model, optimizer=None, devices=0, workers=0, axes=None,
                 cpus=None, pin=True, groups=(), **options):
        path = None if isinstance(model, Graph) else model
        graph = model if path is None else Graph(path)
        o = _defaults(_TrainerOptions, _trainer_defaults)
        names = [name for name, _ in _TrainerOptions._fields_]
        if optimizer is not None:
            o.optimizer = optimizer
        if groups:
            o.groups, o.group = len(groups), (Group * len(groups))(*groups)
        for name, value in options.items():
            if name not in names:
                raise TypeError(f"there is no option {name}")
            setattr(o, name, value.encode() if isinstance(value, str)
                    else value)
        self._inputs, self._outputs = graph.inputs(), graph.outputs()
        self._held, self._gradients = {}, weakref.WeakSet()
        self._open(graph, o, (devices, workers, axes, cpus, pin))
        if path is not None:
            self.load(path)

    def _open(self, graph, options, machine):
        devices, workers, axes, cpus, pin = machine
        m = _defaults(_MeshOptions, _mesh_defaults)
        p = _defaults(_PoolOptions, _pool_defaults)
        m.devices, m.workers, p.no_pin = devices, workers, not pin
        m.axes, m.cpus = _bytes(axes), _bytes(cpus)
        mesh = _opened(_mesh_open, C.byref(m))
        try:
            self.pool = _opened(_pool_open, mesh, C.byref(p))
        finally:
            _mesh_close(mesh)
        self._of = _opened(_trainer_open, self.pool, graph.of,
                           C.byref(options))
        self._batch = _opened(_batch_open, self.of)

    @property
    def of(self):
        """What functions of the library take."""
        if not self._of:
            raise ValueError("the trainer is closed")
        return self._of

    def close(self):
        """End the workers and free the memory; del does so too."""
        for g in list(getattr(self, "_gradients", ())):
            g.close()
        for name, end in (("_batch", _batch_close), ("_of", _trainer_close),
                          ("pool", _pool_close)):
            if getattr(self, name, None):
                end(getattr(self, name))
                setattr(self, name, None)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def _take(self, call, inputs, weights=None, optional=False):
        """Put the arrays of one call on the batch, which has no others then;
        returns the rows.  They are borrowed, and held until the next ones."""
        self._clear(inputs.keys())
        rows = 0
        for name, x in inputs.items():
            dtype, data = _look(name, x)
            shape = self._inputs.get(name)
            if shape is not None and x.shape[1:] != shape:
                raise ValueError(f"{name} has rows of {x.shape[1:]}, not "
                                 f"{shape}")
            rows = x.shape[0]
            _batch_set(self._batch, name.encode(), dtype, data, rows)
            self._held[name] = x
        for name in self._inputs:
            if name not in inputs and not optional:
                raise TypeError(f'{call} lacks the input "{name}"')
        self._weigh(weights, rows)
        return rows

    def _clear(self, names):
        """A batch on which nothing but these names is set."""
        of, held = self.of, self._held.keys()
        self._held = {}
        if held != names:
            _batch_close(self._batch)
            self._batch = None
            self._batch = _opened(_batch_open, of)

    def _weigh(self, weights, rows):
        self._weights = weights
        if weights is None:
            _batch_weights(self._batch, None, rows)
        elif _look("weights", weights)[0] != F32 or weights.ndim != 1:
            raise TypeError("weights are float32, one for each row")
        else:
            _batch_weights(self._batch, weights.ctypes.data, len(weights))

    def step(self, weights=None, /, **inputs):
        """Train on one batch: an array for each input, rows first."""
        return self._run("step", _step, inputs, weights)

    def evaluate(self, weights=None, /, **inputs):
        """The loss and the accuracy of a batch, without an update."""
        return self._run("evaluate", _evaluate, inputs, weights)

    def _run(self, name, call, inputs, weights):
        r = Result()
        self._take(name, inputs, weights)
        call(self.of, self._batch, C.byref(r), C.sizeof(r))
        return r

    def row_losses(self, **inputs):
        """The loss of each row, as evaluate has it for that row alone."""
        loss = np.empty(self._take("row_losses", inputs), np.float32)
        _row_losses(self.of, self._batch, loss.size, loss.ctypes.data)
        return loss

    def input_gradient(self, name, weights=None, /, train=False, **inputs):
        """The gradient of the batch's loss by one of its float inputs, with
        dropout as in the next step where train."""
        self._take("input_gradient", inputs, weights)
        if name not in inputs:
            raise KeyError(name)
        g = np.empty(inputs[name].shape, np.float32)
        _input_gradient(self.of, self._batch, train, name.encode(), g.size,
                        g.ctypes.data)
        return g

    def set_lr(self, lr):
        """The learning rate from the next step on, which the schedule goes
        by."""
        _set_lr(self.of, lr)

    def use_average(self, use=True):
        """Put the average of the weights in their place, or back."""
        _use_average(self.of, use)

    def place(self, placement):
        """Who updates which parameters: "shard", or "*.kernel=1:model"."""
        _state_place(self.of, 3, _bytes(placement))

    def predict(self, output, **inputs):
        """The value of an output for every row; of inputs, those it depends
        on."""
        rows = self._take("predict", inputs, optional=True)
        if output not in self._outputs:
            raise KeyError(output)
        y = np.empty((rows, *self._outputs[output]), np.float32)
        with _lacking(inputs, self._inputs):
            _predict(self.of, self._batch, output.encode(), y.size,
                     y.ctypes.data)
        return y

    @property
    def steps(self):
        """The updates done, which may be set."""
        return _trainer_step(self.of)

    @steps.setter
    def steps(self, n):
        _set_step(self.of, n)

    @property
    def hash(self):
        """SHA-256 of parameters, moments and step."""
        hex_ = C.create_string_buffer(65)
        _trainer_hash(self.of, hex_)
        return hex_.value.decode()

    def shapes(self):
        """The shape of each parameter."""
        shape = (C.c_int64 * MAX_RANK)()
        return {_param_name(self.of, i).decode():
                tuple(shape[:_param_shape(self.of, i, shape)])
                for i in range(_trainer_params(self.of))}

    def __getitem__(self, name):
        """A copy of a parameter, or of a moment such as mu.NAME."""
        y = np.empty(self._shape(name), np.float32)
        _trainer_get(self.of, name.encode(), y.size, y.ctypes.data)
        return y

    def __setitem__(self, name, values):
        y = array(np.broadcast_to(values, self._shape(name)), np.float32)
        _trainer_set(self.of, name.encode(), y.size, y.ctypes.data)

    def _shape(self, name):
        shapes = self.shapes()
        of = name if name in shapes else name.partition(".")[2]
        if of not in shapes:
            raise KeyError(name)
        return shapes[of]

    def save(self, path):
        """The weights alone, as safetensors."""
        _trainer_save(self.of, _bytes(path))

    def save_model(self, path):
        """A model file: weights and graph."""
        _save_model(self.of, _bytes(path))

    def save_folded(self, path):
        """The same with batch norms folded into the layers before them."""
        _save_folded(self.of, _bytes(path))

    def load(self, path, names=None):
        """Weights from a file; names is a pattern."""
        _trainer_load(self.of, _bytes(path), _bytes(names))

    def load_torch(self, path, names=None, layers=None):
        """Weights from a state_dict of PyTorch's that safetensors saved; layers
        renames some: "layers.0=0,head=fc"."""
        _load_torch(self.of, _bytes(path), _bytes(names), _bytes(layers))


class Gradients:
    """The gradients of a trainer in hand; batches: how many are added up."""

    def __init__(self, trainer, batches=1):
        self.trainer = trainer
        self._of = _opened(_gradients_open, trainer.of, batches)
        trainer._gradients.add(self)

    @property
    def of(self):
        """What functions of the library take."""
        if not self._of:
            raise ValueError("the trainer is closed" if not self.trainer._of
                             else "the gradients are closed")
        return self._of

    def close(self):
        """Free the memory; del and the trainer's close do so too."""
        if getattr(self, "_of", None):
            _gradients_close(self._of)
            self._of = None

    __del__ = close

    def compute(self, weights=None, /, **inputs):
        """Those of a batch and their mean, without an update."""
        return self.trainer._run(
            "compute", lambda _, *rest: _gradients_compute(self.of, *rest),
            inputs, weights)

    def add(self, weights=None, /, **inputs):
        """Add those of one more batch; mean() then reduces them."""
        self.trainer._take("add", inputs, weights)
        _gradients_add(self.of, self.trainer._batch)

    def mean(self):
        return self._result(_gradients_mean)

    def apply(self):
        """Update the trainer's parameters by the mean."""
        return self._result(_gradients_apply)

    def _result(self, call):
        r = Result()
        call(self.of, C.byref(r), C.sizeof(r))
        return r

    def __getitem__(self, name):
        """A copy of the mean gradient of a parameter."""
        g = np.empty(self.trainer._shape(name), np.float32)
        _gradients_get(self.of, name.encode(), g.size, g.ctypes.data)
        return g

    def of_device(self, device, name):
        """A copy of one device's own, before the division."""
        g = np.empty(self.trainer._shape(name), np.float32)
        _gradients_device(self.of, device, name.encode(), g.size,
                          g.ctypes.data)
        return g

    def __setitem__(self, name, values):
        g = array(np.broadcast_to(values, self.trainer._shape(name)),
                  np.float32)
        _gradients_set(self.of, name.encode(), g.size, g.ctypes.data)


# ------ predicting ------


class Predictor:
    """Outputs of a Trainer's model as it is now, or of a model file, from any
    thread, for any number of rows."""

    def __init__(self, source):
        self.of = (_opened(_predictor_open, source.of)
                   if isinstance(source, Trainer)
                   else _opened(_predictor_load, _bytes(source)))
        self.inputs = self._specs(_predictor_input)
        self.outputs = self._specs(_predictor_output)
        self._here = threading.local()

    def _specs(self, ask):
        specs, s = {}, _ArraySpec()
        while ask(self.of, len(specs), C.byref(s)):
            specs[s.name.decode()] = (s.dtype, s.rank,
                                      tuple(s.shape[:s.rank]))
        return specs

    def __del__(self):
        if getattr(self, "of", None):
            _predictor_close(self.of)

    def refresh(self, trainer):
        """Take the weights of a trainer as they are now."""
        _predictor_refresh(self.of, trainer.of)

    def save_onnx(self, path):
        _save_onnx(self.of, _bytes(path))

    def predict(self, output, **inputs):
        """The value of an output for every row; each thread has a context."""
        if output not in self.outputs:
            raise KeyError(output)
        context, held, rows = *self._context(inputs.keys()), 0
        for name, x in inputs.items():
            if name not in self.inputs:
                raise KeyError(name)
            _check_rows(name, x, self.inputs[name])
            rows = x.shape[0]
            _context_set(context, name.encode(), _DTYPES[x.dtype],
                         x.ctypes.data, rows)
            held[name] = x
        y = np.empty((rows, *self.outputs[output][2]), np.float32)
        with _lacking(inputs, self.inputs):
            _context_predict(context, output.encode(), y.size, y.ctypes.data)
        return y

    def _context(self, names):
        """This thread's, on which nothing but these names is set."""
        at = getattr(self._here, "context", None)
        if at is None or at.held.keys() != names:
            self._here.context = at = _Context(self.of)
        at.held = {}
        return at.of, at.held


class _Context:
    """One thread's; the thread's end closes it."""

    def __init__(self, predictor):
        self.of = _opened(_context_open, predictor, None)
        self.held = {}

    def __del__(self):
        if getattr(self, "of", None):
            _context_close(self.of)
