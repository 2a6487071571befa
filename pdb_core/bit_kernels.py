"""What numba reaches through LLVM intrinsics: population count, count of trailing zeros, and memory by its address.

Addresses are int64, so that one kernel can read several mapped files. Whoever passes one keeps the memory alive.
"""

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from pdb_core.jit import JIT_DISABLED

if JIT_DISABLED:

    def popcount(word: int) -> int:
        """Number of one bits of a 64-bit word."""
        return int(word).bit_count()

    def trailing_zeros(word: int) -> int:
        """Place of the lowest one bit of a 64-bit word that is not 0."""
        value = int(word)
        return (value & -value).bit_length() - 1

    def load_byte(address: int) -> int:
        """The byte at an address."""
        return ctypes.c_uint8.from_address(int(address)).value

    def prefetch(address: int) -> None:
        """Ask for the cache line of an address, without waiting for it."""

else:

    @intrinsic
    def popcount(typingctx: Any, word: Any) -> Any:  # noqa: ARG001
        """Number of one bits of a 64-bit word (int64)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            return builder.ctpop(args[0])

        return types.int64(word), codegen

    @intrinsic
    def trailing_zeros(typingctx: Any, word: Any) -> Any:  # noqa: ARG001
        """Place of the lowest one bit of a 64-bit word that is not 0 (int64)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            # True: the result for 0 is undefined, which spares a test; no caller asks for 0.
            return builder.cttz(args[0], context.get_constant(types.boolean, True))

        return types.int64(word), codegen

    @intrinsic
    def load_byte(typingctx: Any, address: Any) -> Any:  # noqa: ARG001
        """The byte at an address (int64)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            pointer = builder.inttoptr(args[0], ir.IntType(8).as_pointer())
            return builder.zext(builder.load(pointer), ir.IntType(64))

        return types.int64(types.int64), codegen

    @intrinsic
    def prefetch(typingctx: Any, address: Any) -> Any:  # noqa: ARG001
        """Ask for the cache line of an address (int64), without waiting for it."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            byte_pointer, int32 = ir.IntType(8).as_pointer(), ir.IntType(32)
            function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, int32, int32, int32])
            declare: Any = cgutils.get_or_insert_function
            function = declare(builder.module, function_type, "llvm.prefetch.p0")
            # For reading, to be kept in all caches, data rather than instructions.
            builder.call(function, [builder.inttoptr(args[0], byte_pointer), int32(0), int32(3), int32(1)])
            return context.get_dummy_value()

        return types.void(types.int64), codegen
