"""Page of the fields of HTTP, made from the OpenAPI document."""

from pdb_service.app import create_app
from pdb_service.openapi import openapi
from pdb_service.reference import sections
from scripts.markdown import markdown


def fields_page() -> str:
    """Return the page of the parameters, bodies and answers of all routes."""
    parts = ["# HTTP fields", "[HTTP](http.md) has examples and rules."]
    for section in sections(openapi(create_app([]).state.routes)):
        parts += [f"## {section.title}", section.text]
        parts += [f"{table.title}:\n\n{markdown(table.head, table.rows)}" for table in section.tables]
    return "\n\n".join(parts)
