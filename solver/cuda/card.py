"""The graphics card: is there one, and what is missing if not. Importing this module imports no CUDA."""

import os
from importlib.util import find_spec

from pdb_core.errors import InputError
from pdb_core.messages import format_bytes, how_to_install

# Memory that a search takes beside its tables, for each multiprocessor: its list of items, at a threshold of 80 moves.
_SEARCH_BYTES = 26_000_000


def check_card() -> None:
    """Raise `InputError` if no card can be used: the package, the driver or the card is missing."""
    # The simulator of tests is part of numba.
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return
    if find_spec("numba_cuda") is None:
        raise InputError(
            f"a card needs numba-cuda, which is not installed; use the processor, or {how_to_install('cuda')}"
        )
    from numba.cuda.cudadrv.error import CudaSupportError

    from solver.cuda.dialect import cuda

    try:
        n_cards = len(cuda.gpus)
    except CudaSupportError:
        raise InputError("the driver of NVIDIA cards was not found; install it, or use the processor") from None
    if not n_cards:
        raise InputError("no NVIDIA card was found; look at CUDA_VISIBLE_DEVICES, or use the processor")


def describe_card() -> str:
    """Return the card that would be used and the bytes of tables that fit, in words, or what is missing."""
    try:
        check_card()
    except InputError as error:
        return f"none: {str(error).partition(';')[0]}"
    from solver.cuda.dialect import IS_SIMULATED, cuda

    if IS_SIMULATED:
        return "the simulator of numba"
    free, total = cuda.current_context().get_memory_info()
    version = ".".join(map(str, cuda.runtime.get_version()))
    device = cuda.get_current_device()
    room = format_bytes(max(0, free - _SEARCH_BYTES * device.MULTIPROCESSOR_COUNT))
    name = device.name
    name = name.decode() if isinstance(name, bytes) else name
    return f"{name}, {format_bytes(free)} of {format_bytes(total)} free, room for {room} of tables, CUDA {version}"
