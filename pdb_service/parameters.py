"""The parameters that routes share, as the OpenAPI document describes them."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query

from pdb_service.answers import Problem
from pdb_service.problems import MEDIA_TYPE

BoardParameter = Annotated[
    str,
    Query(
        max_length=400,
        description="Numbers separated by blanks, commas or /, 0 for the blank.",
        examples=["15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"],
    ),
]
GoalParameter = Annotated[
    str | None,
    Query(max_length=400, description="blank-last, blank-first, snail, or a board.", examples=["blank-last"]),
]
DatabaseParameter = Annotated[
    str | None, Query(alias="db", max_length=200, description="The id of a database, see /v1/databases.")
]
SizeParameter = Annotated[str | None, Query(max_length=20, description="Such as 4x4.")]
SecondsParameter = Annotated[
    float | None, Query(ge=0, le=1e6, allow_inf_nan=False, description="How long to search at most.")
]
NodesParameter = Annotated[int | None, Query(ge=1, le=10**15, description="How many nodes to generate at most.")]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these problems, and of all that may want a token."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    return {
        status: {"content": {MEDIA_TYPE: {"schema": schema}}, "description": HTTPStatus(status).phrase}
        for status in sorted({*statuses, 401})
    }
