// The lower bound: each pattern's distance, their sum, the reflected sum. The largest sum colours the board.

import { letterOf, N_COLOURS } from "./board_view.js";
import { byId, make, setText } from "./elements.js";

/** `view` is the board that is coloured. */
export function boundPanel(view) {
  const [root, sums, h, hText, colours] = ["bound", "sums", "h", "h-text", "colours"].map(byId);
  let [answer, chosen, shape, isAdditive, patterns, db] = [null, 0, "", true, [], ""];
  colours.addEventListener("change", paint);

  function showAnswer(newAnswer, database) {
    [answer, isAdditive] = [newAnswer, database?.cost !== "every-move"];
    root.classList.remove("waiting");
    root.hidden = false;
    setText(h, answer.solvable ? answer.h : "–");
    setText(hText, answer.solvable ? `${answer.h === 1 ? "move" : "moves"} at least: the largest sum` : "no way to the goal");
    if (answer.db !== db) {
      [shape, db] = ["", answer.db];
      sums.replaceChildren();
    }
    if (!answer.solvable) return empty();
    patterns = answer.sums.map((sum) => sum.patterns);
    const newShape = JSON.stringify([answer.sums.map(({ values }) => values.length), isAdditive]);
    if (newShape !== shape) build(newShape);
    answer.sums.forEach((sum, index) => fill(sums.children[index], sum));
    // Another choice lasts until the next board.
    if (answer.sums[chosen].h < answer.h) chosen = answer.sums.findIndex((sum) => sum.h === answer.h);
    sums.querySelector(`[value="${chosen}"]`).checked = true;
    paint();
  }

  /** The rows are made anew only where there are others to show, and filled in place: nothing flickers. */
  function build(newShape) {
    shape = newShape;
    if (chosen >= answer.sums.length) chosen = 0;
    const rows = answer.sums.map(({ values }, index) => {
      const chips = values.map((_, pattern) =>
        make(
          "span",
          {
            class: "chip",
            "data-pattern": pattern % N_COLOURS,
            onpointerenter: () => view.light(patterns[index][pattern]),
            onpointerleave: () => view.light(null),
          },
          make("b", { text: letterOf(pattern) }),
          make("span", { class: "value" }),
        ),
      );
      return make(
        "label",
        { class: "sum" },
        make("input", { type: "radio", name: "sum", value: index, onchange: () => choose(index) }),
        make("span", { class: "name", text: nameOfSum(index, answer.sums.length) }),
        make("span", { class: isAdditive ? "terms" : "terms largest" }, ...chips),
        make("span", { class: "total" }, make("span", { class: "unseen", text: " is " }), make("output")),
      );
    });
    sums.replaceChildren(...rows);
  }

  function fill(rowElement, sum) {
    rowElement.querySelectorAll(".value").forEach((value, pattern) => setText(value, sum.values[pattern]));
    setText(rowElement.querySelector("output"), sum.h);
    rowElement.classList.toggle("largest-sum", sum.h === answer.h);
  }

  /** The rows stay, without figures; the patterns are the same for every board of a database. */
  function empty() {
    for (const figure of sums.querySelectorAll(".value, output")) setText(figure, "–");
    for (const its of sums.children) its.classList.remove("largest-sum");
  }

  function choose(index) {
    chosen = index;
    paint();
  }

  function paint() {
    view.colour(colours.checked && answer?.solvable ? patterns[chosen] : null);
  }

  /** Nothing is known of the board: there is no answer, or none any more. */
  function clear() {
    root.classList.remove("waiting");
    [answer, shape] = [null, ""];
    root.hidden = true;
    sums.replaceChildren();
    view.colour(null);
  }

  return { showAnswer, clear, wait: () => root.classList.add("waiting") };
}

function nameOfSum(index, nSums) {
  if (index === 0) return "Sum";
  return nSums > 2 ? `Sum ${index + 1}` : "Reflected";
}
