"""Settings of the service: its limits, its token, and the origins and hosts it accepts."""

import math
from dataclasses import dataclass, fields

from pdb_core.errors import InputError
from pdb_service.hosts import LOOPBACK


@dataclass(frozen=True)
class ServiceSettings:
    """Limits of one server process. Sizes in bytes, times in seconds. Raises `InputError` if one is not finite, or < 0.

    max_body_bytes   of a request
    max_boards       of a batch
    n_solves         long searches that run at a time, and as many short ones
    n_waiting        long searches that may wait for a thread, and as many short ones; others are refused
    wait_s           the longest that a search may wait for a thread; then it is refused
    solve_s          the longest that a solve may search; also the default
    short_s          searches with a time limit of at most this are short: they have a queue of their own
    max_cached_bytes of kept answers
    request_s        the longest that reading the body of a request may take
    head_s           the longest that the head of a request may take to arrive
    stall_s          the longest that a client may leave an answer unread
    keep_alive_s     the longest that a connection stays open without a request
    max_head_bytes   of the head of a request, and of trailers and sizes of chunks
    max_connections  for more, those longest without a request are closed
    max_held_bytes   of bodies and answers of all clients; beyond it, large requests are refused
    grace_s          the longest that running searches go on when the server is stopped
    token            the token that clients must send, if any
    cors_origins     origins of other servers whose pages may send requests
    allowed_hosts    hosts that requests may name, as `hosts.is_allowed` takes them; "*" for all
    """

    max_body_bytes: int = 16_000_000
    max_boards: int = 100_000
    n_solves: int = 2
    n_waiting: int = 16
    wait_s: float = 30.0
    solve_s: float = 60.0
    short_s: float = 2.0
    max_cached_bytes: int = 16_000_000
    request_s: float = 30.0
    head_s: float = 10.0
    stall_s: float = 30.0
    keep_alive_s: int = 30
    max_head_bytes: int = 64_000
    max_connections: int = 1000
    max_held_bytes: int = 64_000_000
    grace_s: float = 5.0
    token: str | None = None
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = LOOPBACK

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
                raise InputError(f"{field.name} is {value}; give a finite number, 0 or more")
