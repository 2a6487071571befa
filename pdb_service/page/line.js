// A line of moves: those made by hand, then those of a solution. No page, no network.
//
// A line is {boards, tiles, nOwn, step}: `tiles` are its moves, `boards` has one board more, the first `nOwn` moves were
// made by hand, and `step` is the shown board.

import { boardsAlong, cellSlidingTo, sameBoard, slide } from "./board.js";
import { moves } from "./elements.js";

export const newLine = (board) => ({ boards: [board], tiles: [], nOwn: 0, step: 0 });
export const shown = ({ boards, step }) => boards[step];
export const hasSolution = ({ tiles, nOwn }) => nOwn < tiles.length;

/** The line with `solution` instead of what follows the shown board; null if a move of it is not legal. */
export function withSolution(line, solution, size) {
  const boards = boardsAlong(shown(line), solution, size);
  const { step } = line;
  return boards && { boards: [...line.boards.slice(0, step), ...boards], tiles: [...line.tiles.slice(0, step), ...solution], nOwn: step, step };
}

/** The line after a move: the next one of the line, or a new one instead of all that follow. */
export function withMove(line, tile) {
  const step = line.step + 1;
  if (line.tiles[line.step] === tile) return { ...line, step };
  const board = slide(shown(line), shown(line).indexOf(tile));
  return { boards: [...line.boards.slice(0, step), board], tiles: [...line.tiles.slice(0, step - 1), tile], nOwn: step, step };
}

const DIRECTIONS = { u: "up", l: "left", r: "right", d: "down" };
const OPPOSITES = { u: "down", l: "right", r: "left", d: "up" };

/**
 * Play moves that are written as tiles or as directions, until one is illegal. Answers {line, notation, isLegal}.
 * Directions are the blank's, unless those of the tiles alone lead to the goal, or farther.
 */
export function playMoves(text, board, size, goal) {
  const words = [...text.matchAll(/(up|down|left|right|[udlr])(\d{0,2})/gi)];
  const letters = words.flatMap(([, word, times]) => Array(Number(times || 1)).fill(word[0].toLowerCase()));
  const play = (notation, moves, tileOf) => {
    let line = newLine(board);
    for (const move of moves) {
      const tile = tileOf(move, shown(line));
      if (!boardsAlong(shown(line), [tile], size)) break;
      line = withMove(line, tile);
    }
    return { line, notation, isLegal: line.step === moves.length };
  };
  if (!letters.length) return play("tiles", text.match(/\d+/g) ?? [], Number);
  const [blank, tile] = [["blank", OPPOSITES], ["tile-directions", DIRECTIONS]].map(([notation, ways]) =>
    play(notation, letters, (letter, on) => on[cellSlidingTo(ways[letter], on, size)]),
  );
  const rank = ({ line }) => line.step + (sameBoard(shown(line), goal) ? letters.length : 0);
  return rank(tile) > rank(blank) ? tile : blank;
}

/** The moves as directions; `letters` are those of the blank's moves up, left, right and down. */
export function directions({ boards }, { width }, letters) {
  const blanks = boards.map((board) => board.indexOf(0));
  return blanks.slice(1).map((cell, move) => letters[[-width, -1, 1, width].indexOf(cell - blanks[move])]).join("");
}

/** Whether a move leads away from the goal; `distanceOf(board)` is null for a board whose distance is not known. */
export function isLost(line, move, distanceOf) {
  const [before, after] = [distanceOf(line.boards[move]), distanceOf(line.boards[move + 1])];
  return before !== null && after !== null && after > before;
}

/** The moves up to the shown board against the optimum, in words. */
export function verdict(line, goal, distanceOf) {
  const { boards, step } = line;
  const [optimal, left] = [distanceOf(boards[0]), distanceOf(shown(line))];
  const isSolved = sameBoard(shown(line), goal);
  const words = [isSolved ? `Solved in ${moves(step)}` : `${moves(step)} so far`];
  if (optimal === null || left === null) return isSolved && step ? `${words[0]}; optimum not known` : words[0];
  if (step + left === optimal) return `${words[0]}, ${isSolved ? "the minimum" : "on an optimal path"}`;
  if (!isSolved) words[0] += `, ${step + left} at best`;
  words.push(`optimum ${optimal}`);
  const unknown = boards.findIndex((board) => distanceOf(board) === null);
  const lost = line.tiles.findIndex((_, move) => isLost(line, move, distanceOf));
  if (lost >= 0 && lost < step && !(unknown >= 0 && unknown < lost)) words.push(`first mistake at move ${lost + 1}`);
  return words.join("; ");
}
