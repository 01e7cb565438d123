# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the headers declare for Fortran: lockstep_c.f90, the constants,
structs and functions of C that the modules written by hand use; builders.inc, a
function for each builder of nodes; and lockstep.f90, the module that programs
use, which has the names of all others that begin with ls_.

    declare.py INCLUDE FOLDER

INCLUDE: the folder of lockstep.h; FOLDER: of the modules.  All are in the
repository; test/fortran.sh compares what is written with them.
"""

import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "python"))
from declare import Headers, by_need, read_all  # noqa: E402

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
LEFT_OUT = {"ls_input", "ls_parameter", "ls_own", "ls_own_loss"}

# Nodes that C takes NULL for, which may be left out.
NULLABLE = {"weights", "mask", "state", "lengths"}

# The modules written by hand, each after those that it uses.
MODULES = ["base", "pool", "graph", "train", "batch", "gradients", "predictor",
           "run"]


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


def write_structs(h, used, out):
    for name, members in by_need(h.structs).items():
        if name not in used:
            continue
        print(f"  type, bind(c) :: {struct_name(name)}", file=out)
        for member, base, kind in members:
            pointer = kind in ("P", "C.c_char_p") or kind.startswith(
                "C.POINTER")
            of = "".join(f"({n})" for n in re.findall(r" \* (\d+)", kind))
            print(f"    {kind_of(h, base, pointer)} :: {member}{of}",
                  file=out)
        print(f"  end type {struct_name(name)}\n", file=out)


def write_function(h, returns, name, takes, out):
    given = list(h.parameters(takes))
    names = [n for _, n, _ in given]
    kind, what = ("subroutine", "") if returns.strip() == "void" else (
        "function", " result(r)")
    print(broken(f"{kind} c_{name[3:]}({', '.join(names)}){what} "
                 f'bind(c, name="{name}")'), file=out)
    print("      import", file=out)
    for base, one, stars in given:
        if base == "char" and stars == 1:
            print(f"      character(kind=c_char), intent(in), optional :: "
                  f"{one}(*)", file=out)
        else:
            print(f"      {kind_of(h, base, stars)}, value :: {one}", file=out)
    if what:
        stars = returns.count("*")
        base = returns.replace("const", "").replace("*", "").strip()
        print(f"      {kind_of(h, base, stars)} :: r", file=out)
    print(f"    end {kind} c_{name[3:]}\n", file=out)


def needed(h, functions, by_hand):
    """The structs that these functions, modules and each other's members have.
    """
    used = set()

    def take(name):
        if name in h.structs and name not in used:
            used.add(name)
            for _, base, kind in h.structs[name]:
                if not (kind == "P" or kind.startswith("C.POINTER")):
                    take(base)

    for returns, _, takes in functions:
        take(returns.replace("const", "").replace("*", "").strip())
        for base, _, _ in h.parameters(takes):
            take(base)
    for name in h.structs:
        if f"type({struct_name(name)})" in by_hand:
            take(name)
    return used


def is_builder(function):
    returns, name, _ = function
    return returns.split() == ["ls_node", "*"] and name not in LEFT_OUT


def write_c(h, functions, by_hand, out):
    print(LICENSE + "! What the headers of lockstep declare, for lockstep.f90.  Written "
          "by\n! fortran/declare.py.\nmodule lockstep_c\n"
          "  use, intrinsic :: iso_c_binding\n  implicit none\n  public\n",
          file=out)
    functions_too = {name for _, name, _ in h.functions}
    for name, value in h.constants.items():
        # Fortran does not tell LS_ADAM, a kind, from ls_adam, its maker.
        if name.lower() not in functions_too:
            print(f"  integer, parameter :: {name} = {value}", file=out)
    print(file=out)
    write_structs(h, needed(h, functions, by_hand), out)
    print("  interface", file=out)
    for one in functions:
        write_function(h, *one, out)
    print("  end interface\nend module lockstep_c", file=out)


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


def write_builders(h, out):
    print("    " + LICENSE + "    ! The builders of nodes, as the headers document them.  Written "
          "by\n    ! fortran/declare.py.", file=out)
    for one in filter(is_builder, h.functions):
        Builder(h, one[1], one[2]).write(out)


def is_value(function):
    """Is it a maker of a struct, which C's interface serves as it is?"""
    returns, name, takes = function
    return (returns.strip() in ("ls_optimizer", "ls_schedule")
            and "*" not in takes)


def own_names(texts):
    """What the modules by hand and the builders define for programs."""
    names = set()
    for text in texts:
        names |= set(re.findall(
            r"^ *(?:subroutine|function|interface|type(?:, extends\(ls_handle\))?"
            r"(?:, bind\(c\))? ::) (ls_\w+)", text, re.M))
        names |= set(re.findall(r"^  integer, parameter :: (LS_\w+)", text,
                                re.M))
    return names - {"ls_handle"}


def write_module(makers, texts, out):
    print(LICENSE + "! lockstep for Fortran.  A procedure has the name and the meaning of "
          "C's.\n! Errors go to stat= and errmsg= as with allocate, and stop the "
          "program where\n! stat is absent.  Written by fortran/declare.py.\n"
          "module lockstep", file=out)
    renames = ", ".join(f"ls_{name} => c_{name}" for name in makers)
    print(broken(f"use lockstep_c, only: {renames}", "  "), file=out)
    for name in MODULES[1:]:
        print(f"  use lockstep_{name}", file=out)
    print("  implicit none\n  private", file=out)
    names = sorted(own_names(texts) | {f"ls_{m}" for m in makers}, key=str.lower)
    operators = [f"operator({o})" for o in "+-*/"]
    for name in operators + names:
        print(f"  public :: {name}", file=out)
    print("end module lockstep", file=out)


def main(include, folder):
    h = Headers(read_all(include, ()))  # what liblockstep has

    def text(name):
        with open(os.path.join(folder, name)) as f:
            return f.read()

    def writing(name):
        return open(os.path.join(folder, name), "w")

    by_hand = [text(f"lockstep_{name}.f90") for name in MODULES]
    makers = [f[1][3:] for f in h.functions if is_value(f)]
    used = set(re.findall(r"\bc_([a-z]\w*)", " ".join(by_hand))) | set(makers)
    options = {b.replace("_options", "_defaults_bytes")
               for one in filter(is_builder, h.functions)
               for b, _, stars in h.parameters(one[2])
               if b in h.structs and stars}
    functions = [f for f in h.functions
                 if is_builder(f) or f[1][3:] in used or f[1] in options]
    with writing("lockstep_c.f90") as out:
        write_c(h, functions, " ".join(by_hand), out)
    with writing("builders.inc") as out:
        write_builders(h, out)
    texts = by_hand + [text("lockstep_c.f90"), text("builders.inc")]
    with writing("lockstep.f90") as out:
        write_module(makers, texts, out)


main(*sys.argv[1:])
