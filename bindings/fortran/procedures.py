# SPDX-License-Identifier: BSD-3-Clause
"""The procedures that declare.py writes for Fortran: a function for each builder
of nodes, and for each module those whose arguments in C tell all."""

import re

LICENSE = "! SPDX-License-" "Identifier: BSD-3-Clause\n"

# C's type: what stands for it in a struct and, by value, as an argument.
SCALARS = {
    "int": "integer(c_int)", "int64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)", "double": "real(c_double)",
    "float": "real(c_float)", "bool": "logical(c_bool)",
    "uint32_t": "integer(c_int32_t)", "int32_t": "integer(c_int32_t)",
    "uint64_t": "integer(c_int64_t)", "char": "character(kind=c_char)",
}
# What a program gives for a scalar argument of a builder.
GIVEN = {"int": "integer", "int64_t": "integer", "bool": "logical",
         "double": "real(real64)"}

# Builders with a form of their own in lockstep.f90, or with functions of the
# user's.
LEFT_OUT = {"ls_input", "ls_parameter", "ls_buffer", "ls_own",
            "ls_own_loss"}

# Nodes that C takes NULL for, which may be left out.
NULLABLE = {"weights", "mask", "state", "lengths"}

# Of the functions of C that a module has; all others it has are written by hand.
WRITTEN = {
    "pool": "mesh_open mesh_close mesh_devices mesh_workers mesh_text "
            "pool_open pool_close pool_workers",
    "graph": "graph_new graph_load graph_free output loss",
    "train": "trainer_close trainer_devices trainer_params "
             "trainer_param_name trainer_get trainer_set trainer_step "
             "trainer_set_step trainer_set_lr trainer_use_average "
             "trainer_save trainer_save_model trainer_check",
    "batch": "batch_open batch_close batch_set_view step_bytes "
             "evaluate_bytes row_losses predict",
    "gradients": "gradients_open gradients_close gradients_compute_bytes "
                 "gradients_add gradients_mean_bytes gradients_get "
                 "gradients_get_device gradients_set gradients_clear "
                 "gradients_apply_bytes input_gradient",
    "predictor": "predictor_open predictor_load predictor_refresh "
                 "predictor_close context_close context_set_view "
                 "context_predict generator_open generator_close "
                 "generator_append generator_cut generator_length "
                 "generator_window",
    "run": "loader_close loader_batches loader_seconds loader_fill "
           "checkpoints_close checkpoints_wait checkpoints_count "
           "checkpoints_load checkpoints_back checkpoints_note "
           "checkpoints_skipped",
}
# Those of them that return a number, where others return a status.
NUMBERS = dict.fromkeys((
    "mesh_devices", "mesh_workers", "pool_workers", "trainer_devices",
    "trainer_params", "checkpoints_count"), "integer")
KINDS = {"int64_t": "integer(int64)", "double": "real(real64)"}
HANDLES = {f"ls_{name}" for name in (
    "mesh pool graph trainer batch gradients predictor context generator "
    "loader checkpoints").split()}
# Arguments with another name than in C.
RENAMED = {"out": "values", ("loss", "loss"): "node",
           ("row_losses", "loss"): "losses"}
# Numbers that count from 1.
FROM_ONE = {"i", "device"}
# Arguments that may be left out, and what C is given then.
DEFAULTS = {"batches": "1", "train": ".false."}
# Numbers that C stores, and what they are before.
STORED = {"step": "-1", "rows": "0"}
# What an object that is opened needs as long as it lives.
NEEDED = {"gradients_open": "trainer", "generator_open": "predictor"}
# What else is done with one.
OPENED = {
    "batch_open": "call copy_rows(trainer%of%inputs, batch%of%inputs)",
    "predictor_open":
        "call list_rows(p, predictor%of%inputs, predictor%of%outputs)",
}
OPENED["predictor_load"] = OPENED["predictor_open"]
CLOSERS = {"graph": "c_graph_free"}
# How to learn what shape an array wants.
WANTED = {
    "trainer": "call param_wanted(trainer%of, name, wanted)",
    "gradients": "call wanted_of(gradients, name, wanted)",
    "predict": "if (associated(trainer%of)) "
               "call rows_wanted(trainer%of%outputs, output, wanted)",
    "context_predict": "if (associated(context%of)) "
                       "call rows_wanted(context%of%outputs, output, wanted)",
    "input_gradient": "if (associated(trainer%of)) "
                      "call rows_wanted(trainer%of%inputs, input, wanted)",
}


def struct_name(name):
    """ls_result, but c_mesh_options: what programs do not see, or know by a type
    of lockstep_train's."""
    hidden = name.endswith("_options") or name in (
        "ls_array", "ls_array_spec", "ls_group", "ls_init", "ls_result",
        "ls_series", "ls_setting", "ls_source", "ls_transport")
    return "c_" + name[3:] if hidden else name


def kind_of(h, base, stars):
    if stars:
        return "type(c_ptr)"
    if base in h.enums:
        return "integer(c_int)"
    return SCALARS.get(base) or f"type({struct_name(base)})"


def broken(text, indent="    "):
    """A statement in lines of 79 columns."""
    lines, line = [], indent
    for word in re.findall(r"[^ ]+ ?", text):
        if len(line + word.rstrip()) > 77:
            lines.append(line.rstrip() + " &")
            line = indent + "  "
        line += word
    return "\n".join(lines + [line.rstrip()])


def is_builder(function):
    returns, name, _ = function
    return returns.split() == ["ls_node", "*"] and name not in LEFT_OUT


class Builder:
    """A function of Fortran's for a builder of C's."""

    def __init__(self, h, name, takes):
        self.h, self.name = h, name
        self.arguments, self.declared, self.locals = [], [], []
        self.before, self.given, self.after, self.last = [], [], [], []
        parameters = list(h.parameters(takes))
        self.names = [n for _, n, _ in parameters]
        for base, one, stars in parameters:
            self.take(base, one, stars)
        self.arguments += self.last

    def argument(self, one, kind, optional=False):
        (self.last if optional else self.arguments).append(one)
        attributes = ", intent(in)" + ", optional" * optional
        self.declared.append(f"{kind}{attributes} :: {one}")

    def take(self, base, one, stars):
        if base == "ls_node" and stars == 2 and one == "last":
            self.take_last(one)
        elif base == "ls_node" and stars == 2:
            self.argument(f"{one}", "type(ls_node)")
            self.declared[-1] += "(:)"
            self.locals.append("type(c_ptr), target :: of(size(x))")
            self.before.append(f"of = {one}%p")
            self.given.append("c_loc(of)")
        elif base == "ls_node" and one in NULLABLE:
            self.argument(one, "type(ls_node)", True)
            self.locals.append(f"type(c_ptr) :: c_{one}")
            self.before += [f"c_{one} = c_null_ptr",
                            f"if (present({one})) c_{one} = {one}%p"]
            self.given.append(f"c_{one}")
        elif base == "ls_node":
            self.argument(one, "type(ls_node)")
            self.given.append(f"{one}%p")
        elif one in ("shape", "axes"):
            self.take_list(base, one)
        elif one in ("rank", "count") and {"shape", "axes"} & set(self.names):
            of = "shape" if "shape" in self.names else "axes"
            self.given.append(f"size({of})")
        elif one == "count" and self.name == "ls_concat":
            self.given.append("size(x)")
        elif one == "axis":
            self.argument(one, "integer")
            of = "x(1)" if self.name == "ls_concat" else "x"
            self.given.append(f"axis_of({of}, {one})")
        elif base == "char":
            self.argument(one, "character(*)")
            self.given.append(f"c_text({one})")
        elif stars:
            self.take_options(base)
        elif base in self.h.structs:
            self.argument(one, f"type({base})")
            self.given.append(one)
        else:
            self.take_scalar(base, one)

    def take_scalar(self, base, one):
        enum = base in self.h.enums
        self.argument(one, "integer" if enum else GIVEN[base])
        c = {"int64_t": "int({}, c_int64_t)", "bool": "logical({}, c_bool)"}
        self.given.append(c.get(base, "{}").format(one))

    def take_last(self, one):
        self.last.append(one)
        self.declared.append(f"type(ls_node), intent(out), optional :: {one}")
        self.locals.append("type(c_ptr), target :: end")
        self.before.append("end = c_null_ptr")
        self.given.append("c_loc(end)")
        self.after.append("if (present(last)) last%p = end")

    def take_list(self, base, one):
        self.argument(one, "integer")
        self.declared[-1] += "(:)"
        kind = SCALARS[base]
        self.locals.append(f"{kind}, target :: list(size({one}))")
        turn = {"shape": "list = shape(size(shape):1:-1)",
                "axes": "list = axes_of(x, axes)"}[one]
        self.before.append(turn)
        self.given.append("c_loc(list)")

    def take_options(self, base):
        self.locals.append(f"{kind_of(self.h, base, 0)}, target :: o")
        write = base.replace("_options", "_defaults_bytes")
        self.before.append(f"call c_{write[3:]}(c_loc(o), c_sizeof(o))")
        self.given.append("c_loc(o)")
        for member, of, kind in self.h.structs[base]:
            if member != "size":
                self.option(member, of, kind)

    def option(self, member, base, kind):
        if member == "last":
            self.take_last(member)
            self.before += [f"if (present(last)) o%last = {self.given.pop()}"]
            return
        if base == "ls_node":
            self.argument(member, "type(ls_node)", True)
            value = f"{member}%p"
        elif kind == "P" or kind.startswith("C.POINTER"):
            return
        elif kind == "C.c_char_p":
            self.argument(member, "character(*)", True)
            self.locals.append(f"character(:), allocatable, target :: c_{member}")
            self.before.append(f"call give({member}, c_{member}, o%{member})")
            return
        elif base in self.h.structs:
            self.argument(member, f"type({base})", True)
            value = member
        else:
            enum = base in self.h.enums
            self.argument(member, "integer" if enum else GIVEN[base], True)
            value = member
        self.before.append(f"if (present({member})) o%{member} = {value}")

    def write(self, out):
        print("\n" + broken(f"function {self.name}("
                            f"{', '.join(self.arguments)}) result(node)"),
              file=out)
        for line in self.declared:
            print(broken(line, "      "), file=out)
        print("      type(ls_node) :: node", file=out)
        for line in self.locals:
            print(broken(line, "      "), file=out)
        print(file=out)
        call = (f"node%p = c_{self.name[3:]}({', '.join(self.given)})")
        for line in self.before + [call] + self.after:
            print(broken(line, "      "), file=out)
        print(f"    end function {self.name}", file=out)


def put_procedure(kind, name, arguments, lines, out):
    """A whole procedure: its head, and its lines, where "" is one."""
    print("\n" + broken(f"{kind} {name}({', '.join(arguments)})" + (
        " result(r)" if kind == "function" else "")), file=out)
    for line in lines:
        print(broken(line, "      ") if line else "", file=out)
    print(f"    end {kind} {name}", file=out)


class Procedure(Builder):
    """A procedure of Fortran's for a function of C's that is no builder."""

    def __init__(self, h, returns, name, takes):
        self.returns, self.c = returns.strip(), name[3:]
        self.own = re.sub("_bytes$", "", self.c)
        self.array = self.opened = None
        super().__init__(h, name, takes)

    def take(self, base, one, stars):
        c, one = one, RENAMED.get((self.c, one)) or RENAMED.get(one, one)
        if base in ("float", "int32_t"):
            self.take_array(base, one)
        elif base == "int64_t" and c in ("n", "size"):
            tokens = self.names[self.names.index(c) + 1] == "tokens"
            self.given.append(
                "size(tokens, kind=c_int64_t)" if tokens else "n")
        elif base == "size_t":
            self.given.append("c_sizeof(r)")
        elif base == "ls_result":
            self.take_result(one)
        elif base in HANDLES:
            self.take_handle(base, one, stars)
        elif base == "int64_t" and stars:
            self.take_stored(one)
        elif one in DEFAULTS:
            self.take_default(base, one)
        elif base == "int64_t":
            self.argument(one, "integer(int64)")
            self.given.append(one)
        elif one in FROM_ONE:
            self.argument(one, "integer")
            self.given.append(f"{one} - 1")
        else:
            super().take(base, one, stars)

    def take_array(self, base, one):
        """Of floats: two procedures have it; or of tokens."""
        self.arguments.append(one)
        if base == "float":
            self.array = one
            self.given.append("c_loc({array})")
            return
        self.declared.append(
            f"integer(int32), intent(in), target, contiguous :: {one}(:)")
        self.given.append(f"c_loc({one})")

    def take_result(self, one):
        self.arguments.append(one)
        self.declared.append(
            f"type(ls_result), intent(inout), optional :: {one}")
        self.locals.append("type(c_result), target :: r")
        self.given.append("c_loc(r)")
        self.after.append(
            f"if (s >= 0 .and. present({one})) {one} = result_of(r)")

    def take_default(self, base, one):
        self.argument(one, GIVEN[base], True)
        self.locals.append(f"{SCALARS[base]} :: c_{one}")
        self.before += [f"c_{one} = {DEFAULTS[one]}",
                        f"if (present({one})) c_{one} = {one}"]
        self.given.append(f"c_{one}")

    def take_handle(self, base, one, stars):
        self.arguments.append(one)
        ends = self.closes() or stars == 2
        self.declared.append(
            f"type({base}), intent({'inout' if ends else 'in'}) :: {one}")
        if stars == 2:
            self.opened = one
            self.locals.append("type(c_ptr), target :: p")
            self.given.append("c_loc(p)")
        else:
            self.given.append(f"pointer_of({one})")

    def take_stored(self, one):
        optional = ", optional" * (one == "rows")
        self.arguments.append(one)
        self.declared.append(f"integer(int64), intent(out){optional} :: {one}")
        self.locals.append(f"integer(c_int64_t), target :: c_{one}")
        self.before.append(f"c_{one} = {STORED[one]}")
        self.given.append(f"c_loc(c_{one})")
        self.after.append(f"if (present({one})) " * bool(optional) +
                          f"{one} = c_{one}")

    def closes(self):
        return re.search("_(close|free)$", self.c)

    def call(self, array=""):
        return f"c_{self.c}({', '.join(self.given)})".format(array=array)

    def holding(self):
        of = self.opened
        needs = NEEDED.get(self.c)
        hold = (f"call hold({of}, p, {CLOSERS.get(of, f'c_{of}_close')}"
                f"{', ' + needs if needs else ''})")
        if self.c not in OPENED:
            return [f"if (s >= 0) {hold}"]
        return ["if (s >= 0) then", "  " + hold, "  " + OPENED[self.c],
                "end if"]

    def write(self, out):
        of = self.arguments[0]
        kind = NUMBERS.get(self.c) or KINDS.get(self.returns)
        if self.closes():
            put_procedure("subroutine", f"ls_{self.own}", self.arguments, [
                *self.declared, "", f"call release({of}%of)"], out)
        elif self.returns == "void":
            put_procedure("subroutine", f"ls_{self.own}", self.arguments, [
                *self.declared, "", f"call {self.call()}"], out)
        elif "*" in self.returns:
            put_procedure("function", f"ls_{self.own}", self.arguments, [
                *self.declared, "character(:), allocatable :: r", "",
                f"r = text_of({self.call()})"], out)
        elif kind:
            put_procedure("function", f"ls_{self.own}", self.arguments, [
                *self.declared, f"{kind} :: r", "", f"r = {self.call()}"], out)
        elif self.array:
            self.write_array("real32", out)
            self.write_array("real64", out)
        else:
            after = self.after + (self.holding() if self.opened else [])
            self.write_status(f"ls_{self.own}", self.declared, self.locals,
                              self.before, self.call(), after, out)

    def write_status(self, name, declared, locals_, before, call, after, out):
        """One that ends as all do that can fail."""
        put_procedure("subroutine", name, self.arguments + ["stat", "errmsg"], [
            *declared, "integer, intent(out), optional :: stat",
            "character(*), intent(inout), optional :: errmsg", *locals_,
            "integer :: s", "", *before, f"s = {call}", *after,
            "call ended(s, stat, errmsg)"], out)

    def write_array(self, kind, out):
        """One with an array of real32, or real64, which are copied."""
        x, stores = self.array, not self.own.endswith("_set")
        wanted = WANTED.get(self.c) or WANTED.get(self.c.split("_")[0])
        fixed = self.c in ("row_losses", "generator_append")
        declared = self.declared + [
            f"real({kind}), intent({'inout' if stores else 'in'}), target, "
            f"contiguous :: {x}({':' if fixed else '..'})"]
        locals_ = self.locals + ["integer(c_int64_t) :: n"]
        before, after = self.before + [f"n = count_of({x})"], []
        if kind == "real64":
            locals_ = ["real(real32), allocatable, target :: floats(:)",
                       *locals_]
            # Rows of weight 0 stay as they are.
            before.append(f"floats = floats_of({x})" if not stores or "predict"
                          in self.c else "allocate (floats(n))")
            after.append(f"call give_floats(s, floats, {x})" if stores else "")
        if not fixed:
            text = next(a for a in self.arguments
                        if a in ("name", "output", "input"))
            judged = f'judged("ls_{self.own}", {text}, {x}, wanted)'
            locals_ = ["integer, allocatable :: wanted(:)", *locals_]
            # C is called all the same, where other ranks wait for this one.
            before = [*before, wanted, f"if ({judged} < 0) n = -1"]
            after = [f"if (n < 0) s = {judged}", *after]
        self.write_status(f"{self.own}_{kind}", declared, locals_, before,
                          self.call("floats" if kind == "real64" else x),
                          [line for line in after if line], out)


SETTERS = {"real32": ("real", "LS_F32", None), "int32": ("integer", "LS_I32", None),
           "real64": ("real", "LS_F32", "as_floats"),
           "int64": ("integer", "LS_I32", "as_integers")}


def write_setters(of, out):
    """The four procedures that set rows: two borrow them and two convert."""
    for kind, (base, dtype, convert) in SETTERS.items():
        name = f'"ls_{of}_set"'
        attributes = "contiguous, target" if convert else "pointer"
        put = f"put_rows({of}, {name}, c_{of}_set_view, input, {dtype}, values, "
        lines = [
            f"type(ls_{of}), intent(in) :: {of}",
            "character(*), intent(in) :: input",
            f"{base}({kind}), intent(in), {attributes} :: values(..)",
            "integer, intent(out), optional :: stat",
            "character(*), intent(inout), optional :: errmsg",
            "integer :: s"]
        if convert:
            lines += [
                "type(c_ptr) :: p", "", "p = c_null_ptr",
                f"if (associated({of}%of) .and. is_there(values)) "
                f"p = {convert}({of}%of, trim(input), values)",
                f"s = {put}p)"]
        else:
            lines += [
                "", "if (associated(values)) then", f"  s = {put}c_loc(values))",
                "else", f"  s = refuse({of}, {name}, c_{of}_set_view, input, "
                'LS_EINVAL, "is not allocated")', "end if"]
        put_procedure("subroutine", f"{of}_set_{kind}",
                      [of, "input", "values", "stat", "errmsg"],
                      lines + ["call ended(s, stat, errmsg)"], out)


# A node and a number: the factor of the node, and what is added.
ARITHMETIC = {
    "shifted": ("x, by", "1d0", "by"), "shifted_left": ("by, x", "1d0", "by"),
    "lowered": ("x, by", "1d0", "-by"), "lowered_left": ("by, x", "-1d0", "by"),
    "scaled": ("x, by", "by", "0d0"), "scaled_left": ("by, x", "by", "0d0"),
    "divided": ("x, by", "1d0 / by", "0d0"),
}


def write_arithmetic(out):
    for name, (arguments, factor, shift) in ARITHMETIC.items():
        put_procedure("function", name, arguments.split(", "), [
            "type(ls_node), intent(in) :: x", "real(real64), intent(in) :: by",
            "type(ls_node) :: r", "", f"r = ls_scale_shift(x, {factor}, {shift})"],
            out)


def write_procedures(h, module, out):
    print("    " + LICENSE + f"    ! What lockstep_{module}.f90 has of the headers, "
          "as they document it.\n    ! Written by bindings/fortran/declare.py.",
          file=out)
    functions = {name[3:]: (returns, name, takes)
                 for returns, name, takes in h.functions}
    for c in WRITTEN[module].split():
        if c.endswith("_set_view"):
            write_setters(c[:-9], out)
        else:
            Procedure(h, *functions[c]).write(out)
    if module == "graph":
        write_arithmetic(out)
        for one in filter(is_builder, h.functions):
            Builder(h, one[1], one[2]).write(out)
