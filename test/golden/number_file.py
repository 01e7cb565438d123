# SPDX-License-Identifier: BSD-3-Clause
"""Number files, which test/support/golden.h reads."""


def show(name, values, to=None):
    """print "NAME COUNT" and the numbers in hexadecimal, eight in a line"""
    words = []
    for value in values:
        mantissa, exponent = float(value).hex().split("p")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        words.append(f"{mantissa}p{exponent}")
    print(name, len(words), file=to)
    for i in range(0, len(words), 8):
        print(*words[i:i + 8], file=to)
