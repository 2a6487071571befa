"""Standard streams and limits of a process as users break them: for the process itself, before its command runs."""

import os
import pty
import resource
from collections.abc import Mapping

KINDS = ("closed", "full", "wrong direction", "reader gone", "terminal gone", "folder")
LIMITS = {"FSIZE": resource.RLIMIT_FSIZE, "NOFILE": resource.RLIMIT_NOFILE}


def break_streams(streams: Mapping[str, str], limits: Mapping[str, int]) -> None:
    """Break the streams of these numbers, each in one of the `KINDS`, and lower limits of `ulimit`."""
    for number, kind in streams.items():
        _break(int(number), kind)
    for name, limit in limits.items():
        resource.setrlimit(LIMITS[name], (limit, resource.getrlimit(LIMITS[name])[1]))


def _break(number: int, kind: str) -> None:
    others: list[int] = []
    if kind == "closed":
        os.close(number)
        return
    if kind == "full":
        descriptor = os.open("/dev/full", os.O_RDWR)
    elif kind == "wrong direction":
        descriptor = os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)
    elif kind == "folder":
        descriptor = os.open("/", os.O_RDONLY)
    elif kind == "reader gone":
        other, descriptor = os.pipe()
        others = [other]
    else:
        other, descriptor = pty.openpty()
        others = [other]
    os.dup2(descriptor, number)
    for other in {descriptor, *others} - {number}:
        os.close(other)
