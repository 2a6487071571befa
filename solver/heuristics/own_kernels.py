"""Call of a heuristic that is a function of the user's own, by its address. See `own`."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _call(typingctx: Any, address: Any, board: Any) -> Any:  # noqa: ARG001
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[1])(context, builder, args[1])
        # The function borrows the array: without this it would count references.
        array.meminfo = ir.Constant(array.meminfo.type, None)
        cells = array._getvalue()
        function_type = ir.FunctionType(ir.IntType(64), [cells.type])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), [cells])

    return types.int64(address, board), codegen


# Returns h of a board (uint8[n_cells]) by the C function at an address, which gets the board as `own.CELLS`.
own_value: Any = intrinsic(_call)
