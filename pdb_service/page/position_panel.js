// The position: size, goal, sets of boards, and the board as text.

import * as api from "./api.js";
import { formatBoard, GOAL_NAMES, goalName, MAX_SIDE, MIN_SIDE, namedGoal, parseBoard, parseSize, sizeText } from "./board.js";
import { byId, fillSelect, problemText, setText } from "./elements.js";

const GOAL_WORDS = { "blank-last": "blank last", "blank-first": "blank first", snail: "snail" };

/** `change` holds size(size), goal(board), position({board, size, goal}) and say(text). */
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

  reads(text, why, (parsed) => change.position(parsed));
  reads(goalText, goalWhy, (parsed) => {
    if (sizeText(parsed.size) === sizeText(shown.size)) change.goal(parsed.board);
    else setText(goalWhy, `The board is ${sizeText(shown.size)}, this goal is ${sizeText(parsed.size)}.`);
  });

  /** Take what is typed as soon as it is a board of the size that is shown, another size when it is done. */
  function reads(field, complaint, take) {
    const read = (isDone) => {
      const parsed = parseBoard(field.value, shown.size);
      const isOther = parsed.board && sizeText(parsed.size) !== sizeText(shown.size);
      setText(complaint, parsed.why ?? (isOther && !isDone ? `A ${sizeText(parsed.size)} board; press Enter to use it.` : ""));
      field.setAttribute("aria-invalid", Boolean(parsed.why) && isDone);
      complaint.classList.toggle("wrong", Boolean(parsed.why) && isDone);
      if (parsed.board && (isDone || !isOther)) take(parsed);
    };
    field.addEventListener("input", (event) => read(event.inputType === "insertFromPaste"));
    field.addEventListener("change", () => read(true));
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      read(true);
    });
  }

  set.addEventListener("change", async () => {
    boards = [];
    fillSelect(instance, [["", "–"]], "");
    instance.disabled = true;
    const name = set.value;
    if (!name) return;
    try {
      const answer = await api.instances(name);
      if (name !== set.value) return;
      boards = answer.instances;
      fillSelect(instance, boards.map((item, index) => [index, labelOf(item)]), 0);
      instance.disabled = false;
      takeInstance();
    } catch (problem) {
      change.say(problemText(problem));
      set.value = "";
    }
  });
  instance.addEventListener("change", takeInstance);

  function takeInstance() {
    const item = boards[instance.value];
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
    const group = (label, sizes) => ({ label, options: sizes.map((name) => [name, name.replace("x", " × ")]) });
    const groups = [group("Served here", served), group("Without tables here", all.filter((name) => !served.includes(name)))];
    fillSelect(size, groups.filter(({ options }) => options.length), shown ? sizeText(shown.size) : "");
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
    const item = boards[instance.value];
    if (item && item.size !== sizeText(position.size)) {
      set.value = "";
      boards = [];
      fillSelect(instance, [["", "–"]], "");
      instance.disabled = true;
    }
  }

  return { show, showSets, showSizes };
}

const labelOf = (item) => `${item.id}${item.optimal_length == null ? "" : ` (${item.optimal_length} moves)`}`;
