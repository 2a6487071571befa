// Functions that find and make elements and set texts.

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; `text` is its text, `onclick` and the like are listeners. */
export function make(tag, { text, ...attributes } = {}, ...children) {
  return dress(document.createElement(tag), text, attributes, children);
}

export function makeSvg(tag, { text, ...attributes } = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), text, attributes, children);
}

function dress(element, text, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

/** Set a text only where it changes, so that nothing is drawn, or read aloud, twice. */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

/** Show a notice with its text and a button; null hides it. `again` is called by the button. */
export function showNotice(notice, text, again = null) {
  notice.hidden = text === null;
  setText(notice.querySelector("p"), text ?? "");
  const button = notice.querySelector("button");
  button.hidden = again === null;
  button.onclick = again;
}

/** Fill a <select> with [value, text] pairs, and choose `value`. */
export function fillSelect(select, choices, value) {
  select.replaceChildren(...choices.map(([itsValue, text]) => make("option", { value: itsValue, text })));
  select.value = value;
}

const COUNT = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
export const count = (number) => COUNT.format(number);
export const shortCount = (number) => SHORT.format(number);

/** Seconds in words: `0.9 ms`, `1.24 s`, `2 min 5 s`. */
export function duration(seconds) {
  if (seconds < 0.1) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

export const moves = (n) => (n === 1 ? "1 move" : `${n} moves`);

/** What a problem says to a person. */
export function problemText(problem) {
  if (problem.status === 503) return `The server is busy: ${problem.message}.`;
  if (problem.status === 401) return "The server requires a valid token.";
  if (problem.status === 429) return "Too many requests at once. Try again soon.";
  return problem.message || "Something went wrong.";
}
