# SPDX-License-Identifier: BSD-3-Clause
"""Prints the folder below a prefix in which this Python looks for packages.

    place.py PREFIX

Where it looks in none there, it is the usual one, which PYTHONPATH names then.
"""

import site
import sys
import sysconfig

prefix = sys.argv[1].rstrip("/")
# Debian's own scheme puts a "local" behind the prefix, whatever that is.
usual = sysconfig.get_path("purelib", "posix_prefix",
                           {"base": prefix, "platbase": prefix})
print(next((folder for folder in site.getsitepackages()
            if folder.startswith(prefix + "/lib/")), usual))
