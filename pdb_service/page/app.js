// The page. Read this first: the state (`position`, `way`), and the panels that show it.
//
// board.js       boards, without a page          api.js        the service
// board_view.js  the tiles; drag.js, keyboard.js bound_panel.js, hint_panel.js, solver_panel.js, position_panel.js
// player.js      playing a solution; chart.js    share.js, theme.js, token_dialog.js

import * as api from "./api.js";
import {
  boardsAlong, cellSlidingTo, cellsToSlide, formatBoard, goalName, isSolvable, namedGoal, nCells, parseBoard, parseSize,
  randomBoard, sameBoard, sizeText, slide, swapTwoTiles, whyUnsolvable,
} from "./board.js";
import { boardView } from "./board_view.js";
import { boundPanel } from "./bound_panel.js";
import { chart } from "./chart.js";
import { dragTiles } from "./drag.js";
import { byId, fillSelect, moves as movesText, problemText, setText } from "./elements.js";
import { hintPanel } from "./hint_panel.js";
import { listenToKeys } from "./keyboard.js";
import { latest } from "./latest.js";
import { player } from "./player.js";
import { positionPanel } from "./position_panel.js";
import { addressOf, copy, readAddress, writeAddress } from "./share.js";
import { solverPanel } from "./solver_panel.js";
import { themeButton } from "./theme.js";
import { askForToken } from "./token_dialog.js";

const FIRST_SIZE = { width: 4, height: 4 };

const position = { size: FIRST_SIZE, goal: namedGoal("blank-last", FIRST_SIZE), board: [], db: "" };
// The shown solution: its boards, the current step, and whether the board has left it.
let way = null;
let [databases, defaultGoals] = [[], {}];
// Moves made by hand since the position was set.
let nMade = 0;

// Screen readers read the text of `say`, but not the text shown without a message.
const say = (text) => setText(byId("status"), text);
const idle = (text) => setText(byId("idle"), text);
const view = boardView(byId("board"), slideCell);
const bound = boundPanel(view, () => askBound());
const bounds = latest(api.lookup, showBound, (problem) => bound.showProblem(problem));
const hints = hintPanel(view, (tile) => slideCell(position.board.indexOf(tile)), say);
const solver = solverPanel({ found, unsolvable: (why) => showUnsolvable(why), say, idle: (text) => idle(text ?? idleText()) });
const curve = chart((step) => play.go(step));
const play = player({ goTo: goToStep, glide: (ms) => view.root.style.setProperty("--glide", `${ms}ms`) });
const panel = positionPanel({
  say,
  size: (size) => setPosition({ size, goal: goalFor(size), board: randomBoard(goalFor(size), size), db: "" }),
  goal: (goal) => setPosition({ goal }),
  position: ({ board, size, goal }) => {
    const isOther = sizeText(size) !== sizeText(position.size);
    setPosition({ board, size, goal: goal ?? (isOther ? goalFor(size) : position.goal), db: isOther ? "" : position.db });
  },
});

// -- display ----------------------------------------------------------------------------------------------------

/** Another position: what was found of the one before is no longer shown. */
function setPosition(changes) {
  if (Object.entries(changes).every(([name, value]) => JSON.stringify(value) === JSON.stringify(position[name]))) return;
  Object.assign(position, changes);
  nMade = 0;
  way = null;
  play.load(null);
  curve.load(null);
  byId("moves-details").hidden = true;
  solver.clear();
  say("");
  if ("size" in changes || "db" in changes) showDatabases();
  show();
}

/** The board alone has changed, by a move or a step. */
function show() {
  const { board, size, goal } = position;
  view.show(board, size);
  view.light(null);
  hints.clear();
  panel.show(position);
  writeAddress(forAddress());
  const solvable = isSolvable(board, goal, size);
  showUnsolvable(solvable ? null : whyUnsolvable(board, goal, size));
  byId("solve").disabled = byId("hint").disabled = !solvable;
  idle(idleText());
  view.root.classList.toggle("at-goal", sameBoard(board, goal));
  askBound();
}

function idleText() {
  if (way) return `Step ${way.step} of ${way.boards.length - 1}`;
  if (view.root.classList.contains("unsolvable")) return "The goal cannot be reached";
  return nMade ? `${movesText(nMade)} so far` : "Slide a tile beside the blank";
}

function showUnsolvable(why) {
  const notice = byId("unsolvable");
  notice.hidden = why === null;
  setText(notice.querySelector("p"), why === null ? "" : `This board cannot be solved. ${why}`);
  view.root.classList.toggle("unsolvable", why !== null);
}

const names = () => ({
  board: formatBoard(position.board, position.size),
  goal: formatBoard(position.goal, position.size),
  db: position.db,
});

function forAddress() {
  const { board, size, goal, db } = position;
  const name = goalName(goal, size);
  const isDefault = sameBoard(goal, goalFor(size));
  return { board, size, db, goalText: isDefault ? "" : (name ?? formatBoard(goal, size, ",")) };
}

// -- the lower bound --------------------------------------------------------------------------------------------------

function askBound() {
  // It is not known yet whether there is a database of that name.
  if (position.db && !databases.length) return bound.wait();
  if (databases.length && !databases.some(({ size }) => size === sizeText(position.size))) {
    bounds.forget();
    const size = sizeText(position.size);
    return bound.showProblem(new api.Problem(404, "No tables", `This server has no tables for ${size} boards. Build them with: pdb build auto --size ${size}`));
  }
  bound.wait();
  return bounds.ask(names());
}

function showBound(answer) {
  bound.showAnswer(answer, databases.find(({ id }) => id === answer.db));
}

// -- moves ------------------------------------------------------------------------------------------------------------

/** Slide the tile of a cell, and those between it and the blank; return whether any can. */
function slideCell(cell) {
  const cells = cellsToSlide(position.board, position.size, cell);
  if (cells.length === 0) return false;
  play.pause();
  nMade += cells.length;
  const tiles = cells.map((at) => position.board[at]);
  position.board = slide(position.board, position.size, cell);
  if (way) followWay();
  else solver.clear(); // what it said was of another board
  say(sameBoard(position.board, position.goal) ? "Solved." : "");
  setText(byId("said"), `${tiles.join(", ")} moved.`);
  show();
  return true;
}

/** Where a move by hand stands on the solution that is shown, its step is shown; else how to come back. */
function followWay() {
  const near = [way.step + 1, way.step - 1, way.step].find((step) => way.boards[step] && sameBoard(way.boards[step], position.board));
  const anywhere = near ?? way.boards.findIndex((board) => sameBoard(board, position.board));
  if (anywhere >= 0) way.step = anywhere;
  play.showStep(way.step, anywhere < 0);
  curve.showStep(way.step);
}

function goToStep(step) {
  way.step = step;
  position.board = way.boards[step];
  play.showStep(step);
  curve.showStep(step);
  if (step === way.boards.length - 1) say("Solved.");
  else if (byId("status").textContent.startsWith("Solved")) say("");
  show();
}

// -- solving ----------------------------------------------------------------------------------------------------------

function solve() {
  if (byId("solve").disabled || solver.isSearching()) return false;
  way = null;
  play.load(null);
  curve.load(null);
  byId("moves-details").hidden = true;
  hints.clear();
  solver.solve(names());
  return true;
}

async function found({ moves, length }) {
  const boards = boardsAlong(position.board, moves, position.size);
  if (!boards || !sameBoard(boards[boards.length - 1], position.goal)) {
    return say("The server's solution does not lead to the goal. Please report this board.");
  }
  way = { boards, step: 0 };
  const own = way;
  play.load(length);
  curve.load(length);
  byId("moves-details").hidden = length === 0;
  setText(byId("moves-text"), moves.join(" "));
  try {
    const { goal, db } = names();
    const answer = await api.lookupBatch({ boards: boards.map((board) => formatBoard(board, position.size)), goal, db });
    if (way === own) curve.showH(answer.answers.map(({ h }) => h));
  } catch (problem) {
    // The chart has no h; the solution is shown.
    if (way === own) say(`No h for the chart: ${problemText(problem)}`);
  }
  return undefined;
}

function hint() {
  if (byId("hint").disabled) return false;
  hints.ask(names(), position.size);
  return true;
}

// -- databases --------------------------------------------------------------------------------------------------------

const goalFor = (size) => defaultGoals[sizeText(size)] ?? namedGoal("blank-last", size);

function showDatabases() {
  const own = databases.filter(({ size }) => size === sizeText(position.size));
  if (databases.length && !own.some(({ id }) => id === position.db)) position.db = "";
  const kind = ({ id, partition, encoding }) => `${id === partition ? id : `${id}: ${partition.slice(0, 24)}`}, ${encoding}`;
  fillSelect(byId("database"), [["", "auto"], ...own.map((item) => [item.id, kind(item)])], position.db);
}

async function loadDatabases() {
  try {
    const answer = await api.databases();
    [databases, defaultGoals] = [answer.databases, answer.default_goals];
    solver.allow(answer.limits.solve_seconds_limit);
    panel.showSizes([...new Set(databases.map(({ size }) => size))].filter(parseSize));
    showDatabases();
    const address = readAddress();
    if (address.board) takeAddress();
    else if (databases.length && !defaultGoals["4x4"]) startWith(parseSize(databases[0].size) ?? FIRST_SIZE);
    askBound();
  } catch (problem) {
    if (!api.isAbort(problem)) bound.showProblem(problem);
  }
}

async function loadSets() {
  try {
    panel.showSets((await api.instanceSets()).sets);
  } catch (problem) {
    if (problem.status === 0) say(problemText(problem));
  }
}

// -- start ------------------------------------------------------------------------------------------------------------

function takeAddress() {
  const address = readAddress();
  const parsed = parseBoard(address.board ?? "", position.size);
  if (!parsed.board) {
    if (address.board) say(`The address has no valid board. ${parsed.why}`);
    return false;
  }
  const { board, size } = parsed;
  const typed = address.goal && !namedGoalOf(address.goal, size) ? parseBoard(address.goal, size) : null;
  const goal = namedGoalOf(address.goal, size) ?? (typed?.board && nCells(typed.size) === nCells(size) ? typed.board : goalFor(size));
  setPosition({ board, size, goal, db: address.db ?? "" });
  return true;
}

const namedGoalOf = (text, size) => (["blank-last", "blank-first", "snail"].includes(text) ? namedGoal(text, size) : null);

function startWith(size) {
  setPosition({ size, goal: goalFor(size), board: randomBoard(goalFor(size), size) });
}

api.onTokenWanted(askForToken);
themeButton(byId("theme"));
dragTiles(view, slideCell);
listenToKeys(view.root, {
  hint,
  solve,
  slide: (direction) => {
    const cell = cellSlidingTo(direction, position.board, position.size);
    return cell !== null && slideCell(cell);
  },
  togglePlay: play.toggle,
  step: (by) => play.isLoaded() && play.step(by),
});
byId("solve").addEventListener("click", () => (solver.isSearching() ? solver.cancel() : solve()));
byId("hint").addEventListener("click", hint);
byId("shuffle").addEventListener("click", () => setPosition({ board: randomBoard(position.goal, position.size) }));
byId("reset").addEventListener("click", () => setPosition({ board: [...position.goal] }));
byId("swap").addEventListener("click", () => setPosition({ board: swapTwoTiles(position.board) }));
byId("database").addEventListener("change", () => setPosition({ db: byId("database").value }));
byId("share").addEventListener("click", () => copy(new URL(addressOf(forAddress()), location.href).href, byId("share")));
byId("copy-moves").addEventListener("click", () => copy(byId("moves-text").textContent, byId("copy-moves")));
addEventListener("hashchange", takeAddress);

if (!takeAddress()) startWith(FIRST_SIZE);
loadDatabases();
loadSets();
