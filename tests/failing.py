"""Calls of the system that fail, for disks that are full, broken or forbidden."""

import os
from collections.abc import Callable
from typing import Any


def failing(number: int) -> Callable[..., Any]:
    """Return a function that takes any arguments and raises the OSError of a number, such as errno.ENOSPC."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
