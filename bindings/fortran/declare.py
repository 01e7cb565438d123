# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the headers declare for Fortran: lockstep_c.f90, the constants,
structs and functions of C that the modules use; lockstep_graph.inc and so on,
the procedures that each module has besides those written by hand; and
lockstep.f90, the module that programs use, which has the names of all others
that begin with ls_.

    declare.py INCLUDE FILE

INCLUDE: the folder of lockstep.h; FILE: the one to write, beside the modules
written by hand.  A tarball has all; in a clone make writes them.
"""

import io
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "python"))
from declare import Headers, by_need, read_all, write_whole  # noqa: E402
from procedures import (LICENSE, WRITTEN, broken, is_builder,  # noqa: E402
                        kind_of, struct_name, write_procedures)

# The modules written by hand, each after those that it uses.
MODULES = ["base", "pool", "graph", "train", "batch", "gradients", "predictor",
           "run"]


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


def write_c(h, functions, by_hand, out):
    print(LICENSE + "! What the headers of lockstep declare, for lockstep.f90.  Written "
          "by\n! bindings/fortran/declare.py.\nmodule lockstep_c\n"
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
          "program where\n! stat is absent.  Written by bindings/fortran/declare.py.\n"
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


def written(write, *given):
    """The text that this writes."""
    out = io.StringIO()
    write(*given, out)
    return out.getvalue()


def main(include, file):
    folder, name = os.path.split(file)
    h = Headers(read_all(include, ()))  # what liblockstep has
    texts = {f"lockstep_{m}.inc": written(write_procedures, h, m)
             for m in WRITTEN}
    for module in MODULES:
        with open(os.path.join(folder, f"lockstep_{module}.f90")) as f:
            texts[module] = f.read()
    used = " ".join(texts.values())
    names = set(re.findall(r"\bc_([a-z]\w*)", used))
    makers = [f[1][3:] for f in h.functions if is_value(f)]
    functions = [f for f in h.functions if f[1][3:] in names | set(makers)]
    texts["lockstep_c.f90"] = written(write_c, h, functions, used)
    texts["lockstep.f90"] = written(write_module, makers, list(texts.values()))
    write_whole(file, lambda out: out.write(texts[name]))


main(*sys.argv[1:])
