"""Vectors of 32-bit lanes for kernels: compiled by LLVM (`llvm_vectors`), or NumPy arrays with the JIT off."""

from typing import TYPE_CHECKING

from pdb_core.jit import JIT_DISABLED

if TYPE_CHECKING or JIT_DISABLED:
    from solver.vectors.numpy_vectors import *  # noqa: F403
else:
    from solver.vectors.llvm_vectors import *  # noqa: F403
