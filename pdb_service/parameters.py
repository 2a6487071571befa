"""Query parameters that routes share, as the OpenAPI document describes them."""

from typing import Annotated

from fastapi import Query

from pdb_service.served_databases import MAX_CHARACTERS

BoardParameter = Annotated[
    str,
    Query(
        max_length=MAX_CHARACTERS,
        description="Numbers separated by whitespace, commas or /, 0 for the blank.",
        examples=["15 14 13 12/11 10 9 8/7 6 5 4/3 1 2 0"],
    ),
]
GoalParameter = Annotated[
    str | None,
    Query(
        max_length=MAX_CHARACTERS, description="blank-last, blank-first, snail, or a board.", examples=["blank-last"]
    ),
]
DatabaseParameter = Annotated[
    str | None, Query(alias="db", max_length=200, description="The id of a database, see /v1/databases.")
]
SizeParameter = Annotated[str | None, Query(max_length=20, description="Such as 4x4.")]
SecondsParameter = Annotated[
    float | None, Query(ge=0, le=1e6, allow_inf_nan=False, description="The time limit of the search in seconds.")
]
NodesParameter = Annotated[int | None, Query(ge=1, le=10**15, description="The limit of generated nodes.")]
