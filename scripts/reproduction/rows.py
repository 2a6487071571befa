"""Rows of the comparison: heuristic, search, published means, and the change of each step."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """Published means over 1000 random boards of the 15-puzzle: h of the board, and generated nodes."""

    mean_h: float
    nodes: int
    source: str


@dataclass(frozen=True)
class Row:
    """Heuristic and search of a row.

    name       unique name in tables and plots
    databases  partitions and their encodings; empty with `heuristic`
    heuristic  a name of `pdb search --heuristic`
    reflects   look up reflections, too
    plain      textbook IDA*: no pruning of duplicate moves, children in fixed order
    duals      look up the dual board, too, see `dual_lookups`; only with `plain`
    is_long    takes minutes for a few hundred boards
    published  the published means
    note       the change of this step, for the page
    """

    name: str
    databases: tuple[tuple[str, str], ...] = ()
    heuristic: str | None = None
    reflects: bool = True
    plain: bool = False
    duals: bool = False
    is_long: bool = False
    published: Published | None = None
    note: str = ""


KORF_FELNER = "Korf and Felner (2002)"
FELNER_KORF_HANAN = "Felner, Korf and Hanan (2004)"
FELNER_DUAL = "Felner, Zahavi, Schaeffer and Holte (2005)"


def _bytes(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "bytes") for name in names)


def _bits(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, "bits") for name in names)


# As published: additive tables in bytes, with the least distance over all blank regions; textbook IDA*.
PUBLISHED_ROWS = (
    Row(
        "Manhattan distance",
        heuristic="manhattan",
        plain=True,
        is_long=True,
        published=Published(36.94, 401_189_630, KORF_FELNER),
    ),
    Row(
        "linear conflict",
        heuristic="linear-conflict",
        plain=True,
        is_long=True,
        published=Published(38.79, 40_224_625, KORF_FELNER),
    ),
    Row("5-5-5", _bytes("555"), reflects=False, plain=True, published=Published(41.56, 3_090_405, KORF_FELNER)),
    Row("5-5-5 and reflection", _bytes("555"), plain=True),
    # Not published: which rows use the reflection. The mean of h shows it, see the page.
    Row("6-6-3", _bytes("663"), reflects=False, plain=True),
    Row("6-6-3 and reflection", _bytes("663"), plain=True, published=Published(42.92, 617_555, KORF_FELNER)),
    Row("7-8", _bytes("78"), reflects=False, plain=True, published=Published(44.75, 136_289, FELNER_KORF_HANAN)),
    Row("7-8 and reflection", _bytes("78"), plain=True, published=Published(45.63, 36_710, KORF_FELNER)),
    Row(
        "7-8, reflection and duals",
        _bytes("78"),
        plain=True,
        duals=True,
        published=Published(46.12, 18_601, FELNER_DUAL),
    ),
)

# Steps that follow 7-8 with its reflection.
FIRST_STEP = PUBLISHED_ROWS[-2]
STEPS = (
    Row("bits", _bits("78"), plain=True, note="distances tell apart where the blank can be, one bit a state"),
    Row("pruning", _bits("78"), note="duplicate sequences of up to 12 moves are pruned, the best child is first"),
    Row("78d", _bits("78", "78d"), note="the largest sum of two partitions"),
    Row("78v", _bits("78", "78d", "78v"), note="of three"),
    Row("9-6", _bits("78", "96"), note="a pattern of nine tiles"),
    Row("78d, 9-6", _bits("78", "78d", "96"), note="both"),
)
ROWS = (*PUBLISHED_ROWS, *STEPS)
