"""Drawings of docs/how-it-works.md and docs/architecture.md, made with the layout, the searches and the imports.

`python scripts/docs_site/drawings.py` writes them. A test compares them with the files.
"""

import sys
from itertools import permutations
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from imports import direct_arrows, package_arrows  # noqa: E402
from svg import CELL, Drawing  # noqa: E402

from pdb_core.layout import NO_JUMP, PatternLayout, jump_permutation, pattern_layout  # noqa: E402
from pdb_core.puzzle import Board, BoardSize, blank_last  # noqa: E402
from solver.engine.layout import BATCH  # noqa: E402

FOLDER = Path(__file__).parent.parent.parent / "docs" / "images"
_SIZE = BoardSize(3, 3)
_LETTERS = "abcd"
State = tuple[int, int]


def cells_of(mask: int) -> list[int]:
    """Return the cells of a mask, ascending."""
    return [cell for cell in range(_SIZE.n_cells) if mask >> cell & 1]


def set_of_block(layout: PatternLayout, block: int) -> int:
    """Return the index of the cell set of a block."""
    return next(at for at in range(layout.blocks.n_sets) if block < layout.blocks.first_block[at + 1])


def draw_block(
    drawing: Drawing, x: float, y: float, layout: PatternLayout, block: int, labels: str, kind: str = "one"
) -> None:
    """Draw a state of a block: its tiles, and the blank region shaded."""
    mask = int(layout.blocks.cell_sets[set_of_block(layout, block)])
    tiles = dict(zip(cells_of(mask), labels, strict=True))
    region = dict.fromkeys(cells_of(int(layout.blocks.regions[block])), kind)
    drawing.board(x, y, _SIZE.width, tiles, region, _SIZE.n_cells)


def blocks() -> str:
    """Draw a cell set that divides the board: its two blocks, and the six arrangements of one."""
    layout = pattern_layout(_SIZE, 3)
    diagonal = (1 << 2) | (1 << 4) | (1 << 6)
    (at,) = (at for at in range(layout.blocks.n_sets) if layout.blocks.cell_sets[at] == diagonal)
    first, last = layout.blocks.first_block[at : at + 2]
    drawing = Drawing(640, 250, "A cell set, its blank regions, and the arrangements of a block")
    drawing.words(
        20, 28, f"one cell set of {layout.blocks.n_sets}, {last - first} blank regions: {last - first} blocks"
    )
    for number, block in enumerate(range(first, last)):
        draw_block(drawing, 20 + 120 * number, 44, layout, block, "•••", ("one", "two")[number])
        drawing.words(20 + 120 * number, 130, f"block {block}", kind="soft")
    drawing.words(270, 70, "shaded: where the blank may be. It goes about there", kind="soft")
    drawing.words(270, 88, "without moving a tile of the pattern, so at no cost.", kind="soft")
    orders = list(permutations(_LETTERS[:3]))
    drawing.words(20, 162, f"the {len(orders)} arrangements of block {first}, ranks 0 to {len(orders) - 1}")
    for rank, order in enumerate(orders):
        draw_block(drawing, 20 + 100 * rank, 172, layout, first, "".join(order))
    return drawing.text()


def transitions() -> str:
    """Draw two moves as mappings of blocks: sideways the ranks stay, up and down they are permuted."""
    layout = pattern_layout(_SIZE, 3)
    at = next(at for at in range(layout.blocks.n_sets) if cells_of(int(layout.blocks.cell_sets[at])) == [1, 3, 4])
    target = int(layout.blocks.first_block[at])
    into = range(layout.first_transition[target], layout.first_transition[target + 1])
    drawing = Drawing(640, 312, "Transitions between blocks")
    sideways = next(t for t in into if layout.jumps[t] == NO_JUMP)
    jumping = next(t for t in into if layout.jumps[t] != NO_JUMP)
    for left, transition, words in (
        (20, sideways, "a tile moves sideways: ranks stay"),
        (330, jumping, "a tile moves up or down: ranks are permuted"),
    ):
        draw_transition(drawing, left, layout, int(layout.sources[transition]), target, int(layout.jumps[transition]))
        drawing.words(left, 28, words)
    return drawing.text()


def draw_transition(drawing: Drawing, x: int, layout: PatternLayout, source: int, target: int, jump: int) -> None:
    """Draw the boards of rank 0 before and after a move, and the mapping of the ranks."""
    orders = ["".join(order) for order in permutations(_LETTERS[:3])]
    before_after = layout.jump_positions[jump] if jump != NO_JUMP else None
    ranks = list(range(6)) if before_after is None else jump_permutation(3, *before_after).tolist()
    draw_block(drawing, x, 46, layout, source, orders[0])
    drawing.line(x + 3 * CELL + 15, 78, x + 3 * CELL + 75, 78, arrow=True)
    draw_block(drawing, x + 3 * CELL + 90, 46, layout, target, orders[ranks[0]])
    drawing.words(x, 132, f"block {source}", kind="soft")
    drawing.words(x + 3 * CELL + 90, 132, f"block {target}", kind="soft")
    for rank, order in enumerate(orders):
        drawing.words(x, 162 + 26 * rank, f"{rank}  {order}")
        drawing.words(x + 3 * CELL + 120, 162 + 26 * rank, f"{rank}  {order}")
        drawing.line(x + 50, 158 + 26 * rank, x + 3 * CELL + 110, 158 + 26 * ranks[rank], arrow=ranks[rank] == rank)


def search_levels(layout: PatternLayout, start: State) -> list[list[State]]:
    """Return the states (block, rank) at each depth from `start`, by breadth-first search over the transitions."""
    seen, levels = {start}, [[start]]
    while levels[-1]:
        found = set()
        for block in range(layout.blocks.n_blocks):
            for at in range(layout.first_transition[block], layout.first_transition[block + 1]):
                pair = layout.jump_positions[layout.jumps[at]] if layout.jumps[at] != NO_JUMP else None
                ranks = (
                    range(layout.blocks.n_orders) if pair is None else jump_permutation(layout.blocks.n_tiles, *pair)
                )
                source = int(layout.sources[at])
                found |= {(block, int(ranks[rank])) for parent, rank in levels[-1] if parent == source}
        levels.append(sorted(found - seen))
        seen |= found
    return levels[:-1]


def levels() -> str:
    """Draw breadth-first search from the goal, for the tiles 1 and 2."""
    layout = pattern_layout(_SIZE, 2)
    found = search_levels(layout, layout.blocks.state_of(blank_last(_SIZE), (1, 2)))
    drawing = Drawing(640, 440, "Breadth-first search from the goal, by levels")
    drawing.words(20, 28, "tiles 1 and 2, from their places in the goal backwards; shaded: where the blank may be")
    shown, most = 4, 4
    for depth, states in enumerate(found[:shown]):
        top = 44 + 94 * depth
        drawing.words(20, top + 30, f"depth {depth}")
        drawing.words(20, top + 48, f"{len(states)} state{'s' * (len(states) > 1)}", kind="soft")
        for number, (block, rank) in enumerate(states[:most]):
            draw_block(drawing, 120 + 90 * number, top, layout, block, ("12", "21")[rank])
        if len(states) > most:
            drawing.words(120 + 90 * most, top + 38, f"and {len(states) - most} more", kind="soft")
    counts = ", ".join(str(len(states)) for states in found[shown:])
    drawing.words(20, 426, f"then {counts}: {sum(map(len, found))} states, all of them", kind="soft")
    return drawing.text()


def manhattan(board: Board) -> int:
    """Return the Manhattan distance of a board."""
    return sum(abs(at % 3 - (tile - 1) % 3) + abs(at // 3 - (tile - 1) // 3) for at, tile in enumerate(board) if tile)


class Node:
    """Node of IDA*: a board, f = g + h, and its children."""

    def __init__(self, board: Board, g: int) -> None:
        self.board, self.g, self.f = board, g, g + manhattan(board)
        self.children: list[Node] = []
        self.is_on_path = False


def search(node: Node, threshold: int, undo: int | None) -> bool:
    """Search depth first below a node, up to the threshold. Return whether the goal was found."""
    if node.f > threshold:
        return False
    if node.board == blank_last(_SIZE):
        node.is_on_path = True
        return True
    blank = node.board.index(0)
    for near in sorted(_SIZE.neighbours[blank]):
        if near == undo:
            continue
        board = list(node.board)
        board[blank], board[near] = board[near], 0
        node.children.append(Node(tuple(board), node.g + 1))
        if search(node.children[-1], threshold, blank):
            node.is_on_path = True
            return True
    return False


def deepening() -> str:
    """Draw the trees of IDA* below one board of the 8-puzzle, one for each threshold."""
    start = (2, 4, 3, 1, 5, 6, 7, 8, 0)
    drawing = Drawing(640, 400, "IDA*: one depth-first search for each threshold")
    draw_start(drawing, 540, 60, start)
    left, threshold = 34.0, manhattan(start)
    while True:
        root = Node(start, 0)
        is_found = search(root, threshold, None)
        width = draw_tree(drawing, root, left, threshold)
        drawing.words(left - 14, 34, f"threshold {threshold}")
        if is_found:
            break
        left, threshold = left + width + 40, threshold + 2
    drawing.words(20, 384, "in the circles f = g + h; red: above the threshold, cut; green: the solution", kind="soft")
    return drawing.text()


def draw_start(drawing: Drawing, x: float, y: float, board: Board) -> None:
    """Draw the root of the trees."""
    tiles = {cell: str(tile) for cell, tile in enumerate(board) if tile}
    drawing.board(x, y, _SIZE.width, tiles, {}, _SIZE.n_cells)
    drawing.words(x, y + 86, f"h = {manhattan(board)}", kind="soft")


def draw_tree(drawing: Drawing, root: Node, left: float, threshold: int) -> float:
    """Draw a tree, and return its width."""
    next_leaf = 0.0

    def place(node: Node) -> float:
        nonlocal next_leaf
        xs = [place(child) for child in node.children]
        if not xs:
            xs = [left + next_leaf]
            next_leaf += 30
        x, y = sum(xs) / len(xs), 60 + 34 * node.g
        for child_x in xs[: len(node.children)]:
            lines.append((x, y + 11, child_x, y + 34 - 11))
        nodes.append((x, y, node))
        return x

    lines: list[tuple[float, float, float, float]] = []
    nodes: list[tuple[float, float, Node]] = []
    place(root)
    for line in lines:
        drawing.line(*line)
    for x, y, node in nodes:
        kind = "way" if node.is_on_path else "cut" if node.f > threshold else "free"
        drawing.circle(x, y, str(node.f), kind)
    return next_leaf


def engine_round() -> str:
    """Draw the stages of one round of the search engine."""
    drawing = Drawing(760, 300, "One round of the search engine")
    # The stack, and the batch that is taken off its top.
    drawing.words(20, 28, "stack")
    for column in range(5):
        drawing.box(20 + 14 * column, 40, 12, 150)
        drawing.box(20 + 14 * column, 40, 12, 40, kind="two")
    drawing.words(20, 212, "one column", kind="soft", size=12)
    drawing.words(20, 228, "per word", kind="soft", size=12)
    drawing.line(94, 60, 124, 60, arrow=True)
    drawing.words(128, 28, f"batch: up to {BATCH} nodes")
    drawing.box(128, 46, 96, 28, "top nodes", kind="two")
    # The two lists, stage by stage.
    stages = ("list", "look up", "read, drop", "look up", "read, drop")
    for number, (title, first, second) in enumerate(
        (("left and right", "sum", "reflected sum"), ("up and down", "reflected sum", "sum"))
    ):
        y = 118 + 92 * number
        drawing.words(128, y - 8, f"{title} moves", kind="soft", size=12)
        for stage, name in enumerate(stages):
            x = 128 + 96 * stage
            drawing.box(x, y, 80, 28, name, kind="one" if name == "look up" else "free")
            if stage:
                drawing.line(x - 16, y + 14, x, y + 14, arrow=True)
        for stage, name in ((1, first), (3, second)):
            drawing.words(128 + 96 * stage + 40, y + 44, name, kind="soft", anchor="middle", size=12)
        drawing.line(592, y + 14, 622, 164, arrow=False)
    drawing.line(176, 74, 176, 98)
    drawing.words(626, 132, "put on the stack")
    drawing.box(626, 142, 110, 24, "h fell", kind="two")
    drawing.box(626, 166, 110, 24, "h rose", kind="free")
    drawing.words(626, 212, "h fell: on top, so", kind="soft", size=12)
    drawing.words(626, 228, "searched first", kind="soft", size=12)
    drawing.words(
        20,
        278,
        "Each box works on all children of the round, 4 to 16 in one instruction. While the children",
        kind="soft",
    )
    drawing.words(20, 294, "of one list wait for their table entries, the others are worked on.", kind="soft")
    return drawing.text()


# Column and row of each package in its drawing. No line between two packages crosses a third.
_PACKAGE_AT = {
    "pdb_cli": (0.9, 0), "tilepdb": (1.9, 0), "pdb_study": (0, 1), "pdb_service": (0.95, 1), "pdb_cluster": (2.6, 1),
    "solver": (1.25, 2), "pdb_query": (1.25, 3), "pdb_build": (2.6, 3), "pdb_core": (1.9, 4),
}  # fmt: skip


def packages() -> str:
    """Draw the packages, with an arrow from each to those it imports, but for arrows that follow from others."""
    drawing = Drawing(600, 340, "Packages and their imports")
    left_top = {name: (30 + 165 * column, 20 + 66 * row) for name, (column, row) in _PACKAGE_AT.items()}
    for package, imported in direct_arrows(package_arrows()).items():
        x, y = left_top[package]
        for other in sorted(imported):
            drawing.line(x + 52, y + 30, left_top[other][0] + 52, left_top[other][1], arrow=True)
    for package, (x, y) in left_top.items():
        drawing.box(x, y, 104, 30, package, kind="one" if package == "pdb_core" else "free")
    return drawing.text()


DRAWINGS = {
    "packages.svg": packages,
    "round.svg": engine_round,
    "blocks.svg": blocks,
    "transitions.svg": transitions,
    "levels.svg": levels,
    "deepening.svg": deepening,
}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
