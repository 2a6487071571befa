"""Vectors of 32-bit lanes for kernels: `@intrinsic` functions and operators that emit LLVM vector instructions.

A vector has `LANES` lanes: 16 with AVX-512, 8 with AVX2, 4 elsewhere. LLVM lowers the same code to any processor; only
`_take` and `take_bytes_of_32` name instructions. Kernels write `where(mask, a + b, c)`; comparisons give masks. An
integer operand is truncated to 32 bits and used in all lanes. All lanes are unsigned.

Addresses are int64; the caller guarantees that they are inside arrays that are alive.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from pdb_core.bit_kernels import llvm_intrinsic
from pdb_core.jit import permutes_bytes, vector_lanes

LANES = vector_lanes()
PERMUTES_BYTES = permutes_bytes()

_I1, _I8, _I16, _I32, _I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
_POINTER = _I8.as_pointer()
_SHUFFLE_BYTES = {8: "llvm.x86.avx2.pshuf.b", 16: "llvm.x86.avx512.pshuf.b.512"}.get(LANES, "")


class VectorType(types.Type):
    """Vector of `LANES` unsigned integers of `bits` bits; of 1 bit: a mask."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        super().__init__(name=f"vector{LANES}x{bits}")


V32, V64, MASK = VectorType(32), VectorType(64), VectorType(1)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of: VectorType) -> None:
        super().__init__(manager, of, _ir_type(of))  # type: ignore[no-untyped-call]


def _ir_type(of: VectorType) -> Any:
    return ir.VectorType(ir.IntType(of.bits), LANES)


def _splat(builder: Any, value: Any, of: Any) -> Any:
    """Return a vector of IR type `of` with an integer in all lanes."""
    element = of.element
    if value.type.width > element.width:
        value = builder.trunc(value, element)
    elif value.type.width < element.width:
        value = builder.zext(value, element)
    undefined = ir.Constant(of, ir.Undefined)
    first = builder.insert_element(undefined, value, _I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


def _as_vector(builder: Any, value: Any, of: Any) -> Any:
    return value if isinstance(value.type, ir.VectorType) else _splat(builder, value, of)


def _call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    function_type = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(builder.module.declare_intrinsic(name, (), function_type), list(arguments))


def _pointer(builder: Any, address: Any, of: Any) -> Any:
    return builder.inttoptr(address, of.as_pointer())


def _add_operator(function: Any, emit: Any, gives_mask: bool) -> None:
    """Define an operator of two vectors, or of a vector and an integer."""

    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:  # noqa: ARG002
            vectors = [of for of in args if isinstance(of, VectorType)]
            if len(args) != 2 or not vectors or not all(isinstance(of, (VectorType, types.Integer)) for of in args):
                return None
            operands = [of if isinstance(of, VectorType) else types.int64 for of in args]
            return signature(MASK if gives_mask else vectors[0], *operands)  # type: ignore[no-untyped-call]

    Template.__name__ = f"vector_{function.__name__}"
    infer_global(function)(Template)  # type: ignore[no-untyped-call]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        of = next(value.type for value in args if isinstance(value.type, ir.VectorType))
        left, right = (_as_vector(builder, value, of) for value in args)
        return emit(builder, left, right)

    for left, right in ((VectorType, VectorType), (VectorType, types.Integer), (types.Integer, VectorType)):
        lower_builtin(function, left, right)(lower)  # type: ignore[no-untyped-call]


for _function, _method in {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.and_: "and_", operator.or_: "or_",
    operator.xor: "xor", operator.lshift: "shl", operator.rshift: "lshr",
}.items():  # fmt: skip
    _add_operator(_function, lambda builder, a, b, method=_method: getattr(builder, method)(a, b), False)
for _function, _sign in {operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.ge: ">="}.items():
    _add_operator(_function, lambda builder, a, b, sign=_sign: builder.icmp_unsigned(sign, a, b), True)


@llvm_intrinsic(V32, types.int64)
def splat(builder: Any, value: Any) -> Any:
    """Return a vector with an integer in all lanes."""
    return _splat(builder, value, _ir_type(V32))


@llvm_intrinsic(V32)
def iota(builder: Any) -> Any:  # noqa: ARG001
    """Return the vector 0, 1, 2, ..."""
    return ir.Constant(_ir_type(V32), list(range(LANES)))


@intrinsic
def where(typingctx: Any, mask: Any, a: Any, b: Any) -> Any:  # noqa: ARG001
    """Return `a` in the lanes of a mask, `b` in the others; either may be an integer."""
    of = next((t for t in (a, b) if isinstance(t, VectorType)), V32)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.select(args[0], *(_as_vector(builder, value, _ir_type(of)) for value in args[1:]))

    return of(MASK, *(t if isinstance(t, VectorType) else types.int64 for t in (a, b))), codegen


@llvm_intrinsic(types.int64, MASK)
def bits_of(builder: Any, mask: Any) -> Any:
    """Return a mask as an integer, lane 0 lowest."""
    return builder.zext(builder.bitcast(mask, ir.IntType(LANES)), _I64)


@llvm_intrinsic(MASK, MASK, MASK)
def without(builder: Any, a: Any, b: Any) -> Any:
    """Return the lanes of mask `a` that are not in mask `b`."""
    return builder.and_(a, builder.not_(b))


@llvm_intrinsic(V64, V32)
def widen(builder: Any, vector: Any) -> Any:
    """Return a vector of 64-bit lanes."""
    return builder.zext(vector, _ir_type(V64))


@llvm_intrinsic(V32, V64)
def narrow(builder: Any, vector: Any) -> Any:
    """Return the lower halves of 64-bit lanes."""
    return builder.trunc(vector, _ir_type(V32))


@llvm_intrinsic(V32, V32)
def popcounts(builder: Any, vector: Any) -> Any:
    """Return the number of one bits of each lane."""
    return _call(builder, f"llvm.ctpop.v{LANES}i32", _ir_type(V32), vector)


@llvm_intrinsic(V32, types.int64)
def load(builder: Any, address: Any) -> Any:
    """Return the vector at an address, a multiple of 4."""
    return builder.load(_pointer(builder, address, _ir_type(V32)), align=4)


@llvm_intrinsic(types.void, types.int64, V32)
def store(builder: Any, address: Any, vector: Any) -> None:
    """Write a vector to an address, a multiple of 4."""
    builder.store(vector, _pointer(builder, address, _ir_type(V32)), align=4)


@llvm_intrinsic(types.void, types.int64, V64)
def store_longs(builder: Any, address: Any, vector: Any) -> None:
    """Write a vector of 64-bit lanes to an address, a multiple of 4."""
    builder.store(vector, _pointer(builder, address, _ir_type(V64)), align=4)


def _gather(builder: Any, base: Any, index: Any, scale: int, element: Any) -> Any:
    # The index counts elements of `scale` bytes: back ends know this shape as one instruction.
    of = ir.VectorType(element, LANES)
    vector_of_pointers = ir.VectorType(_POINTER, LANES)
    pointer = _pointer(builder, base, ir.IntType(8 * scale))
    pointers = builder.gep(pointer, [index], source_etype=ir.IntType(8 * scale))
    pointers.type = vector_of_pointers
    name = f"llvm.masked.gather.v{LANES}i{element.width}.v{LANES}p0"
    every = ir.Constant(ir.VectorType(_I1, LANES), [1] * LANES)
    # The mask is a constant: LLVM needs no undefined lanes.
    return _call(builder, name, of, pointers, _I32(scale), every, ir.Constant(of, ir.Undefined))


@intrinsic(prefer_literal=True)
def gather(typingctx: Any, bits: Any, base: Any, index: Any) -> Any:  # noqa: ARG001
    """Return the words at base + `bits` / 8 * index; bits: the constant 16, 32 or 64; index: below 2^31."""
    of, scale = (V64 if bits.literal_value == 64 else V32), bits.literal_value // 8

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        words = _gather(builder, args[1], args[2], scale, ir.IntType(of.bits))
        # Each lane of 32 bits has read two halves.
        return builder.and_(words, _splat(builder, _I32(0xFFFF), words.type)) if scale == 2 else words

    return of(bits, types.int64, V32), codegen


@intrinsic(prefer_literal=True)
def take(typingctx: Any, n: Any, base: Any, index: Any) -> Any:  # noqa: ARG001
    """Return the 32-bit words at base + 4 * (index mod n); n: the constant 16, 32 or 64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:  # noqa: ARG001
        return _take(builder, args[1], args[2], n.literal_value)

    return V32(n, types.int64, V32), codegen


@llvm_intrinsic(V32, types.int64, V32)
def take_bytes_of_32(builder: Any, base: Any, index: Any) -> Any:
    """Return the bytes at base + each byte of the index; the bytes of the index are below 32."""
    of_bytes = ir.VectorType(_I8, 4 * LANES)
    if LANES == 4:  # which may have no instruction for it
        taken = _splat(builder, _I32(0), index.type)
        for shift in (_splat(builder, _I32(8 * i), index.type) for i in range(4)):
            number = builder.and_(builder.lshr(index, shift), _splat(builder, _I32(31), index.type))
            byte = builder.zext(_gather(builder, base, number, 1, _I8), index.type)
            taken = builder.or_(taken, builder.shl(byte, shift))
        return taken
    # The instruction takes one of 16 bytes by the lower half of a byte, and 0 if its uppermost bit is set: the offsets
    # set that bit where the byte is in the other half of the table.
    index = builder.bitcast(index, of_bytes)
    halves = []
    for half, offset in enumerate((112, -16)):
        part = builder.load(_pointer(builder, builder.add(base, _I64(16 * half)), ir.VectorType(_I8, 16)), align=1)
        everywhere = ir.Constant(ir.VectorType(_I32, 4 * LANES), [i % 16 for i in range(4 * LANES)])
        part = builder.shuffle_vector(part, ir.Constant(part.type, ir.Undefined), everywhere)
        number = builder.add(index, ir.Constant(of_bytes, [offset] * (4 * LANES)))
        halves.append(_call(builder, _SHUFFLE_BYTES, of_bytes, part, number))
    return builder.bitcast(builder.or_(*halves), _ir_type(V32))


def _take(builder: Any, base: Any, index: Any, n: int) -> Any:
    """Return the 32-bit words at base + 4 * (index mod n), from registers where that is faster than a gather."""
    of = _ir_type(V32)
    # With AVX2, eight permutes of a table of 64 words are no faster than a gather. Others have no such permutes.
    if n > 4 * LANES or LANES == 4:
        return _gather(builder, base, builder.and_(index, _splat(builder, _I32(n - 1), of)), 4, _I32)
    parts = [builder.load(_pointer(builder, builder.add(base, _I64(4 * i)), of), align=4) for i in range(0, n, LANES)]
    # The shape of `_permute` is not known any more once LLVM has moved parts of it out of a loop.
    if LANES == 8:
        taken, n_of_each = [_call(builder, "llvm.x86.avx2.permd", of, part, index) for part in parts], 8
    elif n == LANES:
        taken, n_of_each = [_call(builder, "llvm.x86.avx512.permvar.si.512", of, parts[0], index)], 16
    else:
        name, n_of_each = "llvm.x86.avx512.vpermi2var.d.512", 32
        taken = [_call(builder, name, of, parts[i], index, parts[i + 1]) for i in range(0, len(parts), 2)]
    while len(taken) > 1:
        # The bit of the index that tells the halves apart, moved to the sign.
        sign = builder.shl(index, _splat(builder, _I32(32 - n_of_each.bit_length()), of))
        is_high = builder.icmp_signed("<", sign, _splat(builder, _I32(0), of))
        taken = [builder.select(is_high, taken[i + 1], taken[i]) for i in range(0, len(taken), 2)]
        n_of_each *= 2
    return taken[0]


def _permute(builder: Any, vector: Any, index: Any) -> Any:
    """Return vector[index[i]] in lane i; index below `LANES`. Back ends know this shape as one instruction."""
    result = ir.Constant(vector.type, ir.Undefined)
    for i in range(LANES):
        lane = builder.extract_element(index, _I32(i))
        result = builder.insert_element(result, builder.extract_element(vector, lane), _I32(i))
    return result


@llvm_intrinsic(V32, V32, MASK, types.int64)
def compress(builder: Any, vector: Any, mask: Any, permutations: Any) -> Any:
    """Return the lanes of a mask moved to the front, in order; the other lanes hold anything.

    permutations: address of `vectors.compress_permutations()`
    """
    of = _ir_type(V32)
    if LANES == 16:
        name = "llvm.experimental.vector.compress.v16i32"
        return _call(builder, name, of, vector, mask, ir.Constant(of, ir.Undefined))
    number = builder.zext(builder.bitcast(mask, ir.IntType(LANES)), _I64)
    address = builder.add(permutations, builder.mul(number, _I64(LANES)))
    lanes = builder.load(_pointer(builder, address, ir.VectorType(_I8, LANES)), align=1)
    return _permute(builder, vector, builder.zext(lanes, of))


@llvm_intrinsic(types.void, *[types.int64] * 7)
def sum_of_bytes(
    builder: Any, records: Any, n_bytes: Any, links: Any, tables: Any, n_words: Any, scratch: Any, sums: Any
) -> None:
    """Write for each of 64 records the sum of tables[c, byte c] over its first 8 * `n_words` bytes, at most 64. Only
    with `PERMUTES_BYTES`.

    records: address of the first record, a multiple of 64
    n_bytes: of a record, a multiple of 64
    links:   address of int32[64], for each record 4 times its number, plus at most 3
    tables:  address of int8[8 * n_words, 64]; only the lower six bits of a byte count
    scratch: address of 4096 bytes, a multiple of 64
    sums:    address of int32[64]
    """
    if not PERMUTES_BYTES:
        return
    longs, of_bytes, halves = (ir.VectorType(of, 512 // of.width) for of in (_I64, _I8, _I16))
    name, eight = "llvm.x86.avx512.permvar.qi.512", ir.Constant(halves, [8] * 32)
    # The bytes of 64 records become vectors of one byte of each: words of 8 records are transposed, then the bytes
    # within each vector, then the words of the eight groups of records.
    transposed = ir.Constant(of_bytes, [8 * (i % 8) + i // 8 for i in range(64)])
    with cgutils.for_range(builder, _I64(8)) as loop:
        of_group = builder.add(links, builder.shl(loop.index, _I64(5)))
        rows = []
        for i in range(8):
            link = builder.load(_pointer(builder, builder.add(of_group, _I64(4 * i)), _I32), align=4)
            number = builder.zext(builder.lshr(link, _I32(2)), _I64)
            address = builder.add(records, builder.mul(number, n_bytes))
            rows.append(builder.load(_pointer(builder, address, longs), align=64))
        for word, row in enumerate(_transpose(builder, rows)):
            row = _call(builder, name, of_bytes, builder.bitcast(row, of_bytes), transposed)
            address = builder.add(scratch, builder.add(builder.shl(loop.index, _I64(6)), _I64(512 * word)))
            builder.store(row, _pointer(builder, address, of_bytes), align=64)
    zeros, allocate = ir.Constant(halves, [0] * 32), cgutils.alloca_once_value
    totals = [allocate(builder, zeros) for _parity in range(2)]  # type: ignore[no-untyped-call]
    with cgutils.for_range(builder, n_words) as loop:
        word, table = (builder.add(start, builder.shl(loop.index, _I64(9))) for start in (scratch, tables))
        rows = [
            builder.load(_pointer(builder, builder.add(word, _I64(64 * group)), longs), align=64) for group in range(8)
        ]
        even, odd = (builder.load(total) for total in totals)
        for i, row in enumerate(_transpose(builder, rows)):
            entries = builder.load(_pointer(builder, builder.add(table, _I64(64 * i)), of_bytes), align=1)
            chosen = _call(builder, name, of_bytes, entries, builder.bitcast(row, of_bytes))
            pairs = builder.bitcast(chosen, halves)
            even = builder.add(even, builder.ashr(builder.shl(pairs, eight), eight))
            odd = builder.add(odd, builder.ashr(pairs, eight))
        for total, value in zip(totals, (even, odd), strict=True):
            builder.store(value, total)
    even, odd = (builder.load(total) for total in totals)
    for half in range(2):
        order = [16 * half + i // 2 + 32 * (i % 2) for i in range(32)]
        ordered = builder.shuffle_vector(even, odd, ir.Constant(ir.VectorType(_I32, 32), order))
        words = builder.sext(ordered, ir.VectorType(_I32, 32))
        builder.store(words, _pointer(builder, builder.add(sums, _I64(128 * half)), words.type), align=4)


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of eight vectors of eight lanes."""
    rows = list(rows)
    for step in (1, 2, 4):
        low = [i if not i & step else 8 + i - step for i in range(8)]
        high = [i + step if not i & step else 8 + i for i in range(8)]
        for i in range(8):
            if not i & step:
                pair = rows[i], rows[i + step]
                rows[i], rows[i + step] = (
                    builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_I32, 8), order)) for order in (low, high)
                )
    return rows
