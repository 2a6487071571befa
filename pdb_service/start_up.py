"""The start of a service: it is ready only after every step has succeeded."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("tile_pdb.service")


class StartUp:
    """The steps of a start, done in a thread, and their outcome.

    failure     what a step has raised, if anything
    on_failure  called then; `server.serve` ends the process
    """

    def __init__(self) -> None:
        self.failure: BaseException | None = None
        self.on_failure: Callable[[], None] = _do_nothing
        self._are_steps_done = threading.Event()

    @property
    def is_ready(self) -> bool:
        """Return whether all steps have succeeded."""
        return self._are_steps_done.is_set() and self.failure is None

    def begin(self, *steps: Callable[[], None], on_ready: Callable[[], None] | None) -> None:
        """Do the steps in a thread, then call `on_ready`. Log what any of these raises, and stop there."""

        def run() -> None:
            try:
                for step in steps:
                    step()
                self._are_steps_done.set()
                if on_ready is not None:
                    on_ready()
            except BaseException as error:  # a thread that ends by SystemExit says nothing of it
                _log.critical("the service could not be made ready", exc_info=error)
                self.failure = error
                self.on_failure()

        threading.Thread(target=run, name="start-up", daemon=True).start()


def _do_nothing() -> None:
    """Leave the failure to those who ask for `failure`."""
