"""Start of the `pdb` command, imported first: a signal ends the process at once, also while packages are imported.

Python's own handler of Ctrl-C would print a traceback of imports. The command handles signals as soon as it runs.
"""

import importlib
import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a command in the background may ignore it
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run() -> None:
    """Run the command line: the entry point of the console scripts."""
    # By its name, since imports point down.
    importlib.import_module("tilepdb.commands.main").run()
