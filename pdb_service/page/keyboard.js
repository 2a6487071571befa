// Keys: arrows slide tiles, unless the focus is on a control that uses arrows itself.

const DIRECTIONS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

/**
 * `act` holds slide(direction), best(), solve(), togglePlay(), step(by); each returns whether it did something. All but
 * the arrows act only while the board has the focus (WCAG 2.1.4). A key that does nothing scrolls the page as usual.
 */
export function listenToKeys(board, act) {
  const onBoard = new Map([["h", act.best], [",", () => act.step(-1)], [".", () => act.step(1)]]);
  const onBoardItself = new Map([["Enter", act.solve], [" ", act.togglePlay]]); // on a tile they click
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, summary, dialog, .scrolling, .line, [role=slider], [role=radiogroup]")) return;
    let action = null;
    if (DIRECTIONS[event.key]) action = () => act.slide(DIRECTIONS[event.key]);
    else if (board.contains(event.target)) action = onBoard.get(event.key.toLowerCase());
    if (event.target === board) action ??= onBoardItself.get(event.key);
    if (action?.()) event.preventDefault();
  });
}
