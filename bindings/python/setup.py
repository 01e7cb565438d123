# SPDX-License-Identifier: BSD-3-Clause
"""A wheel that holds the libraries is for one architecture and any Python, as
packaging/wheel/make builds it; without them it is for any, and the system's
libraries are loaded.  In a clone c.py and builders.py are written first.  All
else is in pyproject.toml."""

import glob
import os
import sys

from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

here = os.path.dirname(os.path.abspath(__file__))
bundled = glob.glob(os.path.join(here, "lockstep", "*.so.*"))
include = os.path.join(here, "..", "..", "include")

if os.path.exists(os.path.join(include, "lockstep.h")):
    sys.path.insert(0, here)
    import declare
    for name in declare.WRITERS:
        declare.main(include, os.path.join(here, "lockstep", name))


class wheel_of_any_python(bdist_wheel):
    def get_tag(self):
        arch = os.environ.get("LOCKSTEP_WHEEL_ARCH", os.uname().machine)
        return "py3", "none", f"linux_{arch}" if bundled else "any"


class WithLibraries(Distribution):
    def has_ext_modules(self):
        return bool(bundled)


setup(distclass=WithLibraries,
      cmdclass={"bdist_wheel": wheel_of_any_python},
      package_data={"lockstep": ["py.typed", "*.so.*", "bin/*"]})
