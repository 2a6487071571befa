"""Tables that are made from the code, in Markdown: errors, and the page of the fields of HTTP."""

from collections.abc import Iterable, Iterator

from pdb_core import errors
from pdb_service.app import create_app
from pdb_service.openapi import openapi
from pdb_service.reference import Row, sections


def code_table(name: str) -> str:
    """Return the table `errors`. Raises `KeyError` for another name."""
    if name != "errors":
        raise KeyError(name)
    return _markdown(("code", "exceptions"), _error_rows())


def fields_page() -> str:
    """Return the page of the parameters, bodies and answers of all routes."""
    parts = ["# HTTP fields", "[HTTP](http.md) has examples and rules."]
    for section in sections(openapi(create_app([]).state.routes)):
        parts += [f"## {section.title}", section.text]
        parts += [f"{table.title}:\n\n{_markdown(table.head, table.rows)}" for table in section.tables]
    return "\n\n".join(parts)


def _markdown(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _error_rows() -> Iterator[Row]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PdbError)]
    for code in sorted({kind.exit_code for kind in kinds}):
        yield str(code), ", ".join(f"`{kind.__name__}`" for kind in kinds if kind.exit_code == code)
