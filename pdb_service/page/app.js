// The page. Read this first: the state (`position`, `line`), and the panels that show it.
//
// board.js, line.js  boards and lines of moves, without a page    api.js, latest.js  the service
// board_view.js  the tiles; drag.js, keyboard.js    analysis.js, bound_panel.js, solver_panel.js, position_panel.js
// player.js      the line; chart.js                 share.js, settings.js, theme.js, token_dialog.js

import { analysisPanel } from "./analysis.js";
import * as api from "./api.js";
import {
  cellSlidingTo, cellsToSlide, formatBoard, GOAL_NAMES, goalName, isSolvable, namedGoal, nCells, nearBoard, parseSize,
  randomBoard, readRows, sameBoard, sizeText, swapTwoTiles,
} from "./board.js";
import { boardView } from "./board_view.js";
import { boundPanel } from "./bound_panel.js";
import { chart } from "./chart.js";
import { dragTiles } from "./drag.js";
import { byId, fillSelect, moves as movesText, problemText, setText, showNotice } from "./elements.js";
import { listenToKeys } from "./keyboard.js";
import { latest } from "./latest.js";
import { directions, hasSolution, isLost, newLine, playMoves, shown, verdict, withMove, withSolution } from "./line.js";
import { player } from "./player.js";
import { positionPanel } from "./position_panel.js";
import { addressOf, commandFor, copy, flushAddress, readAddress, writeAddress } from "./share.js";
import { keepSettings } from "./settings.js";
import { solverPanel } from "./solver_panel.js";
import { themeButton } from "./theme.js";

const FIRST_SIZE = { width: 4, height: 4 };
// Of the first answer, and of a second search for what the first did not find.
const [ANALYSIS_SECONDS, MORE_SECONDS] = [0.2, 2];
const RETRY_S = 2;
const N_HARD = 1000;

const position = { size: FIRST_SIZE, goal: namedGoal("blank-last", FIRST_SIZE), db: "" };
// `left` is the line with the solution that the board has left.
let [line, left] = [newLine([]), null];
// What the service has: null until it is known.
let [databases, defaultGoals] = [null, {}];
let [canAnswer, isAddressed, retry, usedDb, wrongLink, isChecked] = [true, false, null, "", "", false];
// The distances that are known, by board; of the goal that is shown.
const distances = new Map();
const distanceOf = (board) => (sameBoard(board, position.goal) ? 0 : (distances.get(String(board)) ?? null));

keepSettings();

// Screen readers read the text of `say`, but not the text shown without a message.
const say = (text) => setText(byId("status"), text);
const idle = (text) => setText(byId("idle"), text);
const read = (text) => setText(byId("said"), text);
const view = boardView(byId("board"), slideCell);
const bound = boundPanel(view);
const bounds = latest(api.lookup, showBound, failed);
const analysis = analysisPanel(view, { play: (tile) => slideCell(shown(line).indexOf(tile)), say: read, distanceOf });
const analyses = latest(api.moves, showAnalysis, failed, {
  spare: unknownBoard,
  kept: keepDistances,
});
const isOnTheWay = () => line.step > 0;
const solver = solverPanel({ found, isOnTheWay, say, idle: (text) => idle(text ?? idleText()) });
const checks = latest(async (body, signal) => ({ ...body, ...(await api.check(body, signal)) }), showCheck, (problem) => say(problemText(problem)));
const curve = chart((step) => play.go(step));
const play = player({ goTo: goToStep, rejoin, glide: (ms) => view.root.style.setProperty("--glide", `${ms}ms`) });
const panel = positionPanel({
  say,
  size: (size) => start(size, true),
  goal: (goal) => sameBoard(goal, position.goal) || setPosition({ goal, line: newLine(shown(line)) }),
  position: takePosition,
});

// -- display ----------------------------------------------------------------------------------------------------

/** Another position, or database: what was found of the one before is no longer shown. `isStep`: Back returns to it. */
function setPosition({ line: newLine = line, isStep = true, ...changes }) {
  if (isStep) {
    writeAddress(forAddress());
    flushAddress();
  }
  play.pause();
  Object.assign(position, changes);
  if ("goal" in changes) distances.clear();
  if ("size" in changes) usedDb = "";
  [line, left] = [newLine, null];
  solver.clear();
  say("");
  read("");
  if ("size" in changes || "db" in changes) showDatabases();
  showLine();
  if (!isStep) return;
  writeAddress(forAddress());
  flushAddress(true);
  play.show();
}

/** The line has other moves. */
function showLine() {
  checks.forget();
  play.load(line, position.size, left !== null);
  showChart();
  show();
}

/** The board alone has changed, by a move or a step. */
function show() {
  const [board, { size, goal }] = [shown(line), position];
  isChecked = false;
  view.show(board, size);
  view.light(null);
  panel.show({ ...position, board, start: line.boards[0] });
  if (databases) writeAddress(forAddress()); // before, the first board may be of a size that is not served
  showUnsolvable(isSolvable(board, goal, size) ? null : "");
  view.root.classList.toggle("at-goal", sameBoard(board, goal));
  ask();
  showVerdict();
}

/** What the distances say of the moves. */
function showVerdict() {
  const isSolved = line.step > 0 && sameBoard(shown(line), position.goal);
  if (isSolved && !isChecked) say(`${verdict(line, position.goal, distanceOf)}.`);
  play.mark((move) => isLost(line, move, distanceOf));
  if (!solver.isSearching()) idle(idleText());
}

function idleText() {
  if (view.root.classList.contains("unsolvable")) return "The goal cannot be reached";
  return line.step ? verdict(line, position.goal, distanceOf) : "Slide a tile beside the blank";
}

function showUnsolvable(why) {
  const notice = byId("unsolvable");
  notice.hidden = why === null;
  setText(notice.querySelector("p"), why === null ? "" : `This board cannot be solved${why && `: ${why}`}.`);
  view.root.classList.toggle("unsolvable", why !== null);
  allowSolve();
}

function allowSolve() {
  byId("solve").disabled = !solver.isSearching() && (!canAnswer || view.root.classList.contains("unsolvable"));
}

const namesOf = (board) => ({
  board: formatBoard(board, position.size),
  goal: formatBoard(position.goal, position.size),
  db: position.db,
});

function forAddress() {
  const { size, goal, db } = position;
  const isDefault = databases && sameBoard(goal, goalFor(size)); // the service says which goal is the default
  return { line, size, db, goalText: isDefault ? "" : (goalName(goal, size) ?? formatBoard(goal, size, ",")) };
}

// -- lower bound and analysis ---------------------------------------------------------------------------------------

function ask() {
  const board = shown(line);
  if (!databases) return; // `connect` asks
  bound.wait();
  bounds.ask(namesOf(board));
  if (view.root.classList.contains("unsolvable")) {
    analyses.forget();
    analysis.clear();
  } else {
    analysis.wait(board);
    analyses.ask(analysed(board));
  }
}

const analysed = (board, seconds = ANALYSIS_SECONDS) => ({ ...namesOf(board), time_limit: seconds });

/** What to search for longer: the shown board, then those of the line whose distance is not known; null if none is left. */
function unknownBoard(isKnown) {
  if (!canAnswer || view.root.classList.contains("unsolvable")) return null;
  const unknown = line.boards.slice(0, Math.max(line.nOwn, line.step) + 1).filter((board) => distanceOf(board) === null);
  const boards = analysis.isWhole() ? unknown : [shown(line), ...unknown];
  return boards.map((board) => analysed(board, MORE_SECONDS)).find((names) => !isKnown(names)) ?? null;
}

function keepDistances(answer) {
  if (!sameBoard(answer.goal, position.goal)) return;
  for (const { board, distance } of [answer, ...answer.moves]) if (distance !== null) distances.set(String(board), distance);
  if (sameBoard(answer.board, shown(line))) showAnalysis(answer);
  showVerdict();
}

function showAnalysis(answer) {
  answered();
  analysis.show(answer, position.size);
}

function showBound(answer) {
  answered();
  usedDb = answer.db;
  bound.showAnswer(answer, databases?.find(({ id }) => id === answer.db));
  if (!answer.solvable) showUnsolvable(answer.why);
  else if (byId("analysis").hasAttribute("aria-busy")) analysis.showBoard(shown(line), answer.h);
}

function answered() {
  canAnswer = true;
  showNotice(byId("problem"), null);
  allowSolve();
}

/** Nothing answers: say why, and what helps. A server that is gone or busy is asked again. */
function failed(problem) {
  for (const its of [bounds, analyses]) its.forget();
  for (const its of [bound, analysis]) its.clear();
  canAnswer = false;
  allowSolve();
  const isSizeMissing = /:UnknownDatabaseError$/.test(problem.type);
  const isUntabled = isSizeMissing || /:GoalError$/.test(problem.type);
  const missing = isSizeMissing ? `This server has no tables for ${sizeText(position.size)} boards.` : problem.message;
  const isPassing = problem.status === 0 || problem.status === 503;
  const wait = problem.retryAfterS ?? RETRY_S;
  clearTimeout(retry);
  if (isPassing) retry = setTimeout(connect, 1000 * wait);
  if (isUntabled) showNotice(byId("problem"), `${missing} Start a server that has them (add the --db and --size of this one):`);
  else showNotice(byId("problem"), `${problemText(problem)}${isPassing ? ` This page tries again every ${wait} s.` : ""}`, connect);
  byId("remedy").hidden = !isUntabled;
  setText(byId("command"), commandFor(position));
}

// -- moves ------------------------------------------------------------------------------------------------------------

/** Slide the tile of a cell, and those between it and the blank; return whether any can. */
function slideCell(cell) {
  const tiles = cellsToSlide(shown(line), position.size, cell).map((at) => shown(line)[at]);
  if (tiles.length === 0) return false;
  play.pause();
  const before = line;
  for (const tile of tiles) line = withMove(line, tile);
  if (hasSolution(before) && !hasSolution(line)) left = before;
  if (!solver.hasFound() || !(left || hasSolution(line))) solver.clear(); // what it said was of another board
  say("");
  read(`${tiles.join(", ")} moved.`);
  if (line.boards === before.boards) goToStep(line.step);
  else showLine();
  return true;
}

function goToStep(step) {
  if (!solver.hasFound()) solver.clear();
  line = { ...line, step };
  say("");
  play.showStep(step);
  curve.showStep(step);
  show();
}

function rejoin() {
  play.pause();
  if (!solver.hasFound()) solver.clear();
  [line, left] = [left, null];
  say("");
  showLine();
}

async function shuffle() {
  const [{ size, goal, db }, before] = [position, line];
  const level = byId("level").value;
  const nMoves = { easy: 1, medium: 2 }[level] * nCells(size);
  let board = nMoves ? nearBoard(goal, size, nMoves) : randomBoard(goal, size);
  if (level === "hard" && canAnswer) {
    // Of many random boards, the one with the largest h.
    const boards = Array.from({ length: N_HARD }, () => randomBoard(goal, size));
    try {
      const { answers } = await api.lookupBatch({ ...namesOf(board), board: null, boards: boards.map((its) => formatBoard(its, size)) });
      const hs = answers.map(({ h }) => h);
      board = boards[hs.indexOf(Math.max(...hs))];
    } catch (problem) {
      return failed(problem);
    }
    if (line !== before || db !== position.db) return undefined;
  }
  return setPosition({ line: newLine(board) });
}

// -- solving ----------------------------------------------------------------------------------------------------------

function solve() {
  if (byId("solve").disabled || solver.isSearching()) return false;
  play.pause();
  solver.solve(namesOf(shown(line)));
  return true;
}

function found({ moves, length, optimal }) {
  const solved = withSolution(line, moves, position.size);
  if (!solved || !sameBoard(solved.boards.at(-1), position.goal)) {
    return say("The server's solution does not lead to the goal. Please report this board.");
  }
  [line, left] = [solved, null];
  if (optimal) line.boards.slice(line.step).forEach((board, step) => distances.set(String(board), length - step));
  return showLine();
}

// -- pasting ----------------------------------------------------------------------------------------------------------

/** Show a board, with the moves behind it, if there are any, which the service checks. */
function takePosition({ board, size, goal, moves = "" }) {
  const isOther = sizeText(size) !== sizeText(position.size);
  const its = goal ?? (isOther ? goalFor(size) : position.goal);
  if (!moves && !isOther && sameBoard(board, shown(line)) && sameBoard(its, position.goal)) return;
  const played = playMoves(moves, board, size, its);
  setPosition({ size, goal: its, db: isOther ? "" : position.db, line: played.line });
  if (!moves) return;
  say("Checking the moves …");
  view.root.scrollIntoView({ block: "nearest" });
  checks.ask({ ...namesOf(board), moves, notation: played.notation, time_limit: solver.limit() });
}

const READ_AS = { blank: " Read as directions of the blank.", "tile-directions": " Read as directions of the tiles." };

/** Say what the service finds, and go to the board before the first mistake. */
function showCheck({ verdict: its, length, optimal_length: optimal, first_illegal_move: illegal, first_suboptimal_move: mistake, notation }) {
  const { boards, tiles } = line;
  // Without a mistake, a limit may have been reached: what is behind the first board is not known.
  const nKnown = mistake ?? (its === "optimal" ? boards.length : 1);
  if (optimal !== null) boards.slice(0, nKnown).forEach((board, step) => distances.set(String(board), optimal - step));
  if (mistake) distances.set(String(boards[mistake]), optimal - mistake + 2);
  if (line.step === tiles.length) goToStep(mistake ? mistake - 1 : tiles.length);
  const isSolved = !illegal && its !== "goal not reached";
  isChecked = true; // an analysis that comes later says no less
  const words = [illegal ? `Move ${illegal} is illegal` : `${isSolved ? "Solved" : "Not solved"} in ${movesText(length)}`];
  words.push(optimal === null ? "optimum not known" : `optimum ${optimal}`);
  if (mistake) words.push(`first mistake at move ${mistake}`);
  say(`${its === "optimal" ? `${words[0]}, the minimum` : words.join("; ")}.${READ_AS[notation] ?? ""}`);
}

/** The chart of a line that leads to the goal. */
async function showChart() {
  const own = line.boards;
  const isWhole = line.tiles.length > 0 && sameBoard(own.at(-1), position.goal);
  curve.load(isWhole ? line.tiles.length : null);
  curve.showStep(line.step);
  if (!isWhole) return;
  try {
    const { goal, db } = namesOf(own[0]);
    const answer = await api.lookupBatch({ boards: own.map((board) => formatBoard(board, position.size)), goal, db });
    if (line.boards === own && db === position.db) curve.showH(answer.answers.map(({ h }) => h));
  } catch {
    // The chart has no h; the moves are shown.
  }
}

// -- databases --------------------------------------------------------------------------------------------------------

const goalFor = (size) => defaultGoals[sizeText(size)] ?? namedGoal("blank-last", size);

function showDatabases() {
  const own = (databases ?? []).filter(({ size }) => size === sizeText(position.size));
  if (databases && position.db && !own.some(({ id }) => id === position.db)) {
    say("This server does not have the database of the link, and uses its own.");
    position.db = "";
  }
  const kind = ({ id, partition, encoding }) => `${id === partition ? id : `${id}: ${partition.slice(0, 24)}`}, ${encoding}`;
  fillSelect(byId("database"), [["", "auto"], ...own.map((item) => [item.id, kind(item)])], position.db);
}

/** Ask what the service has, and about the board; at the first time, open a size that it serves. */
async function connect() {
  clearTimeout(retry);
  try {
    const isFirst = databases === null;
    const [answer, sets] = await Promise.all([api.databases(), isFirst ? api.instanceSets() : null]);
    [databases, defaultGoals] = [answer.databases, answer.default_goals];
    solver.allow(answer.limits.solve_seconds_limit);
    panel.showSizes(Object.keys(defaultGoals).filter(parseSize));
    showDatabases();
    if (isFirst) panel.showSets(sets.sets);
    const isUntouched = isFirst && line === firstLine && position.goal === firstGoal;
    const isDefault = sameBoard(position.goal, goalFor(position.size));
    const isServed = sizeText(position.size) in defaultGoals;
    if (isUntouched && isAddressed && !isDefault && !readAddress().goal) takeAddress();
    else if (isUntouched && !isAddressed && !(isServed && isDefault) && databases.length) {
      start(parseSize("4x4" in defaultGoals ? "4x4" : databases[0].size) ?? FIRST_SIZE);
    } else {
      writeAddress(forAddress());
      ask();
    }
  } catch (problem) {
    if (!api.isAbort(problem)) failed(problem);
  }
}

// -- start ------------------------------------------------------------------------------------------------------------

function takeAddress() {
  if (!location.hash.includes("=")) return false;
  const address = readAddress();
  wrongLink = "";
  const wrong = (why) => {
    wrongLink = `This link is wrong: ${why}.`;
    say(wrongLink);
    if (databases) writeAddress(forAddress());
    return false;
  };
  const { board, size } = readRows(address.board ?? "") ?? {};
  if (!board) return wrong("it has no board such as 1,2,3/4,5,6/7,8,0");
  const named = GOAL_NAMES.includes(address.goal) ? { board: namedGoal(address.goal, size), size } : readRows(address.goal ?? "");
  if (address.goal && !(named && sizeText(named.size) === sizeText(size))) return wrong(`its goal is no ${sizeText(size)} board`);
  const its = withSolution(newLine(board), [...address.moves, ...address.solution], size);
  if (!its) return wrong("its moves are not legal");
  const step = Math.min(Math.max(Math.trunc(address.step) || 0, 0), its.tiles.length);
  setPosition({ size, goal: named?.board ?? goalFor(size), db: address.db ?? "", line: { ...its, nOwn: address.moves.length, step }, isStep: false });
  return true;
}

function start(size, isStep = false) {
  setPosition({ size, goal: goalFor(size), db: "", line: newLine(randomBoard(goalFor(size), size)), isStep });
  if (!isStep) say(wrongLink);
}

const COPIES = {
  link: () => new URL(addressOf(forAddress()), location.href).href,
  moves: () => line.tiles.join(" "),
  blank: () => directions(line, position.size, "ULRD"),
  tile: () => directions(line, position.size, "DRLU"),
  curl: () => {
    const token = api.hasToken() ? ' -H "Authorization: Bearer $TOKEN"' : "";
    return `curl${token} '${api.withNames("v1/moves", analysed(shown(line)))}'`;
  },
  python: () => {
    const [url, { board, goal }] = [api.BASE.href.replace(/\/$/, ""), namesOf(shown(line))];
    const token = api.hasToken() ? ', token="TOKEN"' : "";
    return `import tilepdb\n\nwith tilepdb.Client("${url}"${usedDb && `, db=${JSON.stringify(usedDb)}`}${token}) as client:\n    print(client.moves("${board}", "${goal}", time_limit=${ANALYSIS_SECONDS}))\n`;
  },
  json: () => JSON.stringify({ ...namesOf(shown(line)), board: shown(line), db: usedDb }),
};

themeButton(byId("theme"));
dragTiles(view, slideCell);
listenToKeys(view.root, {
  best: analysis.toggle,
  solve,
  slide: (direction) => {
    const cell = cellSlidingTo(direction, shown(line), position.size);
    return cell !== null && slideCell(cell);
  },
  togglePlay: play.toggle,
  step: play.step,
});
byId("solve").addEventListener("click", () => (solver.isSearching() ? solver.cancel() : solve()));
byId("shuffle").addEventListener("click", shuffle);
byId("to-goal").addEventListener("click", () => setPosition({ line: newLine([...position.goal]) }));
byId("swap").addEventListener("click", () => setPosition({ line: newLine(swapTwoTiles(shown(line))) }));
byId("database").addEventListener("change", () => setPosition({ db: byId("database").value }));
byId("help").addEventListener("click", () => byId("help-dialog").showModal());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is that of the position
  view.root.focus();
});
byId("copies").addEventListener("click", ({ target }) => target.value in COPIES && copy(COPIES[target.value](), target));
byId("copy-command").addEventListener("click", ({ target }) => copy(byId("command").textContent, target));
addEventListener("hashchange", takeAddress);

isAddressed = takeAddress();
if (!isAddressed) start(FIRST_SIZE);
const [firstLine, firstGoal] = [line, position.goal];
connect();
