// The address, #board=1,2,3/4,5,6/7,0,8&goal=snail&db=8&moves=5,6&solution=7,8&step=2; commands and copying.

import { formatBoard, goalName, nCells, sizeText } from "./board.js";

const WAIT_MS = 200;
const MOST_MOVES = 2000;
let [timer, waiting] = [null, null];

/** {board, goal, db} as texts or null, {moves, solution} as tiles, and the step, as they stand in the address. */
export function readAddress() {
  const names = new URLSearchParams(location.hash.slice(1));
  const tiles = (name) => (names.get(name) ?? "").split(",", MOST_MOVES).filter(Boolean).map(Number);
  return {
    ...Object.fromEntries(["board", "goal", "db"].map((name) => [name, names.get(name)])),
    moves: tiles("moves"),
    solution: tiles("solution"),
    step: Number(names.get("step")),
  };
}

export function addressOf({ line, size, goalText, db }) {
  const names = [`board=${formatBoard(line.boards[0], size, ",")}`];
  if (goalText) names.push(`goal=${goalText}`);
  if (db) names.push(`db=${encodeURIComponent(db)}`);
  if (line.nOwn) names.push(`moves=${line.tiles.slice(0, line.nOwn)}`);
  if (line.nOwn < line.tiles.length) names.push(`solution=${line.tiles.slice(line.nOwn)}`);
  if (line.step) names.push(`step=${line.step}`);
  return `#${names.join("&")}`;
}

/** Write the address, not at every step of a fast player: browsers refuse that. */
export function writeAddress(position) {
  clearTimeout(timer);
  waiting = addressOf(position);
  if (waiting === location.hash) waiting = null;
  else timer = setTimeout(() => flushAddress(), WAIT_MS);
}

/** Write the address that waits now: as it is, or as a step of the history. The state is the number of steps before it. */
export function flushAddress(isStep = false) {
  clearTimeout(timer);
  if (waiting === null) return;
  if (isStep) history.pushState(nStepsBack() + 1, "", waiting);
  else history.replaceState(history.state, "", waiting);
  waiting = null;
}

export const nStepsBack = () => history.state ?? 0;

/** The command that serves a size and a goal. A standard table is for all goals with the blank in a corner. */
export function commandFor({ size, goal }) {
  const [its, name, blank] = [sizeText(size), goalName(goal, size), goal.indexOf(0)];
  if ([0, size.width - 1, nCells(size) - size.width, nCells(size) - 1].includes(blank)) return `pdb serve --size ${its}`;
  const file = `data/${its}-${name ?? "goal"}.h5`;
  return `pdb build auto --size ${its} --goal ${name ?? `"${formatBoard(goal, size)}"`} --out ${file} && pdb serve --db ${file}`;
}

export async function copy(text, button) {
  const before = button.dataset.text ?? (button.dataset.text = button.textContent);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
