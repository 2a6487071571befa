"""Vectors of 32-bit lanes for kernels: compiled by LLVM (`llvm_vectors`), or NumPy arrays with the JIT off."""

from typing import TYPE_CHECKING

from pdb_core.jit import JIT_DISABLED

if TYPE_CHECKING or JIT_DISABLED:
    from solver.vectors.numpy_vectors import (
        LANES,
        bits_of,
        compress,
        gather_halves,
        gather_longs,
        gather_words,
        iota,
        load,
        load_long,
        load_word,
        narrow,
        popcounts,
        splat,
        store,
        store_long,
        store_word,
        take_of_16,
        take_of_64,
        where,
        widen,
        without,
    )
else:
    from solver.vectors.llvm_vectors import (
        LANES,
        bits_of,
        compress,
        gather_halves,
        gather_longs,
        gather_words,
        iota,
        load,
        load_long,
        load_word,
        narrow,
        popcounts,
        splat,
        store,
        store_long,
        store_word,
        take_of_16,
        take_of_64,
        where,
        widen,
        without,
    )

__all__ = [
    "LANES",
    "bits_of",
    "compress",
    "gather_halves",
    "gather_longs",
    "gather_words",
    "iota",
    "load",
    "load_long",
    "load_word",
    "narrow",
    "popcounts",
    "splat",
    "store",
    "store_long",
    "store_word",
    "take_of_16",
    "take_of_64",
    "where",
    "widen",
    "without",
]
