// Playing a solution: start, end, step, play, speed, scrubber.

import { byId, setText } from "./elements.js";

const MOVES_PER_S = [1, 2, 4, 8, 16, 32];
const GLIDE_MS = 160;

/** `goTo(step)` is called when the shown step should change; `playing(isPlaying)` when play starts or stops. */
export function player({ goTo, glide }) {
  const [root, play, scrubber, speed, step, off] = ["player", "play", "scrubber", "speed", "step", "off"].map(byId);
  let [length, at, timer] = [0, 0, null];

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
  byId("back").addEventListener("click", () => go(at - 1));
  byId("forward").addEventListener("click", () => go(at + 1));
  scrubber.addEventListener("input", () => go(Number(scrubber.value)));
  byId("rejoin").addEventListener("click", () => go(at));

  /** Stop playing and go to a step of the solution; return whether that changes anything. */
  function go(wanted) {
    const to = Math.min(Math.max(wanted, 0), length);
    if (to === at && !timer && off.hidden) return false;
    pause();
    goTo(to);
    return true;
  }

  /** Play or pause; return whether there is anything to play. */
  function toggle() {
    if (root.hidden || length === 0) return false;
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
    root.classList.toggle("playing", timer !== null);
    play.setAttribute("aria-label", timer ? "Pause" : "Play");
    play.title = `${timer ? "Pause" : "Play"} (Space, on the board)`;
    for (const id of ["first", "back"]) byId(id).disabled = at === 0;
    for (const id of ["last", "forward"]) byId(id).disabled = at === length;
  }

  /** A solution of so many moves is there to be played; null for none. */
  function load(newLength) {
    pause();
    root.hidden = newLength === null;
    [length, at] = [newLength ?? 0, 0];
    scrubber.max = length;
    showStep(0);
  }

  /** The board shows this step; `isOff` where someone has left the way since. */
  function showStep(newAt, isOff = false) {
    at = newAt;
    scrubber.value = at;
    scrubber.setAttribute("aria-valuetext", `step ${at} of ${length}`);
    scrubber.style.setProperty("--share", length ? at / length : 0);
    setText(step, `${at} / ${length}`);
    off.hidden = !isOff;
    if (at === length && timer) pause();
    show();
  }

  showSpeed();
  return { load, showStep, toggle, pause, go, step: (by) => go(at + by), isLoaded: () => !root.hidden };
}
