// Boards: size, rows of numbers, goals, solvability, slides. No page, no network.
//
// A board is an array of the tile on each cell, row by row, 0 for the blank. A size is {width, height}, 2 to 6 each.

export const MIN_SIDE = 2;
export const MAX_SIDE = 6;

export const sizeText = (size) => `${size.width}x${size.height}`;
export const nCells = (size) => size.width * size.height;
export const sameBoard = (one, other) => one.length === other.length && one.every((tile, cell) => tile === other[cell]);

/** {width, height} of a text such as `4x4`; null where it is none. */
export function parseSize(text) {
  const match = /^([2-6])x([2-6])$/.exec(text);
  return match && { width: Number(match[1]), height: Number(match[2]) };
}

/** Rows separated by `/`, so that the text tells the size too. */
export function formatBoard(board, size, between = " ", betweenRows = "/") {
  const rows = [];
  for (let row = 0; row < size.height; row++) {
    rows.push(board.slice(row * size.width, (row + 1) * size.width).join(between));
  }
  return rows.join(betweenRows);
}

/** {board, size} of rows between `/` or line breaks; null for any other text, which the service reads. */
export function readRows(text) {
  const rows = text.trim().split(/[/\n]/).map((row) => (row.match(/[^\s,]+/g) ?? []).map(Number));
  const [board, size] = [rows.flat(), parseSize(`${rows[0].length}x${rows.length}`)];
  const isBoard = size && rows.every((row) => row.length === size.width) && board.every((_, tile) => board.includes(tile));
  return isBoard && /^[\d\s,/]+$/.test(text) ? { board, size } : null;
}

export const GOAL_NAMES = ["blank-last", "blank-first", "snail"];

/** The board of a named goal. */
export function namedGoal(name, size) {
  const n = nCells(size);
  if (name === "blank-first") return Array.from({ length: n }, (_, cell) => cell);
  if (name === "blank-last") return Array.from({ length: n }, (_, cell) => (cell + 1) % n);
  return snail(size);
}

function snail({ width, height }) {
  const n = width * height;
  const board = new Array(n).fill(0);
  let [row, column, down, right] = [0, 0, 0, 1];
  const free = (r, c) => r >= 0 && r < height && c >= 0 && c < width && board[r * width + c] === 0;
  for (let tile = 1; tile < n; tile++) {
    board[row * width + column] = tile;
    if (!free(row + down, column + right)) [down, right] = [right, -down];
    row += down;
    column += right;
  }
  return board;
}

/** The name of a goal; null where it has none. */
export const goalName = (goal, size) => GOAL_NAMES.find((name) => sameBoard(namedGoal(name, size), goal)) ?? null;

/** Every move swaps two pieces and takes the blank to a cell of the other colour (Johnson and Story 1879). */
export function isSolvable(board, goal, size) {
  return isOdd(board, goal) === blankChangesColour(board, goal, size);
}

function isOdd(board, goal) {
  const place = [];
  goal.forEach((tile, cell) => (place[tile] = cell));
  const seen = new Set();
  let odd = false;
  for (let start = 0; start < board.length; start++) {
    for (let cell = start, length = 0; !seen.has(cell); cell = place[board[cell]], length++) {
      seen.add(cell);
      if (length > 0) odd = !odd;
    }
  }
  return odd;
}

function blankChangesColour(board, goal, size) {
  const colour = (cell) => (Math.floor(cell / size.width) + (cell % size.width)) % 2;
  return colour(board.indexOf(0)) !== colour(goal.indexOf(0));
}

/** The first two tiles change places: that makes an unsolvable board solvable, and the other way round. */
export function swapTwoTiles(board) {
  const [first, second] = board.flatMap((tile, cell) => (tile ? [cell] : []));
  const swapped = [...board];
  [swapped[first], swapped[second]] = [board[second], board[first]];
  return swapped;
}

/** A random board from which the goal can be reached, all of them equally likely. */
export function randomBoard(goal, size) {
  const board = [...goal];
  for (let cell = board.length - 1; cell > 0; cell--) {
    const other = Math.floor(Math.random() * (cell + 1));
    [board[cell], board[other]] = [board[other], board[cell]];
  }
  return isSolvable(board, goal, size) ? board : swapTwoTiles(board);
}

/** A board that a number of moves lead to from the goal, none of them back at once. */
export function nearBoard(goal, size, nMoves) {
  let [board, last] = [goal, null];
  for (let move = 0; move < nMoves; move++) {
    const cells = board.map((_, cell) => cell).filter((cell) => cell !== last && cellsToSlide(board, size, cell).length === 1);
    last = board.indexOf(0);
    board = slide(board, cells[Math.floor(Math.random() * cells.length)]);
  }
  return board;
}

/** The cells from the blank's neighbour to `cell`, in the order their tiles slide; empty where `cell` is not in line. */
export function cellsToSlide(board, size, cell) {
  const blank = board.indexOf(0);
  const [row, column] = [Math.floor(cell / size.width), cell % size.width];
  const [blankRow, blankColumn] = [Math.floor(blank / size.width), blank % size.width];
  if (cell === blank || (row !== blankRow && column !== blankColumn)) return [];
  const step = Math.sign(cell - blank) * (row === blankRow ? 1 : size.width);
  const cells = [];
  for (let at = blank + step; at !== cell + step; at += step) cells.push(at);
  return cells;
}

/** The board after the tile on `cell`, beside the blank, has slid. */
export function slide(board, cell) {
  const slid = [...board];
  slid[board.indexOf(0)] = board[cell];
  slid[cell] = 0;
  return slid;
}

/** The cell whose tile slides in a direction (`up`, `down`, `left`, `right`); null where there is none. */
export function cellSlidingTo(direction, board, size) {
  const blank = board.indexOf(0);
  const [row, column] = [Math.floor(blank / size.width), blank % size.width];
  if (direction === "up") return row < size.height - 1 ? blank + size.width : null;
  if (direction === "down") return row > 0 ? blank - size.width : null;
  if (direction === "left") return column < size.width - 1 ? blank + 1 : null;
  return column > 0 ? blank - 1 : null;
}

/** In words, where the tile on `from` goes when it slides towards `to`, in its row or column. */
export function directionOf(from, to, size) {
  if (Math.floor(from / size.width) === Math.floor(to / size.width)) return to > from ? "right" : "left";
  return to > from ? "down" : "up";
}

/** Every board on the way, the first included; null where a tile is not beside the blank at its turn. */
export function boardsAlong(board, tiles, size) {
  const boards = [board];
  for (const tile of tiles) {
    const last = boards[boards.length - 1];
    const cells = cellsToSlide(last, size, last.indexOf(tile));
    if (cells.length !== 1) return null;
    boards.push(slide(last, cells[0]));
  }
  return boards;
}
