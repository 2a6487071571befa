// The position: size, goal, sets of boards, and the board as text.

import * as api from "./api.js";
import { formatBoard, GOAL_NAMES, goalName, MAX_SIDE, MIN_SIDE, namedGoal, nCells, parseSize, readRows, sameBoard, sizeText } from "./board.js";
import { byId, fillSelect, problemText, setText } from "./elements.js";
import { playMoves } from "./line.js";

const MOVES = /^(?:[\W\d]|up|down|left|right|[udlr])+$/i;
// A board, and moves behind it: directions at the end, or the last line.
const BOARD_AND_MOVES = [/^([^]*?)((?:\b(?:(?:up|down|left|right|[udlr])\d*)+\W*)+)$/i, /^([^]*)\n(.*)$/];
const GOAL_WORDS = { "blank-last": "blank last", "blank-first": "blank first", snail: "snail" };

/** `change` holds size(size), goal(board), position({board, size, goal, moves}) and say(text). */
export function positionPanel(change) {
  const [size, goal, goalField, goalText, goalWhy] = ["size", "goal", "goal-field", "goal-text", "goal-why"].map(byId);
  const [set, instance, text, why] = ["set", "instance", "text", "why"].map(byId);
  let [shown, boards] = [null, []];

  fillSelect(goal, [...GOAL_NAMES.map((name) => [name, GOAL_WORDS[name]]), ["typed", "typed …"]], "blank-last");
  size.addEventListener("change", () => change.size(parseSize(size.value)));
  goal.addEventListener("change", () => {
    goalField.hidden = goal.value !== "typed";
    if (goal.value === "typed") goalText.focus();
    else change.goal(namedGoal(goal.value, shown.size));
  });

  reads(text, why, (parsed) => change.position(parsed), readMoves);
  reads(goalText, goalWhy, (parsed) => {
    if (!isShown(parsed)) throw new Error(`The board is ${sizeText(shown.size)}, this goal is ${sizeText(parsed.size)}.`);
    change.goal(parsed.board);
  });

  function isShown({ size: its }) {
    return sizeText(its) === sizeText(shown.size);
  }

  /** Take rows of the size that is shown while they are typed, and all else when it is done; `otherwise(text)` may read it. */
  function reads(field, complaint, take, otherwise = () => null) {
    let last = null; // leaving the field does not read it again
    const tell = (words, isWrong = false) => {
      setText(complaint, words);
      field.setAttribute("aria-invalid", isWrong);
      complaint.classList.toggle("wrong", isWrong);
      if (isWrong) complaint.scrollIntoView({ block: "nearest" });
    };
    const read = async (isDone) => {
      const typed = field.value;
      if (isDone && typed === last) return;
      if (isDone && !typed.trim()) return tell("Type a board, such as 1 2 3/4 5 6/7 8 0.", true);
      const rows = readRows(typed);
      if (!isDone && !(rows && isShown(rows))) return tell("Press Enter to use it.");
      last = typed;
      tell("");
      try {
        const parsed = rows ?? (await api.readBoard(typed).catch(async (problem) => (await otherwise(typed)) ?? Promise.reject(problem)));
        if (field.value === typed) take(parsed);
      } catch (problem) {
        if (field.value === typed) tell(problemText(problem), true);
      }
    };
    field.addEventListener("input", (event) => read(event.inputType === "insertFromPaste"));
    field.addEventListener("change", () => read(true));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      last = null;
      read(true);
    });
  }

  /** {board, size, moves} of a text of a board and moves, or of moves for the board that is shown; null if it is neither. */
  async function readMoves(typed) {
    for (const pattern of BOARD_AND_MOVES) {
      const [, before = "", moves] = pattern.exec(typed.trim()) ?? [];
      const its = /\d/.test(before) && (readRows(before) ?? (await api.readBoard(before).catch(() => null)));
      if (its) return { ...its, moves };
    }
    if (!MOVES.test(typed)) return null;
    const { line, isLegal } = playMoves(typed, shown.board, shown.size, shown.goal);
    // Rows, or as many numbers as cells, are rather a board with a mistake.
    const isBoard = typed.match(/\d+/g)?.length === nCells(shown.size) || /[/\n]/.test(typed);
    return line.step && (isLegal || !isBoard) ? { ...shown, moves: typed } : null;
  }

  set.addEventListener("change", async () => {
    boards = [];
    fillSelect(instance, [["", "–"]], "");
    instance.disabled = true;
    const [name, before] = [set.value, shown];
    if (!name) return;
    try {
      const answer = await api.instances(name);
      if (name !== set.value) return;
      boards = answer.instances;
      fillSelect(instance, [["", "–"], ...boards.map((item, index) => [index, labelOf(item)])], "");
      instance.disabled = false;
      if (shown !== before) return; // another position was chosen meanwhile
      instance.value = 0;
      takeInstance();
    } catch (problem) {
      change.say(problemText(problem));
      set.value = "";
    }
  });
  instance.addEventListener("change", takeInstance);

  function takeInstance() {
    const item = boards[instance.value];
    if (!item) return;
    change.position({ board: item.board, size: parseSize(item.size), goal: item.goal });
    const known = item.optimal_length == null ? "" : `, known to take ${item.optimal_length} moves`;
    change.say(`Board ${item.id} of ${set.value}${known}.`);
  }

  function showSets(sets) {
    fillSelect(set, [["", "none"], ...sets.map(({ name, n_boards: n }) => [name, `${name} (${n})`])], "");
  }

  /** Sizes with tables first. */
  function showSizes(served) {
    const all = [];
    for (let height = MIN_SIDE; height <= MAX_SIDE; height++) {
      for (let width = MIN_SIDE; width <= MAX_SIDE; width++) all.push(`${width}x${height}`);
    }
    const options = [...served, ...all.filter((name) => !served.includes(name))].map((name) => [name, `${name.replace("x", " × ")}${served.includes(name) ? "" : " (no table)"}`]);
    fillSelect(size, options, sizeText(shown.size));
  }

  function show(position) {
    shown = position;
    size.value = sizeText(position.size);
    const name = goalName(position.goal, position.size);
    goal.value = name ?? "typed";
    goalField.hidden = Boolean(name);
    if (document.activeElement !== goalText) {
      goalText.value = formatBoard(position.goal, position.size);
      setText(goalWhy, "");
    }
    if (document.activeElement !== text) {
      text.value = formatBoard(position.board, position.size);
      setText(why, "");
      text.removeAttribute("aria-invalid");
    }
    if (boards.length && !sameBoard(boards[instance.value]?.board ?? [], position.start)) instance.value = "";
  }

  return { show, showSets, showSizes };
}

const labelOf = (item) => `${item.id}${item.optimal_length == null ? "" : ` (${item.optimal_length} moves)`}`;
