"""Requests to an app in this process, without a server: for headers, which need no socket."""

import asyncio
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI


@dataclass(frozen=True)
class Answer:
    """The answer to a request. The names in `headers` are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    app: FastAPI, path: str, *headers: tuple[str, str], method: str = "GET", host: str | None = "localhost"
) -> Answer:
    """Return the answer to one request. With `host=None` it has no Host header."""
    named = [*((("Host", host),) if host is not None else ()), *headers]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path.partition("?")[0],
        "raw_path": path.partition("?")[0].encode(),
        "query_string": path.partition("?")[2].encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in named],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8015),
    }
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start = messages[0]
    named_answer = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], named_answer, b"".join(message.get("body", b"") for message in messages[1:]))
