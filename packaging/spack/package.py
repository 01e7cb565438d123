# SPDX-License-Identifier: BSD-3-Clause
# For Spack 1.0 or later, whose build systems are in a repository of packages.
# In such a repository as packages/lockstep/package.py; then, in a clone of
# lockstep, `spack dev-build lockstep@main`.
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Lockstep(AutotoolsPackage):
    """Data-parallel training of neural networks on the cores of one machine,
    or of many, to the same bytes on any number of threads and ranks."""

    license("BSD-3-Clause")

    version("main")

    variant("blis", default=True, description="Products of BLIS, too")
    variant("fortran", default=False, description="The module of Fortran")
    variant("mpi", default=False, description="Train over ranks of MPI")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python", type="build")
    depends_on("check", type="test")
    depends_on("hwloc@2.5:")
    depends_on("jansson@2.13:")
    depends_on("zlib-api")
    depends_on("libpng")
    depends_on("jpeg")
    depends_on("blis threads=none", when="+blis")
    depends_on("mpi", when="+mpi")

    def autoreconf(self, spec, prefix):
        Executable("./bootstrap")()

    def configure_args(self):
        # By its prefix: a BLIS of the system's comes first where none is named.
        args = []
        if self.spec.satisfies("+blis"):
            args.append(f"--with-blis={self.spec['blis'].prefix}")
        else:
            args.append("--without-blis")
        # A Fortran compiler of the system's would be found, too.
        if self.spec.satisfies("~fortran"):
            args.append("--without-fortran")
        if self.spec.satisfies("+mpi"):
            args += ["--with-mpi", f"MPICC={self.spec['mpi'].mpicc}"]
        return args

    def check(self):
        make("check-some",
             "TESTS=test/lib/op/test_ops test/lib/train/test_determinism test/tools/info/verify.sh")

    def installcheck(self):
        """make installcheck wants a C++ compiler, too, which nothing else does;
        test_verify asks what is installed."""

    def test_verify(self):
        """short trainings have the recorded hashes"""
        which(self.prefix.bin.join("lockstep-info"))("--verify")

    def test_ranks(self):
        """two ranks end in the state of one"""
        if self.spec.satisfies("~mpi"):
            raise SkipTest("lockstep is without MPI")
        mpirun = which(self.spec["mpi"].prefix.bin.join("mpirun"))
        tool = str(self.prefix.bin.join("lockstep-train"))
        one, two = (mpirun("-n", n, tool, "linear", "--devices", "2",
                           output=str).splitlines()[-1] for n in "12")
        assert one.startswith("state ") and one == two, (one, two)

    def test_fortran(self):
        """the example in Fortran is compiled and runs"""
        if self.spec.satisfies("~fortran"):
            raise SkipTest("lockstep is without its module for Fortran")
        modules = os.path.dirname(find(self.prefix.lib, "lockstep.mod")[0])
        source = find(self.test_suite.current_test_cache_dir,
                      "oscillator.f90")[0]
        Executable(self.compiler.fc)(
            source, "-o", "oscillator", f"-I{modules}",
            f"-L{self.prefix.lib}", f"-Wl,-rpath,{self.prefix.lib}",
            "-llockstep_fortran", "-llockstep")
        Executable("./oscillator")()

    @run_after("install")
    def keep_examples(self):
        cache_extra_test_sources(self, join_path("examples", "fortran"))

    @run_after("install")
    def without_libtool_archives(self):
        for path in find(self.prefix.lib, "*.la"):
            os.remove(path)
