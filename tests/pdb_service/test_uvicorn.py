"""The undocumented parts of uvicorn that the service uses. After an update these tests say what has changed.

pyproject.toml has an upper bound for the version. To raise it, run these tests and those of the service with the new
version.
"""

import ast
import asyncio
import inspect
import re
import tomllib

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from pdb_service import connection_limits, server
from tests import ROOT

# Of `HttpToolsProtocol`: what uvicorn or its parser calls, and so may be overridden, with its parameters; what the
# service calls; and what it reads or writes.
OVERRIDDEN = {
    "__init__": ("config", "server_state", "app_state", "_loop"),
    "connection_made": ("transport",),
    "connection_lost": ("exc",),
    "data_received": ("data",),
    "on_message_begin": (),
    "on_url": ("url",),
    "on_header": ("name", "value"),
    "on_headers_complete": (),
    "on_body": ("body",),
    "on_message_complete": (),
    "on_response_complete": (),
    "pause_writing": (),
    "resume_writing": (),
}
CALLED = {"send_400_response": ("msg",), "_unset_keepalive_if_required": ()}
ATTRIBUTES = {"config", "connections", "cycle", "loop", "transport"}
# Of `uvicorn.Server`.
SERVER_OVERRIDDEN = {"__init__": ("config",), "handle_exit": ("sig", "frame")}
SERVER_ATTRIBUTES = {"force_exit", "should_exit"}


def parameters(function: object) -> tuple[str, ...]:
    assert callable(function)
    return tuple(name for name in inspect.signature(function).parameters if name != "self")


def used_of_base(module: object, class_name: str) -> tuple[set[str], set[str]]:
    """Return the methods of a class, and the names it uses of itself or its base that it does not define."""
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]
    (class_,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    methods = {node.name for node in class_.body if isinstance(node, ast.FunctionDef)}
    used = {node.attr for node in ast.walk(class_) if isinstance(node, ast.Attribute) and is_self(node.value)}
    return methods, used - methods


def is_self(node: ast.expr) -> bool:
    is_super = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    return is_super or (isinstance(node, ast.Name) and node.id == "self")


def test_the_names_below_are_those_that_the_service_uses() -> None:
    methods, used = used_of_base(connection_limits, "Connection")
    assert methods - {"_count_header", "_expect_head", "_give_up"} == set(OVERRIDDEN)
    own = {"_settings", "_idle", "_head_timer", "_stall_timer", "_header_bytes", "_other_bytes"}
    assert used - own == ATTRIBUTES | set(CALLED)
    methods, used = used_of_base(server, "_Server")
    assert methods - {"stop"} == set(SERVER_OVERRIDDEN)
    assert used - {"_on_stop", "stopped_by"} == SERVER_ATTRIBUTES


def test_uvicorn_has_the_names_that_the_service_uses() -> None:
    for name, names in {**OVERRIDDEN, **CALLED}.items():
        assert parameters(getattr(HttpToolsProtocol, name)) == names, name
    for name, names in SERVER_OVERRIDDEN.items():
        assert parameters(getattr(uvicorn.Server, name)) == names, name

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
    # `cycle.response_complete` is all that is used of a request.
    assert "self.response_complete = False" in inspect.getsource(RequestResponseCycle.__init__)


def test_the_version_of_uvicorn_is_bounded() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (word for word in project["optional-dependencies"]["serve"] if word.startswith("uvicorn"))
    low, high = re.fullmatch(r"uvicorn>=([\d.]+),<([\d.]+)", wanted).groups()  # type: ignore[union-attr]
    assert numbers(low) <= numbers(uvicorn.__version__) < numbers(high)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
