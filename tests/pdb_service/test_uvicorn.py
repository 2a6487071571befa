"""The undocumented parts of uvicorn that the service uses. These tests fail if an update changes them.

pyproject.toml has an upper bound for the version. To raise it, run these tests and those of the service with the new
version.
"""

import asyncio
import inspect
import re
import tomllib

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from pdb_service.connection_limits import Connection
from pdb_service.server import _Server
from tests import ROOT

# Methods and attributes of the bases that the service uses.
CALLED = {"send_400_response": ("msg",), "_unset_keepalive_if_required": ()}
ATTRIBUTES = {"config", "connections", "cycle", "loop", "pipeline", "transport"}
SERVER_ATTRIBUTES = {"force_exit", "should_exit"}
# Methods that are not overrides.
OWN = {"_count_header", "_expect_head"}


def parameters(function: object) -> list[str]:
    assert callable(function)
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(("class_", "base"), [(Connection, HttpToolsProtocol), (_Server, uvicorn.Server)])
def test_overrides_have_the_parameters_of_the_base(class_: type, base: type) -> None:
    overrides = {name for name, value in vars(class_).items() if inspect.isfunction(value)} - OWN - {"__init__"}
    assert overrides
    for name in overrides:
        assert parameters(getattr(class_, name)) == parameters(getattr(base, name)), name


def test_uvicorn_has_the_names_that_the_service_uses() -> None:
    for name, names in CALLED.items():
        assert tuple(parameters(getattr(HttpToolsProtocol, name))) == names, name

    async def work() -> None:
        async def app(_scope: object, _receive: object, _send: object) -> None:
            pass

        config = uvicorn.Config(app, ws="none", log_config=None)
        made = HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
        assert set(vars(made)) >= ATTRIBUTES
        assert made.config.app is app
        assert made.connections is made.server_state.connections
        assert set(vars(uvicorn.Server(config))) >= SERVER_ATTRIBUTES

    asyncio.run(work())
    # `cycle.response_complete` is all that the service uses of a request.
    assert "self.response_complete = False" in inspect.getsource(RequestResponseCycle.__init__)


def test_version_of_uvicorn_is_bounded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (word for word in project["optional-dependencies"]["serve"] if word.startswith("uvicorn"))
    low, high = re.fullmatch(r"uvicorn>=([\d.]+),<([\d.]+)", wanted).groups()  # type: ignore[union-attr]
    assert numbers(low) <= numbers(uvicorn.__version__) < numbers(high)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
