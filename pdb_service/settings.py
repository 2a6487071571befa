"""Settings of the service: its limits, its token, and the origins and hosts it accepts.

The check of hosts stops DNS rebinding: a page of another site can point its own name at this machine. The browser then
treats the service as that site, but still sends the site's name in the header Host.
"""

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

from pdb_core.errors import InputError
from pdb_core.messages import as_typed

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_PORT = re.compile(r":[0-9]+$", re.ASCII)
_PATTERN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)
_TOKEN = re.compile(r"[!-~]+")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", re.ASCII)


@dataclass(frozen=True)
class ServiceSettings:
    """Limits of one server process: docs/http.md, "Limits", describes them.

    token          the token that clients must send, if any
    cors_origins   origins of other servers whose pages may send requests
    allowed_hosts  hosts that requests may name, as `is_allowed` takes them; "*" for all
    """

    max_body_bytes: int = 16_000_000
    max_boards: int = 100_000
    n_solves: int = 2
    n_waiting: int = 64
    wait_s: float = 30.0
    solve_s: float = 60.0
    short_s: float = 2.0
    request_s: float = 30.0
    head_s: float = 10.0
    max_head_bytes: int = 64_000
    max_connections: int = 1000
    grace_s: float = 5.0
    token: str | None = None
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = LOOPBACK


@lru_cache(maxsize=16)
def is_allowed(host: str, allowed_hosts: tuple[str, ...]) -> bool:
    """Return whether the value of a Host header, with or without a port, names one of these hosts.

    `allowed_hosts` are names in lower case, IPv6 addresses in brackets, or patterns such as `*.example.org` and `*`.
    """
    name = _PORT.sub("", host.lower())
    return any(known in ("*", name) or (known.startswith("*.") and name.endswith(known[1:])) for known in allowed_hosts)


def hosts_of(*addresses: str) -> tuple[str, ...]:
    """Return the hosts that a server at these addresses answers for: loopback names and the addresses themselves."""
    return tuple(dict.fromkeys((*LOOPBACK, *map(read_host, addresses))))


def is_token(text: str) -> bool:
    """Return whether a text can be a token: printable ASCII without whitespace."""
    return _TOKEN.fullmatch(text) is not None


def read_host(text: str) -> str:
    """Return a value of --allowed-host as `is_allowed` takes it. Raises `InputError`."""
    host = text.lower()
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        if host == "*" or _PATTERN.fullmatch(host):
            return host
        raise InputError(
            f"{as_typed(text)!r} is not a host name. Give --allowed-host a name such as tiles.example.org or "
            "*.example.org, without scheme, port and path"
        ) from None
    return f"[{address}]" if address.version == 6 else str(address)


def read_origin(text: str) -> str:
    """Return a value of --cors-origin as browsers write it in the header Origin. Raises `InputError`."""
    origin = text.lower()
    if origin == "*" or _ORIGIN.fullmatch(origin):
        return origin
    raise InputError(
        f"{as_typed(text)!r} is not an origin. Give --cors-origin a scheme and a host, such as https://example.org, "
        "without a path or a slash at the end"
    )
