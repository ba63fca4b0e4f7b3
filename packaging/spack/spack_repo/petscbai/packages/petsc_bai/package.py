from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class PetscBai(MakefilePackage, CudaPackage):
    """Block-asynchronous iteration for PETSc: a solver, and a multigrid smoother, in a library that PETSc
    loads at run time."""

    homepage = "https://example.org/petsc-bai"
    git = "https://example.org/petsc-bai.git"

    license("BSD-2-Clause")

    version("main", branch="main")
    version("0.4.0", tag="v0.4.0")
    version("0.3.0", tag="v0.3.0")
    version("0.2.0", tag="v0.2.0")

    variant("openmp", default=True, description="Threads on the host")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("pkgconfig", type="build")
    depends_on("petsc@3.18:3.26+mpi+shared")
    depends_on("petsc+cuda", when="+cuda")
    depends_on("cuda@13:", when="+cuda")
    depends_on("python@3.8:", type="test")
    depends_on("petsc+examples", type="test")

    conflicts("cuda_arch=none", when="+cuda", msg="name the compute capability of the GPU, as in cuda_arch=90")
    conflicts("cuda_arch=72", when="+cuda", msg="GPUs of compute capability 8.0 or newer are supported")
    conflicts("cuda_arch=75", when="+cuda", msg="GPUs of compute capability 8.0 or newer are supported")

    @property
    def arguments(self):
        spec = self.spec
        arguments = [
            f"PETSC_DIR={spec['petsc'].prefix}",
            "PETSC_ARCH=",
            f"NVCC={spec['cuda'].prefix.bin.nvcc if spec.satisfies('+cuda') else ''}",
            f"OPENMP={self.compiler.openmp_flag if spec.satisfies('+openmp') else ''}",
        ]
        if spec.satisfies("+cuda"):
            arguments.append("CUDA_ARCH=" + " ".join(spec.variants["cuda_arch"].value))
        return arguments

    @property
    def build_targets(self):
        return self.arguments + ["all"]

    @property
    def install_targets(self):
        return self.arguments + ["install", f"PREFIX={self.prefix}"]

    def check(self):
        make(*self.arguments, "test", "T=tests-registration\\|tests-ksp_interface")

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        env.set("BAI_LIB", join_path(self.prefix.lib, "libpetscbai.so"))
