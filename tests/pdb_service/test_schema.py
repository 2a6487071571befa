"""Random requests by schemathesis: the answers agree with the OpenAPI document."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from pdb_service.app import create_app
from tests.pdb_service.server import Server, serving
from tests.tables import table_file

# The document does not depend on the databases; schemathesis needs it before the server starts.
_DOCUMENT = create_app([]).openapi()
_SCHEMA = schemathesis.openapi.from_dict(_DOCUMENT)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # Searches are short: the tests check only the form of answers.
    with serving(table_file("663", "4x4"), table_file("8", "3x3"), options=["--seconds", "0.02"]) as running:
        yield running


def test_the_document_served_is_the_one_tested(server: Server) -> None:
    assert server.ask("/openapi.json").json == _DOCUMENT


@_SCHEMA.parametrize()
@settings(max_examples=60)
def test_answers_agree_with_the_document(case: schemathesis.Case, server: Server) -> None:
    # The schema cannot describe boards: the service refuses some that it allows.
    case.call_and_validate(base_url=server.url, excluded_checks=[positive_data_acceptance])


def test_no_errors_are_logged(server: Server) -> None:
    assert not [line for line in server.log if "ERROR" in line]
