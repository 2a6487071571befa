// The hint: every legal move, best first, with h and the distance after it if found in time.

import * as api from "./api.js";
import { directionOf } from "./board.js";
import { byId, make, moves as movesText, problemText, setText, showNotice } from "./elements.js";

const SECONDS = 2;

/** `play(tile)` makes a move; `say(text)` tells the status. */
export function hintPanel(view, play, say) {
  const [root, list, text, button] = ["hints", "moves", "hints-text", "hint"].map(byId);
  let abort = null;

  /** Ask for the moves from a board; `names` are board, goal and db as the service takes them. */
  async function ask(names, size) {
    clear();
    abort = new AbortController();
    const own = abort;
    button.setAttribute("aria-busy", "true");
    try {
      const answer = await api.moves({ ...names, seconds: SECONDS }, own.signal);
      if (own === abort) show(answer, size);
    } catch (problem) {
      if (api.isAbort(problem) || own !== abort) return;
      root.hidden = false;
      showNotice(byId("hints-problem"), problemText(problem), () => ask(names, size));
    } finally {
      if (own === abort || abort === null) button.removeAttribute("aria-busy");
    }
  }

  function show(answer, size) {
    root.hidden = false;
    if (!answer.solvable) return setText(text, "The board cannot be solved.");
    if (answer.distance === 0) {
      say("This board is the goal.");
      return setText(text, "This board is the goal.");
    }
    const [best] = answer.moves;
    const words = (move) => `${move.tile} ${directionOf(move.cell, move.blank, size)}`;
    setText(
      text,
      answer.distance === null
        ? `The distance was not found in ${SECONDS} s: the moves are sorted by h.`
        : `${movesText(answer.distance)} from the goal; h says ${answer.h}.`,
    );
    list.replaceChildren(...answer.moves.map((move) => row(move, words(move), answer.distance)));
    view.flash(best.tile);
    say(
      best.distance === null
        ? `Lowest h: ${words(best)}, h ${best.h} after it.`
        : `Best: ${words(best)}, ${movesText(best.distance)} left after it.`,
    );
  }

  function row(move, words, distance) {
    const isGood = distance !== null && move.distance === distance - 1;
    return make(
      "li",
      {},
      make(
        "button",
        {
          type: "button",
          class: isGood ? "move good" : "move",
          onclick: () => play(move.tile),
          onpointerenter: () => view.ring([move.tile]),
          onpointerleave: () => view.ring([]),
          onfocus: () => view.ring([move.tile]),
          onblur: () => view.ring([]),
        },
        make("span", { class: "words", text: words }),
        make("span", { class: "figure" }, make("span", { class: "label", text: "h " }), `${move.h}`),
        make("span", { class: "figure" }, make("span", { class: "label", text: "distance " }), `${move.distance ?? "?"}`),
      ),
    );
  }

  function clear() {
    if (abort) abort.abort();
    abort = null;
    button.removeAttribute("aria-busy");
    root.hidden = true;
    setText(text, "");
    list.replaceChildren();
    view.ring([]);
    showNotice(byId("hints-problem"), null);
  }

  return { ask, clear };
}
