"""The files of the page, read once; nothing but these can be asked for."""

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class PageFiles:
    """The page's files by their names."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        for path in sorted(_FOLDER.rglob("*")):
            if path.suffix in _TYPES:
                content = path.read_bytes()
                tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
                self._files[path.relative_to(_FOLDER).as_posix()] = content, _TYPES[path.suffix], tag

    def response(self, name: str, request: Request) -> Response | None:
        """A file, or that the client has it already; None where there is no such file."""
        if name not in self._files:
            return None
        content, media_type, tag = self._files[name]
        headers = {**_HEADERS, "ETag": tag}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=media_type)
