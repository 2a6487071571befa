// The analysis under the board: its distance, and every legal move with the distance or h after it, best first. The best
// moves are ringed on the board until the next move.

import { directionOf } from "./board.js";
import { byId, make, moves as movesText, setText } from "./elements.js";

const N_ROWS = 4; // the most moves of a board

/** `play(tile)` makes a move; `say(text)` is read by screen readers; `distanceOf(board)` is null if it is not known. */
export function analysisPanel(view, { play, say, distanceOf }) {
  const [root, text, note, body, best] = ["analysis", "distance", "distance-note", "moves", "best"].map(byId);
  let shown = [];

  // Rows are filled in place, so that the focus stays, and Enter can play one best move after the other.
  const rows = Array.from({ length: N_ROWS }, (_, at) => {
    const light = (isLit) => view.light(isLit && shown[at] ? [shown[at].tile] : null);
    const button = make("button", {
      type: "button",
      onclick: () => shown[at] && play(shown[at].tile),
      onpointerenter: () => light(true),
      onpointerleave: () => light(false),
    });
    return make("tr", { hidden: true }, make("th", { scope: "row" }, button), make("td"), make("td"));
  });
  body.append(...rows);
  best.addEventListener("change", ring);

  /** Show what is known of a board at once: its distance, or else a lower bound, and the length of a solution. */
  function showBoard(board, bound = null, length = null) {
    const distance = distanceOf(board);
    root.hidden = false;
    setText(text, distance ?? (bound === null ? "…" : `≥ ${bound}`));
    const known = distance === null && length ? `, at most ${length}` : "";
    setText(note, distance === 0 ? "the goal" : (distance ?? bound) === 1 ? "move to the goal" : `moves to the goal${known}`);
  }

  function wait(board) {
    shown = [];
    ring();
    root.setAttribute("aria-busy", "true");
    showBoard(board);
  }

  /** Show an answer of /v1/moves. */
  function show({ board, moves, lower_bound: bound, length }, size) {
    const distance = distanceOf(board);
    const known = moves.map((move) => ({ ...move, distance: distanceOf(move.board) }));
    // A move leads one nearer or one farther: where its distance is not known, it is between these.
    if (distance !== null) known.sort((one, other) => (one.distance ?? distance) - (other.distance ?? distance));
    shown = known.map((move) => ({ ...move, isBest: distance > 0 && move.distance === distance - 1 }));
    root.removeAttribute("aria-busy");
    showBoard(board, bound, length);
    rows.forEach((row, at) => {
      const move = shown[at];
      row.hidden = !move;
      if (!move) return;
      const [button, after, itsH] = [row.querySelector("button"), ...row.querySelectorAll("td")];
      setText(button, `${move.tile} ${directionOf(move.cell, move.blank, size)}`);
      setText(after, move.distance ?? `≥ ${move.h}`);
      setText(itsH, move.h);
      row.classList.toggle("good", move.isBest);
    });
    ring();
    const words = shown.filter(({ isBest }) => isBest).map(({ tile, cell, blank }) => `${tile} ${directionOf(cell, blank, size)}`);
    if (distance === null) say(`At least ${movesText(bound)} to the goal.`);
    else if (distance) say(`${movesText(distance)} to the goal. Best: ${best.checked ? words.join(", ") : "hidden"}.`);
  }

  function ring() {
    root.classList.toggle("hides-best", !best.checked);
    view.ring(best.checked ? shown.filter(({ isBest }) => isBest).map(({ tile }) => tile) : []);
  }

  function clear() {
    shown = [];
    ring();
    root.hidden = true;
  }

  return { wait, showBoard, show, clear, isWhole: () => shown.every(({ distance }) => distance !== null), toggle: () => (best.click(), true) };
}
