"""Player of a solution in HTML: the board, its moves, and buttons. Self-contained; it loads nothing."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pdb_core.puzzle import Board
from pdb_core.types import BLANK

_CELL = 44
# `ID` is replaced, so that several players on a page do not mix.
_STYLE = """
#ID{font-family:sans-serif;display:inline-block;color:inherit}
#ID .board{position:relative;background:#6b6357;border-radius:6px;margin:4px 0 8px}
#ID .tile{position:absolute;width:42px;height:42px;margin:1px;border-radius:4px;color:#222;font-size:18px;
display:flex;align-items:center;justify-content:center;transition:transform .12s linear}
#ID button{font-size:15px;min-width:36px;min-height:30px;margin-right:4px}
#ID input{vertical-align:middle;width:160px}
#ID .at{margin-left:8px;font-variant-numeric:tabular-nums}
@media (prefers-reduced-motion: reduce){#ID .tile{transition:none}}
"""
_SCRIPT = """
(() => {
  const root = document.getElementById("ID"), data = DATA, boards = [data.board];
  for (const tile of data.tiles) {
    const next = boards[boards.length - 1].slice(), blank = next.indexOf(0), cell = next.indexOf(tile);
    next[blank] = tile; next[cell] = 0; boards.push(next);
  }
  const slider = root.querySelector("input"), at = root.querySelector(".at"), play = root.querySelector(".play");
  let step = 0, timer = null;
  const show = (number) => {
    step = Math.max(0, Math.min(number, boards.length - 1));
    boards[step].forEach((tile, cell) => {
      if (tile) root.querySelector(`[data-tile="${tile}"]`).style.transform =
        `translate(${cell % data.width * CELL}px,${Math.floor(cell / data.width) * CELL}px)`;
    });
    slider.value = step;
    at.textContent = `${step} of ${boards.length - 1}` + (step ? `: tile ${data.tiles[step - 1]}` : "");
  };
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "\\u25b6"; play.ariaLabel = "play"; };
  root.querySelector(".first").onclick = () => { stop(); show(0); };
  root.querySelector(".back").onclick = () => { stop(); show(step - 1); };
  root.querySelector(".next").onclick = () => { stop(); show(step + 1); };
  root.querySelector(".last").onclick = () => { stop(); show(boards.length - 1); };
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  play.onclick = () => {
    if (timer) { stop(); return; }
    if (step === boards.length - 1) show(0);
    play.textContent = "\\u2759\\u2759"; play.ariaLabel = "pause";
    timer = setInterval(() => { if (step === boards.length - 1) stop(); else show(step + 1); }, 250);
  };
  show(0);
})();
"""


@dataclass(frozen=True)
class Player:
    """Player in HTML, which a notebook shows."""

    html: str

    def __repr__(self) -> str:
        return f"Player({len(self.html)} characters of HTML)"

    def _repr_html_(self) -> str:
        return self.html


def player_html(board: Board, tiles: Sequence[int], colours: Sequence[str], title: str) -> str:
    """Return a player of the moves of `tiles` from `board`; `colours` has one for each tile, the blank included.

    Without scripts, as in a notebook that is not trusted, the first board and the list of moves remain.
    """
    name, size = f"tile-pdb-{uuid.uuid4().hex[:12]}", board.size
    drawn = "".join(
        f'<div class="tile" data-tile="{tile}" style="background:{colours[tile]};transform:translate('
        f'{cell % size.width * _CELL}px,{cell // size.width * _CELL}px)">{tile}</div>'
        for cell, tile in enumerate(board)
        if tile != BLANK
    )
    buttons = "".join(
        f'<button type="button" class="{kind}" aria-label="{label}">{sign}</button>'
        for kind, label, sign in (
            ("first", "first board", "&laquo;"), ("back", "one move back", "&lsaquo;"),
            ("play", "play", "&#9654;&#xfe0e;"), ("next", "next move", "&rsaquo;"), ("last", "last board", "&raquo;"),
        )
    )  # fmt: skip
    data = json.dumps({"board": list(board), "tiles": list(tiles), "width": size.width})
    script = _SCRIPT.replace("ID", name).replace("DATA", data).replace("CELL", str(_CELL))
    return (
        f'<div id="{name}" role="group" aria-label="solution"><style>{_STYLE.replace("ID", name)}</style>'
        f"<div>{escape(title)}</div>"
        f'<div class="board" style="width:{size.width * _CELL}px;height:{size.height * _CELL}px">{drawn}</div>'
        f'<div>{buttons}<input type="range" min="0" max="{len(tiles)}" value="0" aria-label="move">'
        f'<span class="at">0 of {len(tiles)}</span></div>'
        f"<details><summary>tiles moved</summary>{' '.join(map(str, tiles))}</details>"
        f"<script>{script}</script></div>"
    )
