// One request at a time, then the newest of those made meanwhile: answers keep their order, and fast moves do not flood
// the server.

import { isAbort } from "./api.js";

const KEPT = 2000;

/**
 * `fetchOne(names, signal)` asks; `shown(answer)` and `failed(problem)` hear of the newest question alone.
 * Returns {ask(names), forget()}.
 */
export function latest(fetchOne, shown, failed) {
  const known = new Map();
  let [wanted, running, abort] = [null, null, null];

  const keyOf = (names) => JSON.stringify(names);

  function ask(names) {
    wanted = names;
    const answer = known.get(keyOf(names));
    if (answer) shown(answer);
    else if (running === null) run();
    // A request about another goal or database is cancelled.
    else if (running.goal !== names.goal || running.db !== names.db) abort.abort();
  }

  async function run() {
    while (wanted !== null && !known.has(keyOf(wanted))) {
      const names = (running = wanted);
      abort = new AbortController();
      try {
        const answer = await fetchOne(names, abort.signal);
        if (known.size >= KEPT) known.delete(known.keys().next().value);
        known.set(keyOf(names), answer);
        if (wanted !== null && keyOf(wanted) === keyOf(names)) shown(answer);
      } catch (problem) {
        if (isAbort(problem)) continue;
        if (wanted !== null && keyOf(wanted) === keyOf(names)) {
          wanted = null;
          failed(problem);
        }
      }
    }
    running = null;
  }

  /** Whatever is on its way is no longer wanted. */
  function forget() {
    wanted = null;
    if (abort) abort.abort();
  }

  return { ask, forget };
}
