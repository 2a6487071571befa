"""Random requests by schemathesis, many with valid boards: every answer agrees with the OpenAPI document."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
import schemathesis
from hypothesis import given, strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from pdb_core.board_size import BoardSize
from pdb_query import Database
from pdb_service.openapi import openapi
from tests.fuzzing import board_texts, fuzz
from tests.pdb_service.app_requests import ask, ready_app

# Texts of the document by their `maxLength`: boards and goals; sizes.
TEXTS = {
    400: board_texts(BoardSize(3, 3)) | st.sampled_from(["blank-last", "blank-first", "snail"]),
    20: st.just("3x3"),
}
for _length, _texts in TEXTS.items():
    schemathesis.openapi.format(f"text-{_length}", _texts)


def with_formats(document: Any) -> Any:
    """Return the document with a format for each text of `TEXTS`."""
    if isinstance(document, list):
        return list(map(with_formats, document))
    if not isinstance(document, dict):
        return document
    length = document.get("maxLength")
    format_ = {"format": f"text-{length}"} if length in TEXTS else {}
    return {name: with_formats(value) for name, value in document.items()} | format_


# Searches are short. schemathesis would run the lifespan for each request, and make boards for each limit of a text.
APP = ready_app(allowed_hosts=("*",), solve_s=0.02)
APP.router.lifespan_context = lambda _: nullcontext()
SCHEMA = schemathesis.openapi.from_dict(with_formats(json.loads(openapi())))
SCHEMA.app = APP
SCHEMA.config.phases.coverage.enabled = False


@pytest.fixture(scope="module", autouse=True)
def served(database: Database) -> None:
    service = APP.service
    service.databases.by_id["8"] = database
    service.load()  # compiles all kernels: schemathesis waits 10 s for an answer


def test_the_document_served_is_the_one_tested() -> None:
    assert ask(APP, "/openapi.json").body == openapi()


# `SCHEMA.parametrize` gives all operations one node id, and xdist runs one test for each id.
OPERATIONS = [result.ok() for result in SCHEMA.get_all_operations()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_answers_agree_with_the_document(operation: Any) -> None:
    @fuzz
    @given(operation.as_strategy())
    def answers_agree(case: schemathesis.Case) -> None:
        # The schema cannot describe boards: the service refuses some that it allows.
        response = case.call_and_validate(excluded_checks=[positive_data_acceptance])
        if response.status_code >= 400:
            detail = response.json()["detail"]
            assert detail.isprintable()
            assert 0 < len(detail) < 1000

    answers_agree()
