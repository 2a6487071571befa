// Requests to the service: JSON, problems as exceptions, server-sent events, and the token.

import { parseSize } from "./board.js";
import { askForToken } from "./token_dialog.js";

export const BASE = new URL("../", import.meta.url);
const TOKEN_KEY = "tile-pdb token";
let token = null;
try {
  token = sessionStorage.getItem(TOKEN_KEY);
} catch {
  // Storage is disabled: the token lasts until the page is closed.
}

/** What went wrong, in words that can be shown. `status` is 0 where no answer came. */
class Problem extends Error {
  constructor(status, title, detail, retryAfterS = null, type = "") {
    super(detail || title);
    Object.assign(this, { status, title, detail, retryAfterS, type });
  }
}

export const hasToken = () => token !== null;
export const isAbort = (error) => error instanceof DOMException && error.name === "AbortError";

const withValues = (names) => Object.entries(names).filter(([, value]) => value != null && value !== "");
export const withNames = (path, names = {}) => {
  const url = new URL(path, BASE);
  for (const [name, value] of withValues(names)) url.searchParams.set(name, value);
  return url;
};
const posted = (body, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(Object.fromEntries(withValues(body))),
  signal,
});

export const databases = () => json(withNames("v1/databases"));
export const instanceSets = () => json(withNames("v1/instances"));
export const instances = (name) => json(withNames(`v1/instances/${encodeURIComponent(name)}`));
export const lookup = (names, signal) => json(withNames("v1/lookup", names), { signal });
export const lookupBatch = (body, signal) => json(withNames("v1/lookup"), posted(body, signal));
export const check = (body, signal) => json(withNames("v1/check"), posted(body, signal));
/** {board, size} of a text in any spelling, also if there are no tables for its size. */
export const readBoard = async (text) => {
  const { board, size } = await json(withNames("page/board", { board: text }));
  const its = parseSize(size);
  if (!its) throw new Error(`The board is ${size}; this page goes to 6x6.`);
  return { board, size: its };
};
export const moves = (names, signal) => json(withNames("v1/moves", names), { signal });

/** Solve a board; `progress(name, data)` hears of `queued` and `progress`. Promises the result. */
export async function solve(names, signal, progress) {
  const response = await send(withNames("v1/solve", names), { headers: { Accept: "text/event-stream" }, signal });
  for await (const { name, data } of events(response.body)) {
    if (name === "result") return data;
    if (name === "problem") throw new Problem(data.status, data.title, data.detail);
    progress(name, data);
  }
  throw new Problem(0, "The answer is incomplete", "The server stopped answering before the search was done.");
}

async function json(url, options = {}) {
  const response = await send(url, options);
  try {
    return await response.json();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "The answer is incomplete", "The server's answer cannot be read. Is there a proxy before it?");
  }
}

async function send(url, options, refused = false) {
  const sent = token;
  const headers = { ...options.headers, ...(sent ? { Authorization: `Bearer ${sent}` } : {}) };
  let response;
  try {
    response = await fetch(url, { ...options, headers });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "The server is gone", "No answer from the server. Is pdb serve still running?");
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && (await newToken(sent, refused))) return send(url, options, true);
  throw problem;
}

// Several requests may be refused at once: they share one dialog.
let asking = null;

async function newToken(refusedToken, refused) {
  if (token !== refusedToken) return true;
  asking ??= askForToken(refused || refusedToken !== null).finally(() => (asking = null));
  const given = await asking;
  if (!given) return false;
  token = given;
  try {
    sessionStorage.setItem(TOKEN_KEY, token);
  } catch {
    // Storage is disabled.
  }
  return true;
}

async function problemOf(response) {
  const wait = Number(response.headers.get("Retry-After")) || null;
  let told = {};
  try {
    told = await response.json();
  } catch {
    // Not an answer of the service: only the status is known.
  }
  return new Problem(response.status, told.title ?? `Status ${response.status}`, told.detail ?? response.statusText, wait, told.type);
}

/** The server-sent events of a body, as {name, data}. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block);
        yield { name, data: JSON.parse(data) };
      }
    }
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(0, "The server is gone", "The server stopped answering before the search was done.");
  } finally {
    reader.cancel().catch(() => {});
  }
}
