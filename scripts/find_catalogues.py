"""Find sets of partitions whose sums leave few nodes for the tables that they look up, by sampling.

    python scripts/find_catalogues.py 6666.h5 --boards korf50-24puzzle --tiles 6,6,6,6 --tiles 7,7,7,3 --patterns 100
    python scripts/find_catalogues.py 78.h5 --boards korf100 --tiles 8,7 --patterns 20

Samples the nodes that IDA* expands with the tables of a file; a set of partitions that is used together with them
leaves those where no sum exceeds the moves left. Patterns are those of partitions with large lifts of pairs and triples
of tiles over Manhattan distance, and all partitions that can be made of them are tried. Prints the set with the least
estimated time, the nodes it leaves, and the tables it looks up. docs/decisions/0034-sets-found-by-sampling.md has the
method and the results.
"""

import argparse
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from pdb_build import build_database, plan_build
from pdb_build.search import search_pattern
from pdb_core.pattern import Pattern, parse_partition
from pdb_core.puzzle import BoardSize, Tiles
from pdb_core.symmetry import mappings_between
from pdb_core.table_spec import TableSpec
from pdb_query import Database, open_database, read_instances

Boards = npt.NDArray[np.uint8]
Parts = tuple[Tiles, ...]
# The time of a node was measured as proportional to the number of tables looked up plus this.
_OTHER_WORK = 3.0
# Annealings, each from a random partition, for the patterns of each --tiles.
_ANNEALINGS = 20


def sample_nodes(
    database: Database, board: Tiles, threshold: int, n_kept: int, n_sampled: int, rng: np.random.Generator
) -> tuple[Boards, npt.NDArray[np.int64], float]:
    """Return nodes that IDA* expands at a threshold, moves back left out, uniformly: boards, moves left; and an
    estimate of how many there are. Of each level `n_kept` are searched on.
    """
    size = database.size
    near = np.full((size.n_cells, 4), -1)
    for cell, neighbours in enumerate(size.neighbours):
        near[cell, : len(neighbours)] = neighbours
    boards, blanks, previous = np.array([board], dtype=np.uint8), np.array([board.index(0)]), np.array([-1])
    levels, counts, weight = [], [], 1.0
    while len(boards):
        levels.append(boards)
        counts.append(weight * len(boards))
        cells = near[blanks]
        parents, columns = np.nonzero((cells >= 0) & (cells != previous[:, None]))
        from_cells, to_cells = cells[parents, columns], blanks[parents]
        children, rows = boards[parents], np.arange(len(parents))
        children[rows, to_cells] = children[rows, from_cells]
        children[rows, from_cells] = 0
        kept = np.flatnonzero(database.probe_batch(children).maximum + len(levels) <= threshold)
        if len(kept) > n_kept:
            weight *= len(kept) / n_kept
            kept = rng.choice(kept, n_kept, replace=False)
        boards, blanks, previous = children[kept], from_cells[kept], to_cells[kept]
    n_of_level = rng.multinomial(n_sampled, np.array(counts) / sum(counts))
    chosen = [level[rng.integers(len(level), size=n)] for level, n in zip(levels, n_of_level, strict=True)]
    return np.concatenate(chosen), np.repeat(threshold - np.arange(len(levels)), n_of_level), sum(counts)


class Patterns:
    """The distances of patterns and of their reflections on sampled nodes, and the lifts of tiles."""

    def __init__(self, size: BoardSize, goal: Tiles, boards: Boards) -> None:
        self.size, self.goal, self.boards = size, goal, boards
        cells = mappings_between(goal, goal, size)[1].cell_map
        self._image = {goal[cell]: goal[cells[cell]] for cell in range(size.n_cells)}
        self.distances = cache(self._distances)
        self.lift = cache(self._lift)
        self._mean = cache(self._mean_distance)

    def reflected(self, tiles: Tiles) -> Tiles:
        """Return the tiles of the reflected pattern, ascending."""
        return tuple(sorted(self._image[tile] for tile in tiles))

    def _distances(self, tiles: Tiles) -> npt.NDArray[np.uint8]:
        """Return uint8[2, n]: the distances of a pattern in each board, and in its reflection."""
        if self.reflected(tiles) < tiles:
            return np.asarray(self.distances(self.reflected(tiles))[::-1])
        others = [(tile,) for tile in range(1, self.size.n_cells) if tile not in tiles]
        text = "/".join(",".join(map(str, part)) for part in (tiles, *others))
        partition = parse_partition(text, self.size, self.goal)
        index = [tuple(sorted(pattern.tiles)) for pattern in partition.patterns].index(tiles)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "table.h5"
            build_database(plan_build(self.size, self.goal, partition, path, encoding="bits"))
            with open_database(path) as database:
                return database.probe_batch(self.boards).values[:, :2, index].T.copy()

    def leaves(self, parts: Parts, moves_left: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which of the nodes neither the sum of a partition nor the reflected one prunes."""
        total = sum(self.distances(tiles).astype(np.int64) for tiles in parts)
        return (np.asarray(total) <= moves_left).all(axis=0)

    def units(self, parts: Parts) -> set[Tiles]:
        """Return the tables that a node looks up for a partition, each reflection counted."""
        return {tiles for part in parts for tiles in (part, self.reflected(part))}

    def _mean_distance(self, tiles: Tiles) -> float:
        found = search_pattern(TableSpec(self.size, self.goal, Pattern(tiles), "bytes"), n_threads=1)
        return float(np.average(np.arange(len(found.histogram)), weights=found.histogram))

    def _lift(self, tiles: Tiles) -> float:
        """Return the mean distance of a pattern less the lifts of its parts."""
        parts = (part for n in range(1, len(tiles)) for part in itertools.combinations(tiles, n))
        return self._mean(tiles) - sum(map(self.lift, parts))

    def score(self, tiles: Sequence[int]) -> float:
        """Return the lifts of all pairs and triples of a pattern."""
        ordered = sorted(tiles)
        return sum(self.lift(part) for n in (2, 3) for part in itertools.combinations(ordered, n))

    def pool(self, sizes: Sequence[int], n_wanted: int, seed: int) -> set[Tiles]:
        """Return the patterns of the partitions with the largest lifts, and their reflections."""
        found = {parts for i in range(_ANNEALINGS) for parts in annealed(self, sizes, seed + i)}
        pool: set[Tiles] = set()
        for parts in sorted(found, key=lambda parts: (-sum(map(self.score, parts)), parts)):
            if len(pool) < 2 * n_wanted:
                pool |= self.units(parts)
        return pool


def annealed(patterns: Patterns, sizes: Sequence[int], seed: int, n_steps: int = 4000) -> Iterator[Parts]:
    """Yield the partitions with patterns of these sizes that a simulated annealing of their lifts comes by."""
    rng = np.random.default_rng(seed)
    tiles = rng.permutation(np.arange(1, patterns.size.n_cells)).tolist()
    ends = np.cumsum(sizes).tolist()
    parts = [tiles[end - n : end] for end, n in zip(ends, sizes, strict=True)]
    scores = [patterns.score(part) for part in parts]
    for step in range(n_steps):
        a, b = rng.choice(len(parts), 2, replace=False)
        x, y = rng.integers(len(parts[a])), rng.integers(len(parts[b]))
        parts[a][x], parts[b][y] = parts[b][y], parts[a][x]
        found = patterns.score(parts[a]), patterns.score(parts[b])
        gain = sum(found) - scores[a] - scores[b]
        if rng.random() < math.exp(min(0.0, gain / (0.4 * (1 - step / n_steps) + 0.02))):
            scores[a], scores[b] = found
            if step > n_steps // 2:
                yield tuple(sorted(tuple(sorted(part)) for part in parts))
        else:
            parts[a][x], parts[b][y] = parts[b][y], parts[a][x]


def covers(pool: set[Tiles], n_tiles: int, n_rest: int) -> Iterator[Parts]:
    """Yield the partitions of the tiles into patterns of the pool, and up to `n_rest` tiles beside them."""
    by_tile = {tile: [tiles for tiles in pool if tile in tiles] for tile in range(1, n_tiles + 1)}

    def complete(parts: Parts, rest: Tiles) -> Iterator[Parts]:
        used = set(rest).union(*parts)
        tile = next((tile for tile in range(1, n_tiles + 1) if tile not in used), None)
        if tile is None:
            yield tuple(sorted((*parts, rest) if rest else parts))
            return
        for tiles in by_tile[tile]:
            if used.isdisjoint(tiles):
                yield from complete((*parts, tiles), rest)
        if len(rest) < n_rest:
            yield from complete(parts, (*rest, tile))

    yield from complete((), ())


def choose(left: Boards, units: npt.NDArray[np.bool_], base: npt.NDArray[np.bool_]) -> list[int]:
    """Return a set of partitions of little estimated time, by adding, removing and exchanging one at a time.

    left   uint8[q, boards, n]  a bit for each node, 1 if a partition leaves it
    units  bool[q, u]           the tables that a partition looks up
    base   bool[u]              those that are looked up anyway
    """

    def times(at: list[int]) -> npt.NDArray[np.float64]:
        """Return the time of a set with each of the partitions added."""
        nodes = mean_left(left & np.bitwise_and.reduce(left[at], axis=0, initial=255))
        return nodes * ((units | units[at].any(axis=0) | base).sum(axis=1) + _OTHER_WORK)

    chosen: list[int] = []
    best = math.inf
    while True:
        # The set itself, for one more; and without each of its partitions, for another one.
        sets = [chosen, *(chosen[:i] + chosen[i + 1 :] for i in range(len(chosen)))]
        time, at, added = min((float(found.min()), at, int(found.argmin())) for at in sets for found in [times(at)])
        if time >= best * (1 - 1e-9):
            return chosen
        best, chosen = time, [*at, added]


def mean_left(left: Boards) -> npt.NDArray[np.float64]:
    """Return the part of the bits that are 1, for uint8[..., boards, n] the geometric mean over the boards."""
    parts = np.bitwise_count(left).mean(axis=-1, dtype=np.float64) / 8
    return np.asarray(np.exp(np.log(np.maximum(parts, 1e-6)).mean(axis=-1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", help="the table file whose nodes are sampled")
    parser.add_argument("--boards", default="korf50-24puzzle", help="boards with known optimal lengths")
    parser.add_argument("--tiles", action="append", required=True, help="sizes of the patterns of partitions to try")
    parser.add_argument("--rest", type=int, default=0, help="a pattern of up to so many tiles may be any")
    parser.add_argument("--patterns", type=int, default=100, help="of each of --tiles, and as many reflections")
    parser.add_argument("--kept", type=int, default=20_000, help="nodes searched on at each depth")
    parser.add_argument("--nodes", type=int, default=3000, help="sampled for each board, a multiple of 8")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with open_database(options.database, load="huge") as database:
        size, goal = database.size, database.goal
        base = tuple(tuple(sorted(pattern.tiles)) for pattern in database.header.spec.partition.patterns)
        samples = [
            sample_nodes(database, at.board, at.optimal_length - 2, options.kept, options.nodes, rng)
            for at in read_instances(options.boards, size)
            if at.optimal_length is not None
        ]
    patterns = Patterns(size, goal, np.concatenate([boards for boards, _, _ in samples]))
    moves_left = np.concatenate([left for _, left, _ in samples])
    sizes = [[int(n) for n in text.split(",")] for text in options.tiles]
    pools = [patterns.pool(each, options.patterns, options.seed) for each in sizes]
    pool = {tiles for tiles in set().union(*pools) if len(tiles) > options.rest}
    partitions = sorted(set(covers(pool, size.n_cells - 1, options.rest)))
    print(f"{len(pool)} patterns, {len(partitions)} partitions", flush=True)
    left = np.array(
        [np.packbits(patterns.leaves(parts, moves_left).reshape(len(samples), -1), axis=1) for parts in partitions]
    )
    names = sorted(set().union(*(patterns.units(parts) for parts in (base, *partitions))))
    units = np.array([[name in patterns.units(parts) for name in names] for parts in (base, *partitions)])
    chosen = choose(left, units[1:], units[0])
    nodes = mean_left(np.bitwise_and.reduce(left[chosen], axis=0, initial=255))
    print(
        f"{nodes:.4f} of the nodes are left, {(units[1:][chosen].any(axis=0) | units[0]).sum()} tables are looked up:"
    )
    for index in chosen:
        print("/".join(",".join(map(str, tiles)) for tiles in partitions[index]))


if __name__ == "__main__":
    main()
