"""Configuration of numba, and the decorators of kernels.

Kernels live in files named `*_kernels.py` and are marked `@kernel`. They import only each other and leaves: files of
constants and types that import nothing else of ours. Compiled code is kept on disk in a folder named after a digest of
all these files, the numba version and the mode, because numba's own cache looks only at the file of the outermost
function and would keep an old inner one.
"""

import gc
import hashlib
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import platformdirs
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.runtime.nrt import rtsys
from numba.extending import overload

from pdb_core import __version__
from pdb_core.errors import MemoryLimitError
from pdb_core.kernel_folder import UnsafeFolderError, use_kernel_folder
from pdb_core.resources import has_addresses
from pdb_core.system import signals_held

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cluster", "pdb_service")
_ROOT = Path(__file__).parent.parent
# What follows `import` on a line of code, or in a text, which does no harm.
_IMPORT = re.compile(r"import +(\([^)]*\)|.*)")
# Lanes of the levels of x86-64, by the name in NUMBA_CPU_NAME.
_LANES_OF_LEVELS = {"x86-64-v4": 16, "x86-64-v3": 8, "x86-64-v2": 4, "x86-64": 4}
# numba fills this module from the environment; no type checker can see its names.
_settings: Any = numba.config
# Address space that is enough to compile any kernel, and to load one that is compiled.
_COMPILER_BYTES, _LOADER_BYTES = 128_000_000, 16_000_000
# Seconds that are enough to compile the kernels of beams: 5 s on an idle core, 17 s with six programs a core.
_COMPILATION_S = 30.0
JIT_DISABLED = bool(_settings.DISABLE_JIT)


def _kernel_sources() -> dict[str, bytes]:
    """Return all files of kernels, and our files that they import: their constants are compiled into the kernels.

    The keys are the names of the modules, in order.
    """
    n_root = len(str(_ROOT)) + 1
    files = [path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py")]
    paths = {str(path)[n_root:-3].replace(os.sep, ".").removesuffix(".__init__"): path for path in files}
    to_read = ["pdb_core.jit", *(name for name in paths if name.endswith("_kernels"))]
    found: dict[str, bytes] = {}
    while to_read:
        name = to_read.pop()
        if name in paths and name not in found:
            found[name] = paths[name].read_bytes()
            # What this file imports has no part in a kernel.
            source = "" if name == __name__ else found[name].decode()
            for match in _IMPORT.finditer(source):
                # `from MODULE import NAMES`, where a name may be that of a module, or `import MODULE`.
                _from, _, module = (
                    source[source.rfind("\n", 0, match.start()) + 1 : match.start()].strip().rpartition(" ")
                )
                names = re.findall(r"[\w.]+", match[1])
                to_read += [module, *names, *(f"{module}.{of}" for of in names)]
    return dict(sorted(found.items()))


def _sources_digest() -> str:
    """Return the digest of everything that decides what a kernel compiles to."""
    digest = hashlib.sha256()
    settings = numba.__version__, sys.version, _settings.BOUNDSCHECK, _settings.DEBUG, vector_lanes(), program_version()
    digest.update(repr(settings).encode())
    return digest.hexdigest()[:16]


def vector_lanes() -> int:
    """Return the 32-bit lanes of a vector register of the processor that numba compiles for.

    16 with AVX-512, 8 with AVX2, 4 elsewhere. Given a name and no features, numba compiles for the features of this
    machine, but the lanes follow the name.
    """
    if _settings.CPU_NAME in _LANES_OF_LEVELS:
        return _LANES_OF_LEVELS[_settings.CPU_NAME]
    features = _processor_features()
    return 16 if {"avx512f", "avx512bw"} <= features else 8 if "avx2" in features else 4


def permutes_bytes() -> bool:
    """Return whether the processor that numba compiles for permutes 64 bytes by one instruction (AVX-512 VBMI)."""
    return vector_lanes() == 16 and _settings.CPU_NAME is None and "avx512vbmi" in _processor_features()


def _processor_features() -> set[str]:
    if _settings.CPU_FEATURES is not None:
        return {part[1:] for part in _settings.CPU_FEATURES.split(",") if part.startswith("+")}
    try:
        return {feature for feature, is_there in llvm.get_host_cpu_features().items() if is_there}
    except RuntimeError:  # LLVM does not know the features of this processor; numba compiles without any
        return set()


def program_version() -> tuple[str, str]:
    """Return the version and the digest of the sources of the kernels.

    They must be equal in all runs of a build.
    """
    digest = hashlib.sha256()
    for name, source in _kernel_sources().items():
        digest.update(name.encode() + source)
    return __version__, digest.hexdigest()


def cache_home() -> Path:
    """Return the folder of caches: `TILE_PDB_CACHE`, or the user's cache folder.

    If it is in a home directory that is not known, as for some users of containers, the path cannot be written either.
    """
    chosen = os.environ.get("TILE_PDB_CACHE", "")
    try:
        return Path(chosen or platformdirs.user_cache_dir("tile-pdb")).expanduser()
    except RuntimeError:
        return Path("/nonexistent", chosen)


def _choose_cache_folder() -> Path | None:
    parent, name = cache_home() / "kernels", _sources_digest()
    try:
        return use_kernel_folder(parent, name)
    except UnsafeFolderError as error:
        why, advice = str(error), "remove it, or set TILE_PDB_CACHE to a folder of your own"
    except OSError:
        why, advice = f"cannot write {parent / name}", "set TILE_PDB_CACHE to a folder that can be written"
    warnings.warn(f"{why}: kernels are compiled anew in every run; {advice}", RuntimeWarning, stacklevel=2)
    return None


def keeps_compiled_kernels() -> bool:
    """Return whether kernels that are compiled are kept on disk for the next run."""
    return _cache_folder is not None and os.access(_cache_folder, os.W_OK)


_cache_folder = None if JIT_DISABLED else _choose_cache_folder()


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
    _hold_signals(compiled)
    return cast(Function, compiled)


def _hold_signals(compiled: Any) -> None:
    """Let no signal interrupt numba while it loads or compiles: exceptions are lost in the callbacks of LLVM."""
    compile_or_load = compiled.compile

    def compile_undisturbed(signature: Any) -> Any:
        with signals_held():
            return compile_or_load(signature)

    compiled.compile = compile_undisturbed


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
        _check_addresses(_LOADER_BYTES)
        try:
            # numba's own method first imports all that a compilation needs: a quarter of the time of a short command.
            rtsys.initialize(target)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(signature, target)
        except Exception as error:  # what unpickling half a file raises may be anything
            _warn_of_cache(f"{_cache_folder} is damaged ({type(error).__name__}: {error}): kernels are compiled again")
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError as error:
            _warn_of_cache(
                f"cannot write {_cache_folder} ({error.strerror}): kernels are compiled anew in every run; make room, "
                "or set TILE_PDB_CACHE to a folder that can be written"
            )


_has_warned_of_cache = False


def _warn_of_cache(text: str) -> None:
    """Warn once in a process: there are a hundred kernels."""
    global _has_warned_of_cache
    if not _has_warned_of_cache:
        _has_warned_of_cache = True
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _check_addresses(n_bytes: int) -> None:
    """Raise `MemoryLimitError` if LLVM might get no memory: it would abort the process."""
    if not has_addresses(n_bytes):
        raise MemoryLimitError(
            "the limit of the address space is too small to load or compile kernels; raise it (ulimit -v 1000000)"
        )


class NotCompiledError(Exception):
    """A kernel would have to be compiled, see `compiling_until`."""


class _Thread(local):
    loads_only = False


_thread = _Thread()


@contextmanager
def compiling_until(end: float) -> Iterator[None]:
    """Let this thread compile kernels only if there is time before `time.perf_counter()` passes `end`.

    Otherwise kernels on disk are loaded, and `NotCompiledError` is raised if one is missing, or if another thread is
    compiling: a kernel that is not loaded yet would wait for that.
    """
    has_time = end - time.perf_counter() >= _COMPILATION_S
    if not has_time and _listener.n_nested > 0:
        raise NotCompiledError
    _thread.loads_only = not has_time
    try:
        yield
    finally:
        _thread.loads_only = False


class _CompilationListener(event.Listener):
    """Announce the first compilation, and pause Python's garbage collector: it takes a sixth of the time.

    The events come one after another, since numba compiles with a lock.
    """

    def __init__(self) -> None:
        self.announce: Callable[[], None] | None = None
        self.is_set = False
        self.n_nested, self._was_enabled = 0, False
        self.seconds = self._began = 0.0

    def on_start(self, event: event.Event) -> None:
        if self.n_nested == 0:
            self._was_enabled, self._began = gc.isenabled(), time.perf_counter()
            gc.disable()
        self.n_nested += 1
        # After an error here, numba calls `on_end` too.
        if _thread.loads_only:
            raise NotCompiledError
        _check_addresses(_COMPILER_BYTES)
        is_ours = str(event.data["dispatcher"].py_func.__module__).partition(".")[0] in _PACKAGES
        if self.announce is not None and is_ours:
            announce, self.announce = self.announce, None
            announce()

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self.n_nested -= 1
        if self.n_nested == 0:
            self.seconds += time.perf_counter() - self._began
            if self._was_enabled:
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
    _register: Any = event.register
    _register("numba:compile", _listener)
