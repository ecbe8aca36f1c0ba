from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyMsgspec(PythonPackage):
    """A fast serialization and validation library, with support for JSON, TOML and others."""

    homepage = "https://jcristharif.com/msgspec"
    pypi = "msgspec/msgspec-0.22.0.tar.gz"

    license("BSD-3-Clause")

    version("0.22.0", sha256="0a13624a4969159fe35d8c2a3d377b2b61bbd8585e327440d5e52725affcce38")

    depends_on("c", type="build")
    depends_on("python@3.9:", type=("build", "link", "run"))
    depends_on("py-setuptools", type="build")
