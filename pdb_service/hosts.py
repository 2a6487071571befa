"""The Host header: which hosts the service answers for. This stops DNS rebinding.

A page of another site can point its own name at this machine. The browser then treats the service as that site, but
still sends the site's name in Host.
"""

import ipaddress
import re
from collections.abc import Collection, Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from pdb_core.errors import InputError, RequestError
from pdb_core.messages import as_typed

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# Load balancers and container probes name the address of the machine; these answers hold no data.
_OPEN_PATHS = ("/healthz", "/readyz")
_HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?", re.ASCII | re.IGNORECASE)
_PATTERN = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#@\s]+", re.ASCII)


class TrustedHosts:
    """ASGI middleware that raises `RequestError` for requests to hosts that are not allowed.

    Starlette's `TrustedHostMiddleware` answers in plain text without a reason, and refuses all IPv6 addresses before
    version 1.7.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str]) -> None:
        self._app, self._allowed_hosts = app, allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if "*" in self._allowed_hosts or (len(hosts) == 1 and is_allowed(hosts[0], self._allowed_hosts)):
            return
        named = f"host {as_typed(hosts[0])!r}" if len(hosts) == 1 else f"a request with {len(hosts)} Host headers"
        raise RequestError(f"this server does not answer for {named}. Name its hosts with pdb serve --allowed-host")


def is_allowed(host: str, allowed_hosts: Iterable[str]) -> bool:
    """Return whether the value of a Host header, with or without a port, names one of these hosts.

    `allowed_hosts` are names in lower case, IPv6 addresses in brackets, or patterns such as `*.example.org`.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match[1].lower()
    return any(name == known or (known.startswith("*.") and name.endswith(known[1:])) for known in allowed_hosts)


def hosts_of(*addresses: str) -> tuple[str, ...]:
    """Return the hosts that a server at these addresses answers for: loopback names and the addresses themselves."""
    return tuple(dict.fromkeys((*LOOPBACK, *map(read_host, addresses))))


def advice(address: str, allowed_hosts: Collection[str]) -> str | None:
    """Return what to do if a server on all addresses was given no hosts to answer for; else None."""
    if allowed_hosts or address not in ("0.0.0.0", "::"):
        return None
    return (
        f"only requests for {', '.join(LOOPBACK)} are answered. Name the hosts that clients use with "
        "--allowed-host NAME; '*' allows all"
    )


def read_host(text: str) -> str:
    """Return a value of --allowed-host as `is_allowed` takes it. Raises `InputError`."""
    host = text.lower()
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        if host == "*" or _PATTERN.fullmatch(host):
            return host
        raise InputError(
            f"{as_typed(text)!r} is no host name. Give --allowed-host a name such as tiles.example.org or "
            "*.example.org, without scheme, port and path"
        ) from None
    return f"[{address}]" if address.version == 6 else str(address)


def read_origin(text: str) -> str:
    """Return a value of --cors-origin as browsers write it in the header Origin. Raises `InputError`."""
    origin = text.lower()
    if origin == "*" or _ORIGIN.fullmatch(origin):
        return origin
    raise InputError(
        f"{as_typed(text)!r} is no origin. Give --cors-origin a scheme and a host, such as https://example.org, "
        "without a path or a slash at the end"
    )
