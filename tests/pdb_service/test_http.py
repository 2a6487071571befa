"""docs/http.md against the service: routes, answers, events, limits, metrics, problems.

tests/project/test_pages.py runs the examples.
"""

import dataclasses
import json
import re

from pdb_core import errors
from pdb_query import Database
from pdb_service.openapi import openapi
from pdb_service.routes import problem
from pdb_service.settings import ServiceSettings
from tests import text_of
from tests.pdb_service.app_requests import ask, ready_app
from tilepdb.commands.serve import SearchQueueOptions


def sections() -> dict[str, str]:
    """Return the text below each heading."""
    _, *parts = re.split(r"^## (.*)\n", text_of("docs/http.md"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_routes_are_those_of_openapi() -> None:
    documented = {
        (method.lower(), path)
        for heading in sections()
        for method in re.findall(r"\b(GET|POST)\b", heading)
        for path in re.findall(r"/[\w/{}]+", heading)
    }
    assert documented == {
        (method, path) for path, methods in json.loads(openapi())["paths"].items() for method in methods
    }


def test_limits_are_those_documented() -> None:
    """The table has exactly the numbers of the settings."""
    rows = re.findall(r"^\| .* \| `(\w+)`.* \| ([\d,]+).* \| .* \|$", sections()["Limits"], re.MULTILINE)
    written = {name: float(number.replace(",", "")) for name, number in rows}
    assert len(rows) == len(written)
    settings = {at.name: at.default for at in dataclasses.fields(ServiceSettings)}
    assert written == {name: value for name, value in settings.items() if type(value) in (int, float)}


def test_options_have_the_defaults_of_the_settings() -> None:
    options, settings = SearchQueueOptions(), ServiceSettings()
    assert (options.waiting, options.wait) == (settings.n_waiting, settings.wait_s)
    assert (options.time_limit, options.grace) == (settings.solve_s, settings.grace_s)


def test_metrics_are_those_documented(database: Database) -> None:
    written = re.findall(r"`(tile_pdb_\w+)`", sections()["GET /metrics"])
    families = re.findall(r"^# TYPE (tile_pdb_\w+)", ask(ready_app(database), "/metrics").body.decode(), re.MULTILINE)
    assert sorted(written) == sorted(name for name in families if not name.endswith("_created"))


def test_problems_are_those_documented() -> None:
    rows = re.findall(r"^\| (.*) \| (\d+) \|", sections()["Problems"], re.MULTILINE)
    written = {name: int(status) for names, status in rows for name in re.findall(r"`(\w+)`", names)}
    own = {name for name, kind in vars(errors).items() if "http_status" in getattr(kind, "__dict__", ())} - {"PdbError"}
    assert own == written.keys() - {"BoardError", "GoalError", "MovesError"}
    for name, status in written.items():
        assert problem(getattr(errors, name)(""))["status"] == status
