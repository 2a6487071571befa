// Keys: they act wherever the focus is, except on controls that use them, such as fields and sliders.

import { byId } from "./elements.js";

const DIRECTIONS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const USES_KEYS = "input:not([type=checkbox]), select, textarea, dialog";
const USES_ARROWS = ".scrolling, .line, [role=slider]";
const IS_CLICKED = "button, a, summary, input";

/**
 * `act` holds slide(direction), best(), solve(), togglePlay(), step(by); each returns whether it did something. A key
 * that does nothing scrolls the page as usual. Letters can be switched off (WCAG 2.1.4).
 */
export function listenToKeys(board, act) {
  const letters = new Map([["h", act.best], [",", () => act.step(-1)], [".", () => act.step(1)]]);
  const clicks = new Map([["Enter", act.solve], [" ", act.togglePlay]]);
  let isPointer = false;

  document.addEventListener("keydown", (event) => {
    isPointer = false;
    const { target, key } = event;
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented || target.closest(USES_KEYS)) return;
    let action = null;
    if (key in DIRECTIONS) action = target.closest(USES_ARROWS) ? null : () => act.slide(DIRECTIONS[key]);
    else if (clicks.has(key)) action = target.closest(IS_CLICKED) || event.repeat ? null : clicks.get(key);
    else if (byId("letter-keys").checked) action = letters.get(key.toLowerCase());
    if (action?.()) event.preventDefault();
  });

  // A control that a pointer uses does not keep the focus, so that keys act on the board again.
  document.addEventListener("pointerdown", () => (isPointer = true));
  for (const [name, controls] of [["click", "button, summary, input"], ["change", "select"]]) {
    document.addEventListener(name, ({ target }) => {
      const isElsewhere = document.activeElement.closest("textarea, dialog");
      if (isPointer && target.closest(controls) && !isElsewhere) board.focus({ preventScroll: true });
    });
  }
}
