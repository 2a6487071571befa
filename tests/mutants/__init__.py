"""Mutants: wrong changes of the product, each of which a test must catch. `python -m tests.mutants` tries them."""

import tomllib
from typing import NamedTuple

from tests import ROOT, text_of


class Mutant(NamedTuple):
    """A change of one file: `old`, which must occur exactly once, becomes `new`.

    tests  arguments of pytest: files or folders of tests, of which at least one must fail
    k      option -k of pytest, if the tests take long
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    k: str = ""

    @property
    def problem(self) -> str | None:
        """Reason why the mutant cannot be tried, or None."""
        n_found = text_of(self.file).count(self.old) if (ROOT / self.file).exists() else 0
        missing = [test for test in self.tests if not (ROOT / test.partition("::")[0]).exists()]
        if n_found != 1 or missing or self.old == self.new:
            return f"{self.name}: the old text occurs {n_found} times in {self.file}; missing tests: {missing}"
        return None


def all_mutants() -> list[Mutant]:
    """Return the mutants of mutants.toml."""
    listed = tomllib.loads(text_of("tests/mutants/mutants.toml"))["mutant"]
    return [Mutant(**{**fields, "tests": tuple(fields["tests"])}) for fields in listed]
