"""Configuration of numba, and the decorators of kernels.

Kernels live in files named `*_kernels.py` and are marked `@kernel`. They import only each other and the files of
constants and types in `_LEAVES`. Compiled code is kept on disk in a folder named after a digest of all these files, the
numba version and the mode, because numba's own cache looks only at the file of the outermost function and would keep an
old inner one.

A process that loads a compiled kernel runs it. So the folder is used only if nobody but this user and root can write to
it. It may be read-only.
"""

import functools
import gc
import hashlib
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import platformdirs
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.runtime.nrt import rtsys
from numba.extending import overload

from pdb_core.system import signals_held

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cluster", "pdb_service")
_ROOT = Path(__file__).parent.parent
# Files of ours that kernels import beside each other. They import nothing else of ours.
_LEAVES = (
    "pdb_core/encoding.py", "pdb_core/jit.py", "pdb_core/types.py", "pdb_query/records.py", "solver/algorithms.py",
    "solver/engine/layout.py", "solver/vectors/llvm_vectors.py", "solver/vectors/numpy_vectors.py",
)  # fmt: skip
# Lanes of the levels of x86-64, by the name in NUMBA_CPU_NAME.
_LANES_OF_LEVELS = {"x86-64-v4": 16, "x86-64-v3": 8, "x86-64-v2": 4, "x86-64": 4}
# Folders of other digests are removed if they were not used for this time.
KEPT_DAYS = 28
_IN_EVERY_RUN = "kernels are compiled anew in every run"
_SET_CACHE = "set TILE_PDB_CACHE to a folder that can be written"
# numba fills this module from the environment; no type checker can see its names.
_settings: Any = numba.config
JIT_DISABLED = bool(_settings.DISABLE_JIT)


def vector_lanes() -> int:
    """Return the 32-bit lanes of a vector register of the processor that numba compiles for.

    16 with AVX-512, 8 with AVX2, 4 elsewhere. If the environment names a level of x86-64, the lanes are those of the
    level.
    """
    features = _processor_features()
    lanes = 16 if {"avx512f", "avx512bw"} <= features else 8 if "avx2" in features else 4
    return _LANES_OF_LEVELS.get(_settings.CPU_NAME, lanes)


def permutes_bytes() -> bool:
    """Return whether the processor that numba compiles for permutes 64 bytes by one instruction (AVX-512 VBMI)."""
    return vector_lanes() == 16 and _settings.CPU_NAME is None and "avx512vbmi" in _processor_features()


def _processor_features() -> set[str]:
    """Return the features of this machine, or none if the environment names those that numba compiles for."""
    with suppress(RuntimeError):  # LLVM does not know the features of this processor; numba compiles without any
        if _settings.CPU_FEATURES is None:
            return {feature for feature, is_there in llvm.get_host_cpu_features().items() if is_there}
    return set()


def kernels_digest(root: Path = _ROOT) -> str:
    """Return the digest of everything that decides what a kernel compiles to: its sources, versions, and the mode."""
    settings = numba.__version__, sys.version, _settings.BOUNDSCHECK, _settings.DEBUG, vector_lanes()
    digest = hashlib.sha256(repr(settings).encode())
    kernels = (path for package in _PACKAGES for path in (root / package).rglob("*_kernels.py"))
    for path in sorted([*kernels, *(root / leaf for leaf in _LEAVES)]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def cache_home() -> Path:
    """Return the folder of caches: `TILE_PDB_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("TILE_PDB_CACHE")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("tile-pdb")


def _kernel_folder() -> Path | None:
    """Return the folder of compiled kernels, which is made if it is missing. Warn and return None if none can be used.

    Those of other digests that no process has begun to use for `KEPT_DAYS` are removed.
    """
    folder = cache_home() / "kernels" / kernels_digest()
    try:
        cache_home().mkdir(mode=0o700, parents=True, exist_ok=True)  # `mode` is not that of parents
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
            status = each.stat()
            # The mode is not corrected: another user may already have written to it.
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
                why = f"users other than you can write to {each} (owner {status.st_uid}, mode {status.st_mode:o})"
                _warn(f"{why}: {_IN_EVERY_RUN}; remove it, or set TILE_PDB_CACHE to a folder of your own")
                return None
    except OSError:
        _warn(f"cannot write {folder}: {_IN_EVERY_RUN}; {_SET_CACHE}")
        return None
    with suppress(OSError):  # it is read-only
        os.utime(folder)
        oldest = time.time() - KEPT_DAYS * 86_400
        for other in folder.parent.iterdir():
            if re.fullmatch("[0-9a-f]{16}", other.name) and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@functools.cache  # once: there are a hundred kernels
def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=1)


_cache_folder = None if JIT_DISABLED else _kernel_folder()


def keeps_compiled_kernels() -> bool:
    """Return whether kernels that are compiled are kept on disk for the next run."""
    return _cache_folder is not None and os.access(_cache_folder, os.W_OK)


def kernel(function: Function) -> Function:
    """Compile `function` at its first call: nopython, GIL released, kept on disk. With the JIT off, return it."""
    return _compiled(function, counts_references=True)


def borrowing_kernel(function: Function) -> Function:
    """Compile a function that makes no array and keeps none: as `kernel` does, without counts of references.

    numba counts a reference to each array of each argument when a function is entered and left, two atomic operations.
    A small function that gets many arrays in a tuple would spend most of its time on them.
    """
    return _compiled(function, counts_references=False)


def inlined_kernel(function: Function) -> Function:
    """Compile as `borrowing_kernel` does, but into each kernel that calls it, without a separate file on disk.

    A function that gets large tuples would otherwise spend much of its time on moving their fields to the stack and
    back. Python cannot call the function: its wrapper for Python is left out, which takes as long to compile as the
    function itself if it has many arguments.
    """
    return _compiled(function, counts_references=False, is_inlined=True)


def chosen_by_type(choices: dict[type, Any]) -> Any:
    """Return a function that returns one of some kernels, chosen by the type of its argument.

    The types are those of NamedTuples, or NoneType. In a kernel the choice is made when it is compiled, and the kernels
    that are not chosen are not compiled.
    """

    def choose(value: Any) -> Any:
        return choices[type(value)]

    if not JIT_DISABLED:

        def compile_choice(value: Any) -> Callable[..., Any]:
            chosen = choices[getattr(value, "instance_class", type(None))]
            return lambda value: chosen  # noqa: ARG005 (the signature is that of `choose`)

        options: Any = {"_nrt": True, "forceinline": True}
        overload(choose, jit_options=options, strict=False)(compile_choice)
    return choose


def _compiled(function: Function, *, counts_references: bool, is_inlined: bool = False) -> Function:
    if JIT_DISABLED:
        return function
    # Without the runtime that counts references, a function that makes an array does not compile. Each kernel states
    # it, because the default is the setting of the calling kernel.
    options: dict[str, Any] = {"_nrt": counts_references, "forceinline": is_inlined}
    # No kernel is called from C.
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": is_inlined}
    compiled = numba.njit(nogil=True, **options)(function)
    if _cache_folder is not None and not is_inlined:
        compiled._cache = _KernelCache(function)
    # No signal interrupts numba while it loads or compiles: exceptions are lost in the callbacks of LLVM.
    compiled.compile = signals_held()(compiled.compile)
    return cast(Function, compiled)


class _KernelLocator(UserProvidedCacheLocator):
    """Place of kernels in the cache folder. If it is read-only, numba itself would use a folder beside our sources."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return f"{_cache_folder}/{self.get_suitable_cache_subpath(self._py_file)}"


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]  # noqa: RUF012 (as in `CacheImpl`)


class _KernelCache(FunctionCache):
    """Cache of a kernel, in which a full or damaged folder costs a compilation, and nothing else."""

    _impl_class = _KernelCacheImpl

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            # numba's own method first imports all that a compilation needs: a quarter of the time of a short command.
            rtsys.initialize(target)
            return self._load_overload(signature, target)
        except Exception:  # what unpickling half a file raises may be anything
            _warn(f"{_cache_folder} is damaged: kernels are compiled again")
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError as error:
            _warn(f"cannot write {_cache_folder} ({error.strerror}): {_IN_EVERY_RUN}; make room, or {_SET_CACHE}")


class _CompilationListener(event.Listener):
    """Announce the first compilation, and pause Python's garbage collector: it takes a sixth of the time.

    The events come one after another, since numba compiles with a lock.
    """

    announce: Callable[[], None] | None = None
    is_set = False
    seconds = _began = 0.0
    _n_nested = 0

    def on_start(self, event: event.Event) -> None:
        if self._n_nested == 0:
            self._began = time.perf_counter()
            gc.disable()
        self._n_nested += 1
        is_ours = str(event.data["dispatcher"].py_func.__module__).partition(".")[0] in _PACKAGES
        if self.announce is not None and is_ours:
            announce, self.announce = self.announce, None
            announce()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._n_nested -= 1
        if self._n_nested == 0:
            self.seconds += time.perf_counter() - self._began
            gc.enable()


_listener = _CompilationListener()


def seconds_compiling() -> float:
    """Return the seconds in which this process has compiled kernels."""
    return _listener.seconds


def announce_compilation(announce: Callable[[], None], *, only_first: bool = False) -> None:
    """Call `announce` once, when the first kernel that is not on disk yet is about to be compiled.

    With `only_first`, an earlier call of this function holds.
    """
    if not (only_first and _listener.is_set):
        _listener.announce, _listener.is_set = announce, True


if not JIT_DISABLED:
    event.register("numba:compile", _listener)
