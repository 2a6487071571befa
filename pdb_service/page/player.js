// The line: its moves to click, undo and redo, playing, speed, scrubber.

import { directionOf } from "./board.js";
import { byId, make, setText } from "./elements.js";
import { flushAddress, nStepsBack } from "./share.js";

const MOVES_PER_S = [1, 2, 4, 8, 16, 32];
const GLIDE_MS = 160;
const ARROWS = { left: "←", right: "→", up: "↑", down: "↓" };

/** `goTo(step)` is called when the shown step should change, `rejoin()` to come back to the solution that was left. */
export function player({ goTo, rejoin, glide }) {
  const [root, play, scrubber, speed, step, off, list] = ["player", "play", "scrubber", "speed", "step", "off", "line"].map(byId);
  let [length, at, timer, isLeaving] = [0, 0, null, false];

  const perSecond = () => MOVES_PER_S[speed.value];
  const showSpeed = () => {
    speed.setAttribute("aria-valuetext", `${perSecond()} moves a second`);
    speed.title = `${perSecond()} moves a second`;
    if (timer) start();
  };
  speed.addEventListener("input", showSpeed);
  play.addEventListener("click", toggle);
  byId("first").addEventListener("click", () => go(0));
  byId("last").addEventListener("click", () => go(length));
  byId("undo").addEventListener("click", () => stepBy(-1));
  byId("redo").addEventListener("click", () => go(at + 1));
  scrubber.addEventListener("input", () => go(Number(scrubber.value)));
  byId("rejoin").addEventListener("click", rejoin);
  list.addEventListener("click", ({ target }) => target.closest("button") && go(Number(target.closest("button").value)));
  list.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (by && go(at + by)) event.preventDefault();
  });

  /** Before the line are the positions of the history. */
  function stepBy(by) {
    if (at + by >= 0 || !nStepsBack()) return go(at + by);
    flushAddress(); // an address that is written while the browser goes back keeps it where it is
    // One step at a time: until the browser is there, the number of steps before it is not known.
    if (!isLeaving) history.back();
    isLeaving = true;
    return true;
  }

  /** Stop playing and go to a step of the line; return whether that changes anything. */
  function go(wanted) {
    const to = Math.min(Math.max(wanted, 0), length);
    if (to === at && !timer) return false;
    pause();
    goTo(to);
    return true;
  }

  /** Play or pause; return whether there is anything to play. */
  function toggle() {
    if (length === 0) return false;
    if (timer) pause();
    else {
      if (at === length) goTo(0);
      start();
    }
    return true;
  }

  function start() {
    clearInterval(timer);
    timer = setInterval(() => (at < length ? goTo(at + 1) : pause()), 1000 / perSecond());
    glide(Math.min(GLIDE_MS, 800 / perSecond()));
    show();
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    glide(GLIDE_MS);
    show();
  }

  function show() {
    play.classList.toggle("playing", timer !== null);
    play.disabled = length === 0;
    play.setAttribute("aria-label", timer ? "Pause" : "Play");
    play.title = `${timer ? "Pause" : "Play"} (Space)`;
    byId("first").disabled = at === 0;
    byId("undo").disabled = at === 0 && !nStepsBack();
    for (const id of ["last", "redo"]) byId(id).disabled = at === length;
  }

  /** Show a line; `isOff` if the board has left a solution. */
  function load({ boards, tiles, nOwn, step: itsStep }, size, isOff) {
    isLeaving = false;
    length = tiles.length;
    if (!length) pause();
    root.hidden = length === 0 && !isOff;
    off.hidden = !isOff;
    scrubber.max = length;
    const items = ["Start", ...tiles].map((tile, move) => {
      const way = move ? ` ${ARROWS[directionOf(boards[move - 1].indexOf(tile), boards[move].indexOf(tile), size)]}` : "";
      return make("li", { class: move > nOwn ? "found" : "own" }, make("button", { type: "button", value: move, title: `Step ${move}`, text: `${tile}${way}` }));
    });
    list.replaceChildren(...items);
    showStep(itsStep);
  }

  /** The board shows this step of the line. */
  function showStep(newAt) {
    const hadFocus = list.contains(document.activeElement);
    at = newAt;
    scrubber.value = at;
    scrubber.setAttribute("aria-valuetext", `step ${at} of ${length}`);
    setText(step, `${at} / ${length}`);
    [...list.children].forEach(({ firstChild: button }, move) => {
      button.tabIndex = move === at ? 0 : -1;
      if (move === at) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    const current = list.children[at].firstChild;
    // Only the list itself scrolls, not the page.
    list.scrollTop = Math.max(0, current.offsetTop - list.clientHeight / 2);
    if (hadFocus) current.focus();
    if (at === length && timer) pause();
    show();
  }

  /** Mark the moves, from 0 on, for which `isLost(move)`. */
  function mark(isLost) {
    [...list.children].slice(1).forEach((item, move) => item.classList.toggle("lost", isLost(move)));
  }

  addEventListener("popstate", () => (isLeaving = false));
  showSpeed();
  return { load, showStep, mark, toggle, pause, show, step: stepBy, go };
}
