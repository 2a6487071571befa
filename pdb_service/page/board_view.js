// The board on the page: one button for each tile, moved by its row and column.

import { cellsToSlide, directionOf, sizeText } from "./board.js";
import { make, setText } from "./elements.js";

export const letterOf = (pattern) => String.fromCharCode(65 + pattern);
export const N_COLOURS = 8;

/** `slideCell(cell)` is called when a tile is clicked; dragging is added by `drag.js`. */
export function boardView(root, slideCell) {
  const tiles = new Map();
  let [board, size, patternOf] = [[], null, new Map()];

  root.addEventListener("click", (event) => {
    const tile = event.target.closest(".tile");
    if (tile && !root.dataset.dragged) slideCell(board.indexOf(Number(tile.dataset.tile)));
  });

  function build(newSize) {
    size = newSize;
    tiles.clear();
    for (let tile = 1; tile < size.width * size.height; tile++) {
      const face = make("span", { class: "face" }, make("span", { text: tile }), make("span", { class: "mark" }), make("span", { class: "unseen" }));
      tiles.set(tile, make("button", { type: "button", class: "tile", id: `tile-${tile}`, tabindex: -1, "data-tile": tile }, face));
    }
    root.replaceChildren(...tiles.values());
    root.style.setProperty("--width", size.width);
    root.style.setProperty("--height", size.height);
    root.setAttribute("aria-label", `Board, ${size.width} by ${size.height}. Arrow keys slide a tile into the blank.`);
  }

  function show(newBoard, newSize) {
    if (!size || sizeText(size) !== sizeText(newSize)) build(newSize);
    board = newBoard;
    board.forEach((tile, cell) => {
      if (tile === 0) return;
      const element = tiles.get(tile);
      element.style.setProperty("--row", Math.floor(cell / size.width));
      element.style.setProperty("--column", cell % size.width);
      element.style.setProperty("--dx", "0px");
      element.style.setProperty("--dy", "0px");
    });
    label();
    // The elements keep their order in the document, so that tiles can be animated; aria-owns gives the order of rows.
    root.setAttribute("aria-owns", board.filter(Boolean).map((tile) => `tile-${tile}`).join(" "));
  }

  function label() {
    const blank = board.indexOf(0);
    board.forEach((tile, cell) => {
      if (tile === 0) return;
      const element = tiles.get(tile);
      const way = cellsToSlide(board, size, cell).length ? directionOf(cell, blank, size) : "";
      element.dataset.axis = { left: "x", right: "x", up: "y", down: "y" }[way] ?? "";
      const pattern = patternOf.get(tile);
      const words = [`row ${Math.floor(cell / size.width) + 1}, column ${(cell % size.width) + 1}`];
      if (pattern !== undefined) words.push(`pattern ${letterOf(pattern)}`);
      if (way) words.push(`slides ${way}`);
      if (element.classList.contains("ringed")) words.push("a best move");
      setText(element.querySelector(".unseen"), words.join(", "));
    });
  }

  /** Colour the tiles of each pattern; null for none. */
  function colour(patterns) {
    patternOf = new Map((patterns ?? []).flatMap((pattern, index) => pattern.map((tile) => [tile, index])));
    for (const [tile, element] of tiles) {
      const pattern = patternOf.get(tile);
      element.dataset.pattern = pattern === undefined ? "" : pattern % N_COLOURS;
      setText(element.querySelector(".mark"), pattern === undefined ? "" : letterOf(pattern));
    }
    label();
  }

  /** Ring these tiles, or none. */
  function ring(ringed) {
    for (const [tile, element] of tiles) element.classList.toggle("ringed", ringed.includes(tile));
    label();
  }

  /** Let all others step back; null for none. */
  function light(lit) {
    for (const [tile, element] of tiles) element.classList.toggle("dimmed", lit !== null && !lit.includes(tile));
  }

  return { root, show, colour, ring, light, tile: (tile) => tiles.get(tile), board: () => board, size: () => size };
}
