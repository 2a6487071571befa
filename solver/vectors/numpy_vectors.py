"""The functions of `llvm_vectors` on NumPy arrays: what kernels use with the JIT off."""

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

LANES = 16
PERMUTES_BYTES = True

Vector = npt.NDArray[Any]


class _Lanes(np.ndarray[Any, Any]):
    """Vector that checks shifts: LLVM does not define those by the width of a lane or more."""

    def __lshift__(self, n: Any) -> Any:
        assert (np.asarray(n) < 8 * self.itemsize).all()
        return super().__lshift__(n)

    def __rshift__(self, n: Any) -> Any:
        assert (np.asarray(n) < 8 * self.itemsize).all()
        return super().__rshift__(n)


def _array_at(address: int, dtype: Any, n: int) -> Vector:
    """Return the memory at an address as an array."""
    n_bytes = n * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * n_bytes).from_address(int(address)), dtype=dtype).view(_Lanes)


def _as_vector(value: Any) -> Vector:
    """Return a vector with the lower 32 bits of an integer in all lanes; of a vector, its lower 32 bits."""
    if isinstance(value, np.ndarray):
        return value.astype(np.uint32)
    return np.full(LANES, int(value) & 0xFFFFFFFF, dtype=np.uint32).view(_Lanes)


def splat(value: int) -> Vector:
    """Return a vector with an integer in all lanes."""
    return _as_vector(value)


def iota() -> Vector:
    """Return the vector 0, 1, 2, ..."""
    return np.arange(LANES, dtype=np.uint32).view(_Lanes)


def where(mask: Vector, a: Any, b: Any) -> Vector:
    """Return `a` in the lanes of a mask, `b` in the others; either may be an integer."""
    return np.where(mask, _as_vector(a), _as_vector(b)).view(_Lanes)


def bits_of(mask: Vector) -> int:
    """Return a mask as an integer, lane 0 lowest."""
    return sum(1 << i for i in np.flatnonzero(mask).tolist())


def without(a: Vector, b: Vector) -> Vector:
    """Return the lanes of mask `a` that are not in mask `b`."""
    return a & ~b


def widen(vector: Vector) -> Vector:
    """Return a vector of 64-bit lanes."""
    return vector.astype(np.uint64)


def narrow(vector: Vector) -> Vector:
    """Return the lower halves of 64-bit lanes."""
    return vector.astype(np.uint32)


def popcounts(vector: Vector) -> Vector:
    """Return the number of one bits of each lane."""
    return np.bitwise_count(_as_vector(vector)).astype(np.uint32)


def load(address: int) -> Vector:
    """Return the vector at an address."""
    return _array_at(address, np.uint32, LANES).copy()


def store(address: int, vector: Vector) -> None:
    """Write a vector to an address."""
    _array_at(address, np.uint32, LANES)[:] = _as_vector(vector)


def store_longs(address: int, vector: Vector) -> None:
    """Write a vector of 64-bit lanes to an address."""
    _array_at(address, np.uint64, LANES)[:] = vector


def gather(bits: int, base: int, index: Vector) -> Vector:
    """Return the words at base + `bits` / 8 * index; bits: 16, 32 or 64."""
    scale = bits // 8
    words = [_array_at(int(base) + scale * i, f"u{scale}", 1)[0] for i in index.tolist()]
    return np.array(words, dtype=f"u{max(scale, 4)}").view(_Lanes)


def take(n: int, base: int, index: Vector) -> Vector:
    """Return the 32-bit words at base + 4 * (index mod n); n: 16, 32 or 64."""
    return _array_at(base, np.uint32, n)[_as_vector(index & (n - 1))]


def take_bytes_of_32(base: int, index: Vector) -> Vector:
    """Return the bytes at base + each byte of the index."""
    return _array_at(base, np.uint8, 32)[_as_vector(index).view(np.uint8)].view(np.uint32)


def compress(vector: Vector, mask: Vector, permutations: int) -> Vector:  # noqa: ARG001 (`llvm_vectors` needs them)
    """Return the lanes of a mask moved to the front, in order; the other lanes hold anything."""
    result = np.zeros(LANES, dtype=np.uint32).view(_Lanes)
    kept = vector[mask]
    result[: len(kept)] = kept
    return result


def sum_of_bytes(records: int, n_bytes: int, links: int, tables: int, n_words: int, _scratch: int, sums: int) -> None:
    """Write for each of 64 records the sum of tables[c, byte c] over its first 8 * `n_words` bytes."""
    n = 8 * int(n_words)
    of_cells = _array_at(tables, np.int8, n * 64).reshape(n, 64)
    totals = _array_at(sums, np.int32, 64)
    for i, link in enumerate(_array_at(links, np.int32, 64).tolist()):
        record = _array_at(records + (link >> 2) * n_bytes, np.uint8, n)
        totals[i] = of_cells[np.arange(n), record & 63].sum()
