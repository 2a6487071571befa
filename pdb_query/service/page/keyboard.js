// Keys: arrows slide tiles, wherever the focus is, unless it is on something that has a use for arrows itself.

const DIRECTIONS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

/** `act` holds slide(direction), hint(), solve(), togglePlay(), step(by). Letters act on the board alone. */
export function listenToKeys(board, act) {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.target.closest("input, select, textarea, summary, dialog, [role=slider], [role=radiogroup]")) return;
    const onBoard = board.contains(event.target) || event.target === document.body;
    if (DIRECTIONS[event.key]) act.slide(DIRECTIONS[event.key]);
    else if (!onBoard) return;
    else if (event.key === "h" || event.key === "H") act.hint();
    else if (event.key === "Enter" && !event.target.closest("button")) act.solve();
    else if (event.key === " " && !event.target.closest("button")) act.togglePlay();
    else if (event.key === ",") act.step(-1);
    else if (event.key === ".") act.step(1);
    else return;
    event.preventDefault();
  });
}
