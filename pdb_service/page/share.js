// The position in the address: #board=1,2,3/4,5,6/7,8,0&goal=snail&db=8

import { formatBoard } from "./board.js";

const WAIT_MS = 200;
let timer = null;

/** {board, goal, db} as they stand in the address, each a text or null. */
export function readAddress() {
  const names = new URLSearchParams(location.hash.slice(1));
  return { board: names.get("board"), goal: names.get("goal"), db: names.get("db") };
}

export function addressOf({ board, size, goalText, db }) {
  const names = [`board=${formatBoard(board, size, ",")}`];
  if (goalText) names.push(`goal=${goalText}`);
  if (db) names.push(`db=${encodeURIComponent(db)}`);
  return `#${names.join("&")}`;
}

/** Write the position into the address, not at every step of a fast player: browsers refuse that. */
export function writeAddress(position) {
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", addressOf(position)), WAIT_MS);
}

export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Cannot copy here";
  }
  setTimeout(() => (button.textContent = before), 1500);
}
