"""Configuration of numba, and the decorators of kernels.

Kernels live in files named `*_kernels.py` and are marked `@kernel`. Compiled code is kept on disk in a folder named
after a digest of all kernel sources (and what they import), the numba version and the mode, because numba's own cache
looks only at the file of the outermost function and would keep an old inner one.
"""

import ast
import gc
import hashlib
import os
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
import platformdirs
from numba.core import event
from numba.core.runtime.nrt import rtsys
from numba.extending import overload

from pdb_core import __version__
from pdb_core.errors import MemoryLimitError
from pdb_core.kernel_folder import UnsafeFolderError, use_kernel_folder
from pdb_core.resources import has_addresses

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGES = ("pdb_core", "pdb_build", "pdb_query", "solver", "pdb_study", "pdb_cluster", "pdb_service")
_ROOT = Path(__file__).parent.parent
# Parsing whole files would take 0.1 s at each start.
_IMPORT = re.compile(r"^ *((?:from|import) [^\n(]*(?:\([^)]*\))?)", re.MULTILINE)
# Lanes of the levels of x86-64, by the name in NUMBA_CPU_NAME.
_LANES_OF_LEVELS = {"x86-64-v4": 16, "x86-64-v3": 8, "x86-64-v2": 4, "x86-64": 4}
# numba fills this module from the environment; no type checker can see its names.
_settings: Any = numba.config
# Address space that is enough to compile any kernel, and to load one that is compiled.
_COMPILER_BYTES, _LOADER_BYTES = 128_000_000, 16_000_000
JIT_DISABLED = bool(_settings.DISABLE_JIT)


def _kernel_sources() -> list[Path]:
    """Return all files of kernels, and our files that they import: their constants are compiled into the kernels."""
    to_read = [path for package in _PACKAGES for path in (_ROOT / package).rglob("*_kernels.py")]
    to_read.append(_ROOT / "pdb_core" / "jit.py")
    found: set[Path] = set()
    while to_read:
        path = to_read.pop()
        if path not in found:
            found.add(path)
            to_read += _own_imports(path)
    return sorted(found)


def _own_imports(path: Path) -> list[Path]:
    """Return our files that a file imports, in whatever way and place."""
    source = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse("\n".join(_IMPORT.findall(source)))
    except SyntaxError:  # a line of a text looks like an import
        tree = ast.parse(source)
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            # A name may be that of a module.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    places = [_ROOT.joinpath(*name.split(".")) for name in names if name.partition(".")[0] in _PACKAGES]
    return [file for at in places for file in (at.with_suffix(".py"), at / "__init__.py") if file.is_file()]


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
    if _settings.CPU_FEATURES is not None:
        features = {part[1:] for part in _settings.CPU_FEATURES.split(",") if part.startswith("+")}
    else:
        try:
            features = {feature for feature, is_there in llvm.get_host_cpu_features().items() if is_there}
        except RuntimeError:  # LLVM does not know the features of this processor; numba compiles without any
            features = set()
    return 16 if {"avx512f", "avx512bw"} <= features else 8 if "avx2" in features else 4


def own_sources_digest() -> str:
    """Return the digest of the sources of the kernels: the same on machines that run the same kernels."""
    digest = hashlib.sha256()
    for path in _kernel_sources():
        digest.update(path.relative_to(_ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def program_version() -> tuple[str, str]:
    """Return the version and the digest of the kernels, which must be equal on all machines of a cluster."""
    return __version__, own_sources_digest()


def cache_home() -> Path:
    """Return the folder of caches: `TILE_PDB_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("TILE_PDB_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("tile-pdb"))


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
    """Return whether compiled kernels are kept on disk for the next run."""
    return _cache_folder is not None


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
    # numba reads CACHE_DIR when a function is decorated; set it just then, so that other users of numba in the same
    # process keep their own.
    before = _settings.CACHE_DIR
    _settings.CACHE_DIR = "" if _cache_folder is None else str(_cache_folder)
    try:
        is_kept = _cache_folder is not None and not is_inlined
        compiled = numba.njit(cache=is_kept, nogil=True, **options)(function)
    finally:
        _settings.CACHE_DIR = before
    if _cache_folder is not None and is_kept:
        _forgive_cache(compiled, _cache_folder)
    return cast(Function, compiled)


def _forgive_cache(compiled: Any, folder: Path) -> None:
    """Make a full or damaged cache cost a compilation, and nothing else."""
    cache = compiled._cache
    save = cache.save_overload

    def load_overload(signature: Any, target: Any) -> Any:
        _check_addresses(_LOADER_BYTES)
        try:
            # numba's own method first imports all that a compilation needs: a quarter of the time of a short command.
            rtsys.initialize(target)
            with cache._guard_against_spurious_io_errors():
                return cache._load_overload(signature, target)
        except Exception as error:  # what unpickling half a file raises may be anything
            _warn_of_cache(f"{folder} is damaged ({type(error).__name__}: {error}): kernels are compiled again")
            with suppress(OSError):
                cache.flush()
            return None

    def save_overload(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            _warn_of_cache(
                f"cannot write {folder} ({error.strerror}): kernels are compiled anew in every run; make room, or set "
                "TILE_PDB_CACHE to a folder that can be written"
            )

    cache.load_overload, cache.save_overload = load_overload, save_overload


_has_warned_of_cache = False


def _warn_of_cache(text: str) -> None:
    """Warn once in a process: there are a hundred kernels."""
    global _has_warned_of_cache
    if not _has_warned_of_cache:
        _has_warned_of_cache = True
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class _CollectorPause(event.Listener):
    """Pause of Python's garbage collector while kernels are compiled: it takes a sixth of that time, and finds little.

    The events come one after another, since numba compiles with a lock.
    """

    def __init__(self) -> None:
        self._n_nested, self._was_enabled = 0, False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the signature is numba's)
        if self._n_nested == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._n_nested += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._n_nested -= 1
        if self._n_nested == 0 and self._was_enabled:
            gc.enable()


def _check_addresses(n_bytes: int) -> None:
    """Raise `MemoryLimitError` if LLVM might get no memory: it would abort the process."""
    if not has_addresses(n_bytes):
        raise MemoryLimitError(
            "the limit of the address space is too small to load or compile kernels; raise it (ulimit -v 1000000)"
        )


class _AddressCheck(event.Listener):
    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the signature is numba's)
        _check_addresses(_COMPILER_BYTES)

    def on_end(self, event: event.Event) -> None:
        pass


class _CompilationListener(event.Listener):
    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce: Callable[[], None] | None = announce

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (the signature is numba's)
        if self._announce is not None:
            self._announce()
            self._announce = None

    def on_end(self, event: event.Event) -> None:
        pass


def announce_compilation(announce: Callable[[], None]) -> None:
    """Call `announce` once, when the first kernel that is not on disk yet is about to be compiled."""
    _listen(_CompilationListener(announce))


def _listen(listener: event.Listener) -> None:
    register: Any = event.register
    register("numba:compile", listener)


if not JIT_DISABLED:
    _listen(_CollectorPause())
    _listen(_AddressCheck())
