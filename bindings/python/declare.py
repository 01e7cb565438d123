# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the headers declare for Python: lockstep/c.py, the constants,
structs and functions for ctypes; and lockstep/builders.py, a function for each
builder of nodes and each optimizer, documented as in C.

    declare.py INCLUDE FILE

INCLUDE: the folder of lockstep.h; FILE: the one of the two to write.  A tarball
has both; in a clone make writes them, or pip by setup.py.
"""

import os
import re
import sys
import textwrap

# C's type, without a const before it, and what stands for it in c.py.
SCALARS = {
    "int": "C.c_int", "int64_t": "C.c_int64", "size_t": "C.c_size_t",
    "char": "C.c_char", "double": "C.c_double", "float": "C.c_float", "bool": "C.c_bool",
    "int32_t": "C.c_int32", "uint32_t": "C.c_uint32",
    "uint64_t": "C.c_uint64", "void": "None",
}
INTEGERS = {"int": "INT", "int64_t": "INT64"}

# Builders that are no function of nodes, texts and numbers, and ls_input, which
# is a method of Graph.
LEFT_OUT = {"ls_input", "ls_parameter", "ls_buffer", "ls_own",
            "ls_own_loss", "ls_onnx_node"}

# The word for NULL is None; these may be left out too.
OPTIONAL = {"weights", "axes", "lengths"}

LICENSE = "# SPDX-License-" "Identifier: BSD-3-Clause\n"


# The headers of liblockstep_data.
OF_DATA = ("lockstep/onnx.h", "lockstep/columns.h", "lockstep/files.h",
           "lockstep/images.h", "lockstep/csource.h", "lockstep/realmlp.h")


def read_all(folder, others=OF_DATA):
    """The text of lockstep.h, of other headers, and of what these include, each
    header once."""
    seen, texts = set(), []

    def read(name):
        if name in seen:
            return
        seen.add(name)
        with open(os.path.join(folder, name)) as f:
            text = f.read()
        for inner in re.findall(r"#include <(lockstep[\w/.]*)>", text):
            read(inner)
        texts.append(text)

    for name in ("lockstep.h", *others):
        read(name)
    return "\n".join(texts)


def python_name(name):
    """ls_trainer_options: TrainerOptions."""
    return "".join(w.capitalize() for w in name[3:].split("_"))


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


class Headers:
    def __init__(self, text):
        self.text = text
        bare = without_comments(text)
        self.constants, self.enums, self.structs = {}, {}, {}
        for name, value in re.findall(r"X\((LS_\w+), (-?\d+),", text):
            self.constants[name] = int(value)
        for body, name in re.findall(
                r"enum(?:\s+\w+)?\s*\{([^{}()]*)\}\s*(\w*)\s*;", bare):
            self.read_enum(name, body)
        for name, body in re.findall(
                r"typedef struct (ls_\w+) \{(.*?)\n\} \1;", bare, re.S):
            self.structs[name] = [m for line in body.split(";")
                                  for m in self.members(line)]
        self.functions = re.findall(
            r"^LS_API\s+((?:[^;{}])*?)\b(ls_\w+)\(([^;{}]*?)\)\s*;", bare,
            re.M)

    def read_enum(self, name, body):
        number = 0
        for one in filter(None, (s.strip() for s in body.split(","))):
            word, _, value = (s.strip() for s in one.partition("="))
            number = self.number(value) if value else number
            self.constants[word] = number
            if name:
                self.enums.setdefault(name, {})[word] = number
            number += 1

    def number(self, text):
        for name, value in self.constants.items():
            text = re.sub(rf"\b{name}\b", str(value), text)
        return int(eval(text, {"__builtins__": {}}))

    def members(self, line):
        """The members that a line of a struct declares, as (name, type in C,
        type in c.py)."""
        line = " ".join(line.split())
        if not line:
            return
        pointer = re.match(r".*\(\*(\w+)\)\(", line)
        if pointer:
            yield pointer[1], "", "P"
            return
        base, rest = re.match(
            r"(?:const )?(?:struct )?(\w+)((?: const)?[ *].*)$", line).groups()
        for one in rest.split(","):
            stars, name, of = re.match(
                r"(?: const)?([ *]*(?:const)?[ *]*)(\w+)((?:\[[^]]*\])*)$",
                one.strip()).groups()
            kind = self.member_type(base, stars.count("*"))
            for count in re.findall(r"\[([^]]*)\]", of):
                kind += f" * {self.number(count)}"
            yield name, base, kind

    def member_type(self, base, stars):
        if base == "char" and stars == 1:
            return "C.c_char_p"
        if stars == 1 and base in self.structs:
            return f"C.POINTER({python_name(base)})"
        if stars:
            return "P"
        if base in self.enums:
            return "C.c_int"
        return SCALARS.get(base) or python_name(base)

    def returned(self, text):
        base = text.replace("const", "").split("*")[0].strip()
        if "*" in text:
            return "C.c_char_p" if base == "char" else "P"
        return (SCALARS.get(base) or ("C.c_int" if base in self.enums
                                      else python_name(base)))

    def parameters(self, text):
        """(type in C without const, name, number of stars or [])."""
        for one in re.split(r",(?![^(]*\))", " ".join(text.split())):
            if one in ("void", ""):
                continue
            base, stars, name, of = re.match(
                r"(?:const )?(?:struct )?(\w+) ?((?:\*|const| )*)(\w+)(\[.*)?$",
                one.strip()).groups()
            if base == "char" and "const" not in one:
                base = "bytes"  # that C writes
            yield base, name, stars.count("*") + bool(of)

    def taken(self, base, stars):
        if base == "char" and stars == 1:
            return "Text"
        if base == "ls_node" and stars == 1:
            return "NodeOrNull"
        if stars:
            return "P"
        if base in self.structs:
            return f"Value({python_name(base)})"
        if base in self.enums:
            return base
        return INTEGERS.get(base) or SCALARS[base]

    def comment_of(self, name):
        """The comment before a function's declaration, as a docstring."""
        at = re.search(rf"^LS_API [^;]*\b{name}\(", self.text, re.M).start()
        return self.comment_until(self.text.rfind("*/", 0, at))

    def comment_of_struct(self, name):
        """The same of a struct; "": none stands right before it."""
        before = re.search(rf"\*/\s*typedef struct {name} {{", self.text)
        return self.comment_until(before.start()) if before else ""

    def comment_until(self, end):
        begin = self.text.rfind("/*", 0, end)
        lines = [re.sub(r"^ \* ?", "", line)
                 for line in self.text[begin + 3:end].split("\n")]
        text = textwrap.dedent("\n".join(lines)).strip()
        text = re.sub(r"\bls_(?=[a-z])", "", text).replace("\\", "\\\\")
        return "\n\n".join(map(filled, text.split("\n\n")))


def filled(paragraph):
    """A paragraph in lines of 72 columns, but for formulas."""
    if re.search("^ ", paragraph, re.M):
        return paragraph
    return textwrap.fill(paragraph, 72, break_on_hyphens=False)


def by_need(structs):
    """Structs, each after those that its members are."""
    done = {}

    def take(name):
        if name not in done:
            for _, base, _ in structs[name]:
                if base in structs and base != name:
                    take(base)
            done[name] = structs[name]

    for name in structs:
        take(name)
    return done


def wrapped(start, items, end, indent=0):
    """start item, item, .. end, in lines of 79 columns, to be indented."""
    items = [i.replace(" ", "\0") for i in items]
    return "\n".join(textwrap.wrap(
        start.replace(" ", "\0") + ", ".join(items) + end, 79 - indent,
        subsequent_indent="    ", break_long_words=False,
        break_on_hyphens=False)).replace("\0", " ")


def docstring(doc):
    """In lines of 79 columns, indented."""
    end = ""
    if "\n" in doc or doc.endswith('"') or len(doc) > 69:
        end = "\n"
    return textwrap.indent(f'"""{doc}{end}"""\n', "    ")


def write_c(h, out):
    print(LICENSE + '"""What the headers of lockstep declare, for ctypes.  Written by\n'
          'bindings/python/declare.py."""\n\nimport ctypes as C\n\n'
          "from .ctypes_of import (Enum, Int, NodeOrNull, P, Struct, Text, "
          "Value,\n                        function)\n\n"
          "INT, INT64 = Int(C.c_int), Int(C.c_int64)\n", file=out)
    for name, value in h.constants.items():
        print(f"{name[3:]} = {value}", file=out)
    print(file=out)
    for name, constants in h.enums.items():
        print(wrapped(f"{name} = Enum(", [f'"{name[3:]}"'] + [
            f"{c[3:]}={v}" for c, v in constants.items()], ")"), file=out)
    structs = by_need(h.structs)
    for name, members in structs.items():
        print(f"\n\nclass {python_name(name)}(Struct):", file=out)
        if doc := h.comment_of_struct(name):
            print(docstring(doc), file=out)
        print(textwrap.indent(wrapped("_fields_ = [", [
            f'("{m}", {kind})' for m, _, kind in members], "]", 4), "    "),
            file=out)
        enums = [f'"{m}": {base}' for m, base, kind in members
                 if base in h.enums and kind == "C.c_int"]
        if enums:
            print(textwrap.indent(wrapped("enums = {", enums, "}", 4), "    "),
                  file=out)
    print("\n", file=out)
    print(wrapped("STRUCTS = {", [f'"{n}": {python_name(n)}'
                                  for n in structs], "}") + "\n", file=out)
    for returns, name, takes in h.functions:
        if not is_builder(returns, name):
            print(declared(h, "", returns, name, takes), file=out)


def is_builder(returns, name):
    """Those are declared where they are written out, in builders.py."""
    return returns.split() == ["ls_node", "*"] and name not in LEFT_OUT


def declared(h, of, returns, name, takes):
    """A function's declaration; `of`, "c.", is where its types are found."""
    types = [h.returned(returns)] + [h.taken(b, s)
                                     for b, _, s in h.parameters(takes)]
    types = [t if t.startswith("C.") else of + t.replace("(", "(" + of)
             for t in types]
    return wrapped(f"{of}{name} = {of}function(", [f'"{name}"'] + types, ")")


def builder(h, name, takes):
    """The parameters in Python of a builder, and what C is given."""
    python, given, last, optional = [], [], [], []
    p = list(h.parameters(takes))
    names = [n for _, n, _ in p]
    for base, n, stars in p:
        if base == "ls_node" and stars == 2:
            python.append(n)
            given.append(f"_.nodes({n})")
        elif n in ("rank", "count") and ("shape" in names or "axes" in names or
                                         "x" in names and stars == 0 and
                                         name == "ls_concat"):
            of = next(o for o in ("shape", "axes", "x") if o in names)
            of = "axes" if "axes" in names else of
            given.append(f"_.count({of})")
        elif n in ("shape", "axes"):
            whole = "axes" if n == "axes" else "whole"
            of = "" if "count" in names or n == "shape" else ", x"
            given.append(f"_.{whole}({n}{of})")
            python.append(n)
        elif base in h.structs and stars == 1:
            write = base.replace("_options", "_defaults_bytes")
            given.append(f"C.byref(_.defaults(c.{write}, c."
                         f"{python_name(base)}, **options))")
            last += [m for m, of, _ in h.structs[base] if m == "last"]
            optional.append("**options")
        else:
            python.append(n)
            given.append(n)
    return python, given, optional, bool(last)


def definition(name, python, body, doc, before, out):
    head = textwrap.wrap(f"def {name}({', '.join(python)}):", 79,
                         subsequent_indent=" " * (5 + len(name)))
    print(before + "\n\n\n"[bool(before):] + "\n".join(head) + "\n" +
          docstring(doc) + textwrap.indent(body, "    "), file=out)


def with_defaults(python):
    """Parameters of OPTIONAL at the end have the default None."""
    last = len(python)
    while last > 1 and python[last - 1] in OPTIONAL:
        last -= 1
    return python[:last] + [f"{p}=None" for p in python[last:]]


def write_builders(h, out):
    names = []
    print(LICENSE + '"""Builders of nodes, and optimizers, as the headers document them.'
          "\nWritten by bindings/python/declare.py.\n\nIn texts of C, a NULL is None; "
          "and constants such as LS_SAME are ls.SAME\nor \"same\".\n"
          '"""\n\nimport ctypes as C\n\nfrom . import c\nfrom . import nodes as _', file=out)
    for returns, name, takes in h.functions:
        before = ""
        if is_builder(returns, name):
            before = "\n\n" + declared(h, "c.", returns, name, takes)
            python, given, options, last = builder(h, name, takes)
            call = "_.made_with_last" if last else "_.made"
            body = wrapped(f"return {call}(c.{name}, ", given, ")", 4)
            python = with_defaults(python) + options
        elif returns.strip() == "ls_optimizer" and takes.startswith("double"):
            given = [n for _, n, _ in h.parameters(takes)]
            python = given + ["**members"]
            body = wrapped(f"return _.changed(_.called(c.{name}, ", given,
                           "), members)", 4)
        else:
            continue
        names.append(name[3:])
        definition(name[3:], python, body, h.comment_of(name), before, out)
    print("\n", file=out)
    print(wrapped("__all__ = [", [f'"{n}"' for n in names], "]"), file=out)


def write_whole(file, write):
    """Writes a file that nobody sees before it is complete."""
    new = f"{file}.{os.getpid()}"
    with open(new, "w") as out:
        write(out)
    os.replace(new, file)


WRITERS = {"c.py": write_c, "builders.py": write_builders}


def main(include, file):
    h = Headers(read_all(include))
    write_whole(file, lambda out: WRITERS[os.path.basename(file)](h, out))


if __name__ == "__main__":
    main(*sys.argv[1:])
