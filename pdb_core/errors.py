"""Errors that this project raises on purpose, in one tree, each with the exit code of the command line.

docs/files.md lists them. Each message states the fault with its value, and then what to do.
"""

import errno

from pdb_core.messages import one_line

# What a service's problems are named by (RFC 9457): this, and the name of the class.
PROBLEM_TYPE = "urn:tile-pdb:"


class PdbError(Exception):
    """Base of all errors raised on purpose.

    exit_code    what the command line exits with
    http_status  the status of the answer of a service; 500 for the service's own errors
    """

    exit_code = 1
    http_status = 500

    def __str__(self) -> str:
        # What users type, and names of files, may contain anything.
        return one_line(super().__str__())


class InputError(PdbError, ValueError):
    """Input of the user that cannot be used."""

    exit_code = 2
    http_status = 422


class BoardError(InputError):
    """A board is not a permutation of 0 .. cells-1, or has the wrong size."""


class GoalError(InputError):
    """A goal is not a board, or a table cannot serve it."""


class MovesError(InputError):
    """Moves are not written in the notation that is given."""


class PartitionError(InputError):
    """A partition is unknown, or its patterns overlap or leave tiles out."""


class InstanceError(InputError):
    """An instance file or the name of an instance set cannot be used."""

    http_status = 404


class UnknownDatabaseError(InputError):
    """A service has opened no such database, or none for boards of that size."""

    http_status = 404


class RequestError(InputError):
    """An HTTP request is not of the form that docs/http.md describes."""

    http_status = 400


class ParameterError(RequestError):
    """A parameter or a field of an HTTP request is missing, unknown or invalid."""

    http_status = 422


class RequestTooLargeError(RequestError):
    """An HTTP request holds more than the service takes."""

    http_status = 413


class TokenError(InputError):
    """An HTTP request lacks the token that the service wants."""

    http_status = 401


class OutputError(InputError):
    """A file that cannot be written."""


class CheckpointMismatchError(InputError):
    """A checkpoint of a build with other options, or by another version of the builder."""


class UnsolvableError(PdbError):
    """No sequence of moves leads from the board to the goal."""

    exit_code = 3
    http_status = 422


class TableFileError(PdbError):
    """A table file cannot be used."""

    exit_code = 4


class TableFileMissingError(TableFileError, FileNotFoundError):
    """There is no such table file."""


class TableFileForeignError(TableFileError):
    """The file is not a tile-pdb table file."""


class TableFileVersionError(TableFileError):
    """The file was written in a version of the format, or with an index function, that this program does not know."""


class TableFileDamagedError(TableFileError):
    """The file is truncated, or its contents do not match its digests."""


class TableMismatchError(TableFileError):
    """The file is sound, but made for another board size or goal."""


class LimitReachedError(PdbError):
    """A limit was reached before the answer."""

    exit_code = 5


class MemoryLimitError(LimitReachedError):
    """A build or a search needs more memory than is available or allowed.

    solution  the `solver.Solution` of a search that had begun, with its bounds and node counts, without a length
    """

    solution: object = None


class DiskFullError(LimitReachedError):
    """There is no room on the disk for the file."""


class BuildRunningError(LimitReachedError):
    """Another builder is making the same file."""


class BusyError(LimitReachedError):
    """A service is at its limit; try again later."""

    http_status = 503


class ServiceError(PdbError):
    """A service cannot be reached, or gives invalid answers."""


class ClusterError(PdbError):
    """A Dask cluster cannot be reached, has no workers, or they run another version or lack a table file."""


class WrongAnswerError(PdbError):
    """An answer contradicts a published length, or fails its own replay. Please report it."""


def writing_error(error: OSError, what: str, advice: str) -> DiskFullError | OutputError:
    """Return the error for `what` that cannot be written. `advice` is what to do, such as "choose another file"."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"the disk is full, {what} was not written; make room or {advice}")
    return OutputError(f"cannot write {what}: {error.strerror or error}; {advice}")


def system_error(error: OSError) -> PdbError:
    """Return the error for a refusal of the system that no other message explains."""
    about = "" if error.filename is None else f"{error.filename}: "
    text = f"{about}{error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"{text}; make room")
    if error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN):
        return LimitReachedError(f"{text}; raise the limit of the system (ulimit -a), or use fewer threads")
    return InputError(f"{text}; check that the file is there and that you may use it")
