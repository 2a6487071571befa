// Dragging: a tile in line with the blank follows the pointer and moves the tiles between.

import { cellsToSlide } from "./board.js";

const STARTS_AT_PX = 4;
const GOES_AT = 0.35;

/** Let the tiles of a board view be dragged; `slideCell(cell)` is called where one is let go near enough. */
export function dragTiles(view, slideCell) {
  const { root } = view;
  let drag = null;

  root.addEventListener("pointerdown", (event) => {
    delete root.dataset.dragged;
    const element = event.target.closest(".tile");
    if (!element || !event.isPrimary || event.button !== 0) return;
    const [board, size] = [view.board(), view.size()];
    const cell = board.indexOf(Number(element.dataset.tile));
    const cells = cellsToSlide(board, size, cell);
    if (cells.length === 0) return;
    const blank = board.indexOf(0);
    const axis = element.dataset.axis;
    drag = {
      pointer: event.pointerId,
      cell,
      axis,
      sign: Math.sign(blank - cell),
      start: axis === "x" ? event.clientX : event.clientY,
      cellPx: axis === "x" ? element.offsetWidth : element.offsetHeight,
      elements: cells.map((at) => view.tile(board[at])),
      board,
      offset: 0,
      moved: false,
    };
  });

  root.addEventListener("pointermove", (event) => {
    if (!drag || event.pointerId !== drag.pointer) return;
    if (!event.buttons) return end(event, false); // it was let go outside
    const way = ((drag.axis === "x" ? event.clientX : event.clientY) - drag.start) * drag.sign;
    if (!drag.moved && Math.abs(way) < STARTS_AT_PX) return;
    if (!drag.moved) {
      drag.moved = true;
      root.setPointerCapture(drag.pointer);
      root.classList.add("dragging");
    }
    drag.offset = Math.min(Math.max(way, 0), drag.cellPx);
    place(drag, drag.offset * drag.sign);
  });

  root.addEventListener("pointerup", (event) => end(event, true));
  root.addEventListener("pointercancel", (event) => end(event, false));

  function end(event, counts) {
    if (!drag || event.pointerId !== drag.pointer) return;
    const ended = drag;
    drag = null;
    if (!ended.moved) return;
    root.classList.remove("dragging");
    root.dataset.dragged = "yes"; // the click that follows is not one
    setTimeout(() => delete root.dataset.dragged);
    if (counts && ended.offset >= GOES_AT * ended.cellPx && ended.board === view.board()) slideCell(ended.cell);
    else place(ended, 0);
  }
}

function place({ elements, axis }, px) {
  for (const element of elements) element.style.setProperty(axis === "x" ? "--dx" : "--dy", `${px}px`);
}
