from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class Hindmost(PythonPackage):
    """Finds where MPI programs lose time: on every rank, in every iteration."""

    homepage = "https://github.com/hindmost/hindmost"
    git = "https://github.com/hindmost/hindmost.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("1.0.0", tag="v1.0.0")

    variant("record", default=True, description="Record programs: build the recorder ahead")
    variant("solvers", default=False, description="Run PETSc solvers with petsc4py")
    variant("plot", default=True, description="Draw figures")

    depends_on("c", type=("build", "run"), when="+record")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-scipy@1.15:", type=("build", "run"))
    depends_on("py-numba@0.60:", type=("build", "run"))
    depends_on("py-h5py@3.10:", type=("build", "run"))
    depends_on("py-msgspec@0.19:", type=("build", "run"))
    depends_on("py-shtab@1.7:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-markupsafe@2.1:", type=("build", "run"))
    depends_on("py-matplotlib@3.8:", type=("build", "run"), when="+plot")
    depends_on("mpi", type=("build", "link", "run"), when="+record")
    depends_on("mpi", type=("build", "link", "run"), when="+solvers")
    depends_on("py-mpi4py@3.1.4:", type=("build", "run"), when="+solvers")
    depends_on("py-petsc4py@3.18:", type=("build", "run"), when="+solvers")

    @property
    def recorders(self):
        return self.prefix.lib.hindmost.recorders

    @run_after("install")
    def build_recorders(self):
        if self.spec.satisfies("+record"):
            command = Executable(self.prefix.bin.hindmost)
            command(
                "doctor", "--build-recorders", self.recorders, "--mpicc", self.spec["mpi"].mpicc
            )

    def setup_run_environment(self, env):
        if self.spec.satisfies("+record"):
            env.set("HINDMOST_RECORDERS", self.recorders)

    def test_smoke(self):
        """record a program on two ranks and read the finding"""
        if not self.spec.satisfies("+record"):
            raise SkipTest("the recorder is not installed")
        launcher = join_path(self.spec["mpi"].prefix.bin, "mpiexec")
        which("sh")(self.stage_smoke_test(), self.spec["mpi"].mpicc, launcher)

    def stage_smoke_test(self):
        return join_path(install_test_root(self), "packaging", "smoke-test.sh")

    @run_after("install")
    def keep_smoke_test(self):
        cache_extra_test_sources(self, join_path("packaging", "smoke-test.sh"))
