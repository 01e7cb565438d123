#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""collect.py OUT [LANGUAGE ..]: sentences out of the message catalogs of this
machine, one a line, "language<tab>sentence".  OUT.train and OUT.test have no
message in common, in whatever language.  The same catalogs give the same
bytes, whatever the locale, the time and the order of folders."""
import os
import re
import struct
import sys
import zlib

FOLDER = "/usr/share/locale"
MOST = 4000   # sentences of a language to train on, and a tenth to test with
LEAST = 1500  # else the language is left out
BYTES = 50    # of a sentence
SAME = {"pt_BR": "pt", "zh_CN": "zh", "zh_TW": "zh-Hant", "nb": "no"}


def messages(path):
    """The pairs of a catalog."""
    data = open(path, "rb").read()
    for order in "<>":
        if len(data) > 28 and struct.unpack(order + "I", data[:4])[0] == \
                0x950412de:
            break
    else:
        return
    n, ids, texts = struct.unpack(order + "3I", data[8:20])
    for i in range(n):
        pair = []
        for table in ids, texts:
            size, at = struct.unpack_from(order + "2I", data, table + 8 * i)
            pair.append(data[at:at + size].split(b"\0")[0])
        try:
            yield pair[0].decode(), pair[1].decode()
        except UnicodeDecodeError:
            pass


def clean(text):
    """A sentence without what is no language; "" where too little is left."""
    text = re.sub(r"%[-#0-9.$*l]*[a-zA-Z]|\{[^}]*\}|<[^>]*>|https?:\S+", " ",
                  text)
    text = re.sub(r"[_&~]", "", text)
    text = " ".join(re.sub(r"[0-9\"'`(){}\[\]|=+*/\\<>#$@^]+", " ",
                           text).split())
    cut = text.encode()[:BYTES].decode(errors="ignore").strip()
    letters = sum(c.isalpha() for c in cut)
    enough = len(cut.encode()) >= BYTES - 6 and 3 * letters >= 2 * len(cut)
    return cut if enough else ""


def collect(wanted):
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        language = SAME.get(name, name)
        if "@" in name or name.startswith("en_") or \
                (wanted and language not in wanted):
            continue
        folder = os.path.join(FOLDER, name, "LC_MESSAGES")
        for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if not file.endswith(".mo"):
                continue
            for text, translation in messages(os.path.join(folder, file)):
                if not text or text == translation:
                    continue
                for lang, one in (language, translation), ("en", text):
                    one = clean(one)
                    if one and (not wanted or lang in wanted):
                        found.setdefault(lang, {}).setdefault(one, text)
    return found


def main():
    found = collect(set(sys.argv[2:]))
    out = {part: open(f"{sys.argv[1]}.{part}", "w", encoding="utf-8",
                      newline="\n") for part in ("train", "test")}
    for language in sorted(found):
        parts = {"train": [], "test": []}
        for sentence, text in found[language].items():
            held = zlib.crc32(text.encode()) % 10 == 0
            parts["test" if held else "train"].append(
                (zlib.crc32(sentence.encode()), sentence))
        if len(parts["train"]) < LEAST and len(sys.argv) < 3:
            continue
        for part, most in ("train", MOST), ("test", MOST // 10):
            for _, sentence in sorted(parts[part])[:most]:
                out[part].write(f"{language}\t{sentence}\n")


main()
