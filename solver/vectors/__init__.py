"""SIMD vectors for kernels: LLVM instructions, and their NumPy twin for runs without the JIT."""
