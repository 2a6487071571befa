"""`pdb serve`: the HTTP service and its page."""

import contextlib
import itertools
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from pdb_core.errors import InputError
from pdb_core.messages import how_to_install
from tilepdb.commands.opened_tables import open_file
from tilepdb.commands.options import TableOptions, VerifyOption, option_group
from tilepdb.commands.output import message

if TYPE_CHECKING:
    from pdb_query import Database

_STDERR = 2
# Longer times do not fit the clocks of all systems.
_MOST_S = 1e6


@option_group
class ServedTableOptions(TableOptions):
    """Tables."""

    size: Annotated[
        list[str] | None,
        Option(
            metavar="WxH",
            help="Serve the standard tables of this size, too. Repeat the option for several. Without --db and --size, "
            "those of 4x4 and 3x3 are served.",
        ),
    ] = None
    verify: VerifyOption = True


@option_group
class NetworkOptions:
    """Network."""

    host: Annotated[
        str,
        Option(
            metavar="ADDRESS", help="IP address or name to listen on. 0.0.0.0 accepts connections from other machines."
        ),
    ] = "127.0.0.1"
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on. 0 takes a free one.")] = 8015
    token_file: Annotated[
        Path | None,
        Option(help="Require from clients the token in this file: one line of printable ASCII characters."),
    ] = None
    cors_origin: Annotated[
        list[str] | None,
        Option(
            metavar="ORIGIN",
            help="Allow requests of web pages of this origin, such as https://example.org, or * for all. "
            "Repeat the option for more.",
        ),
    ] = None
    allowed_host: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Answer requests that name this host, such as tiles.example.org. Repeat the option for more. "
            "localhost and --host are always allowed.",
        ),
    ] = None


@option_group
class SearchQueueOptions:
    """Searches."""

    solves: Annotated[
        int | None,
        Option(
            min=1,
            max=1024,
            help="Number of long searches at a time, and of short ones. The default is the number of cores.",
        ),
    ] = None
    waiting: Annotated[
        int,
        Option(min=0, max=100_000, help="Number of long searches that may wait, and of short ones."),
    ] = 64
    wait: Annotated[float, Option(min=0, max=_MOST_S, help="Time that a search may wait, in seconds.")] = 30.0
    time_limit: Annotated[float, Option(min=0.001, max=_MOST_S, help="Time limit of a search, in seconds.")] = 60.0
    grace: Annotated[
        float,
        Option(min=0, max=_MOST_S, help="Time that running searches have when the server stops, in seconds."),
    ] = 5.0


def serve(tables: ServedTableOptions, network: NetworkOptions, searches: SearchQueueOptions) -> None:
    """Look up and solve boards over HTTP, with a page at /.

    docs/http.md describes the requests. Of several --db, the first of a size is the default of that size. The standard
    tables of a size are built at the first use. Requests wait until all tables are loaded.

    Examples:
      pdb serve
      pdb serve --db data/8.h5 --db data/663.h5 --port 8080
    """
    try:
        from pdb_service.app import App
    except ModuleNotFoundError as error:
        raise InputError(f"pdb serve needs {error.name}, which is not installed; {how_to_install('serve')}") from None
    import faulthandler
    import logging

    import psutil

    from pdb_core.board_size import check_table_size, parse_size
    from pdb_core.puzzle import blank_last
    from pdb_core.resources import available_cores
    from pdb_service.server import notify_systemd, open_socket, serve as run
    from pdb_service.settings import ServiceSettings, hosts_of, read_host, read_origin
    from tilepdb.standard import standard_table

    settings = ServiceSettings(
        n_solves=searches.solves or available_cores(),
        n_waiting=searches.waiting,
        wait_s=searches.wait,
        solve_s=searches.time_limit,
        grace_s=searches.grace,
        token=None if network.token_file is None else _read_token(network.token_file),
        cors_origins=tuple(map(read_origin, network.cors_origin or ())),
        allowed_hosts=tuple(map(read_host, network.allowed_host or ())),
    )
    sizes = [*map(parse_size, tables.size or (() if tables.db else ("3x3", "4x4")))]
    for size in sizes:
        check_table_size(size, what="tables", instead="leave it out")
    # A line in the log if the process ends because a mapped table file was shortened (SIGBUS).
    faulthandler.enable(_STDERR, all_threads=False)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(open_socket(network.host, network.port))

        def opened(path: Path) -> "Database":
            return stack.enter_context(open_file(path, tables.load, verify=tables.verify))

        given = [*map(opened, tables.db or ())]
        # Standard tables are built and opened one after another, while the service runs.
        built = (opened(standard_table(size, blank_last(size), message)) for size in sizes)
        databases = itertools.chain(given, built)
        address, port = listener.getsockname()[:2]
        url = f"http://{f'[{address}]' if ':' in address else address}:{port}/"
        message(f"listening on {url}")
        if address in ("0.0.0.0", "::") and not settings.allowed_hosts:
            near = (each.address for found in psutil.net_if_addrs().values() for each in found)
            hosts = [f"--allowed-host {host}" for host in near if re.fullmatch(r"(?!127\.)[\d.]+", host)]
            message(f"other machines get answers only with {' '.join(hosts) or '--allowed-host NAME'}")
        settings = replace(settings, allowed_hosts=(*hosts_of(network.host, address), *settings.allowed_hosts))
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        app = App(databases, settings)
        app.service.load()
        message(f"ready: {url}")
        notify_systemd()
        run(app, listener)
        message("stopped")
    # Python is not taken down: threads of granian that still call it would abort the process.
    os._exit(0)


def _read_token(path: Path) -> str:
    """Return the token in a file. Raises `InputError` if there is none."""
    from pdb_service.settings import is_token

    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read a token from {path}: {error}; name a text file with --token-file") from None
    if not is_token(token):
        raise InputError(f"{path} has no valid token; write one line of printable ASCII characters without whitespace")
    return token
