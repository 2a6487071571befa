"""LLVM intrinsics: counts of bits, memory by its address, arrays on the stack.

Addresses are int64, so that one kernel can read several mapped files. Whoever passes one keeps the memory alive.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from pdb_core.jit import JIT_DISABLED, kernel


def llvm_intrinsic(result: types.Type, *parameters: types.Type) -> Callable[[Callable[..., Any]], Callable[..., int]]:
    """Return a decorator that makes an intrinsic of these types from a function of an IR builder and IR values."""

    def decorate(emit: Callable[..., Any]) -> Callable[..., int]:
        def define(typingctx: Any, *arguments: Any) -> Any:  # noqa: ARG001
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
                value = emit(builder, *args)
                return context.get_dummy_value() if result == types.void else value

            return result(*parameters), codegen

        define.__name__, define.__doc__ = emit.__name__, emit.__doc__
        # Numba reads the names of the arguments here; it passes the typing context for the builder.
        define.__signature__ = inspect.signature(emit)  # type: ignore[attr-defined]
        made: Callable[..., int] = intrinsic(define)
        return _called_from_python(made, len(parameters)) if JIT_DISABLED else made

    return decorate


def _called_from_python(made: Callable[..., int], n_parameters: int) -> Any:
    """Return a function that calls an intrinsic. It is compiled also with the JIT off, for kernels that are not."""
    call = (lambda first: made(first)) if n_parameters == 1 else (lambda first, second: made(first, second))
    return CPUDispatcher(call, targetoptions={"nopython": True})


@llvm_intrinsic(types.int64, types.int64)
def popcount(builder: Any, word: Any) -> Any:
    """Return the number of one bits of a 64-bit word (int64)."""
    return builder.ctpop(word)


@llvm_intrinsic(types.int64, types.int64)
def trailing_zeros(builder: Any, word: Any) -> Any:
    """Return the index of the lowest one bit of a 64-bit word that is not 0 (int64)."""
    # 1: the result for 0 is undefined, which spares a test; no caller asks for 0.
    return builder.cttz(word, ir.IntType(1)(1))


def _loader(bits: int) -> Callable[..., int]:
    @llvm_intrinsic(types.int64, types.int64)
    def load(builder: Any, address: Any) -> Any:
        pointer = builder.inttoptr(address, ir.IntType(bits).as_pointer())
        return builder.zext(builder.load(pointer, align=min(bits // 8, 4)), ir.IntType(64))

    return load


def _storer(bits: int) -> Callable[..., int]:
    @llvm_intrinsic(types.void, types.int64, types.int64)
    def store(builder: Any, address: Any, word: Any) -> None:
        pointer = builder.inttoptr(address, ir.IntType(bits).as_pointer())
        builder.store(builder.trunc(word, ir.IntType(bits)), pointer, align=4)

    return store


@llvm_intrinsic(types.int64, types.int64, types.int64)
def equal_bytes(builder: Any, address: Any, byte: Any) -> Any:
    """Return which of the 16 bytes at an address equal a byte (int64), as a mask, the first one lowest."""
    int8, int32 = ir.IntType(8), ir.IntType(32)
    bytes_type = ir.VectorType(int8, 16)
    found = builder.load(builder.inttoptr(address, bytes_type.as_pointer()), align=1)
    undefined = ir.Constant(bytes_type, ir.Undefined)
    first = builder.insert_element(undefined, builder.trunc(byte, int8), int32(0))
    every = builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(int32, 16), [0] * 16))
    mask = builder.bitcast(builder.icmp_unsigned("==", found, every), ir.IntType(16))
    return builder.zext(mask, ir.IntType(64))


@llvm_intrinsic(types.void, types.int64)
def prefetch(builder: Any, address: Any) -> None:
    """Prefetch the cache line of an address (int64)."""
    byte_pointer, int32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32])
    function = builder.module.declare_intrinsic("llvm.prefetch.p0", (), function_type)
    # For reading, to be kept in all caches, data rather than instructions.
    builder.call(function, [builder.inttoptr(address, byte_pointer), int32(0), int32(3), int32(1)])


@intrinsic(prefer_literal=True)
def _stack_array(typingctx: Any, n: Any) -> Any:  # noqa: ARG001
    """Return an array of `n` numbers (int64), not cleared. It exists while the calling function runs.

    n: a constant. It lies on the stack: no allocation, no count of references, and each thread has its own. Never
    return it.
    """
    array_type = types.Array(types.int64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        # In the first block of the function, so that a loop takes no more; not `alloca_once`, which clears it.
        with builder.goto_entry_block():
            data = builder.alloca(ir.ArrayType(ir.IntType(64), n.literal_value))
        array = context.make_array(array_type)(context, builder)
        length, step = (context.get_constant(types.intp, number) for number in (n.literal_value, 8))
        context.populate_array(
            array,
            data=builder.bitcast(data, array.data.type),
            shape=[length],
            strides=[step],
            itemsize=step,
            meminfo=None,
        )
        return array._getvalue()

    return array_type(n), codegen


# Without the JIT, no function has a stack of its own.
stack_array: Any = partial(np.empty, dtype=np.int64) if JIT_DISABLED else _stack_array
# Return the unsigned number of 8, 16 or 32 bits, or the int64, at an address (int64). Addresses of words and of longs
# are multiples of 4.
load_byte, load_half, load_word, load_long = (_loader(bits) for bits in (8, 16, 32, 64))
# Write the lower 32 bits of an integer, or all, to an address, a multiple of 4 (both int64).
store_word, store_long = (_storer(bits) for bits in (32, 64))


@kernel
def transpose_bits(square: Any) -> None:
    """Transpose 64x64 bits: exchange bit j of `square[i]` and bit i of `square[j]`; uint64[64], mutated."""
    mask = np.uint64(0x00000000FFFFFFFF)
    shift = 32
    while shift != 0:
        for first in range(0, 64, 2 * shift):
            for i in range(first, first + shift):
                lower, upper = square[np.uint64(i)], square[np.uint64(i + shift)]
                change = ((lower >> np.uint64(shift)) ^ upper) & mask
                square[np.uint64(i)] = lower ^ (change << np.uint64(shift))
                square[np.uint64(i + shift)] = upper ^ change
        shift >>= 1
        mask ^= mask << np.uint64(shift)


@kernel
def transpose_rows(bits: Any, rows: Any, first_word: int) -> None:
    """Write each column of some rows of bits into a row, from `first_word` on.

    bits  uint64[64 * m, r]
    rows  uint64[n, w]       n <= 64 * r; mutated
    """
    square = np.empty(64, dtype=np.uint64)
    for w in range(bits.shape[1]):
        n = min(64, rows.shape[0] - 64 * w)
        for group in range(bits.shape[0] >> 6):
            for i in range(64):
                square[i] = bits[64 * group + i, w]
            transpose_bits(square)
            for j in range(n):
                rows[64 * w + j, first_word + group] = square[j]
