"""`--shard`: the boards of one of several machines that share a set of boards without a coordinator."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, NamedTuple, TypeVar

import typer

from pdb_core.errors import InputError
from pdb_core.messages import as_typed

Item = TypeVar("Item")

ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Solve only every N-th board, beginning with the I-th: the share of machine I of N.",
        show_default=False,
    ),
]


class Shard(NamedTuple):
    """Shard `number`, from 1 to `n_shards`."""

    number: int
    n_shards: int

    def of(self, items: Iterable[Item]) -> Iterator[Item]:
        """Return every `n_shards`-th item, beginning with item `number`."""
        return islice(items, self.number - 1, None, self.n_shards)


def parse_shard(text: str | None) -> Shard:
    """Return the shard of an option, by default the only one. Raises `InputError`."""
    if text is None:
        return Shard(1, 1)
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None:
        raise InputError(f"shard {as_typed(text, 40)!r} is not of the form I/N, such as 2/8")
    shard = Shard(int(match[1]), int(match[2]))
    if not 1 <= shard.number <= shard.n_shards:
        raise InputError(f"shard {text} does not exist; I of --shard I/N goes from 1 to N")
    return shard
