// One request at a time, then the newest of those made meanwhile: answers keep their order, and fast moves do not flood
// the server.

import { isAbort } from "./api.js";

const KEPT = 2000;

/**
 * `fetchOne(names, signal)` asks; `shown(answer)` and `failed(problem)` hear of the newest question alone. While there is
 * none, `spare()` may give names to ask in advance; `kept(answer)` hears of each answer that came.
 * Returns {ask(names), forget()}.
 */
export function latest(fetchOne, shown, failed, { spare = () => null, kept = () => {} } = {}) {
  const known = new Map();
  let [wanted, running, abort] = [null, null, null];

  const keyOf = (names) => JSON.stringify(names);
  const isWanted = (names) => wanted !== null && keyOf(wanted) === keyOf(names);
  const next = () => (wanted !== null && !known.has(keyOf(wanted)) ? wanted : spare((names) => known.has(keyOf(names))));

  function ask(names) {
    wanted = names;
    const answer = known.get(keyOf(names));
    if (answer) shown(answer);
    if (running === null) run();
    // A request in advance, or about another goal or database, is cancelled.
    else if (running.isSpare || running.names.goal !== names.goal || running.names.db !== names.db) abort.abort();
  }

  async function run() {
    for (let names = next(); names !== null; names = next()) {
      running = { names, isSpare: !isWanted(names) };
      abort = new AbortController();
      try {
        const answer = await fetchOne(names, abort.signal);
        if (known.size >= KEPT) known.delete(known.keys().next().value);
        known.set(keyOf(names), answer);
        kept(answer);
        if (isWanted(names)) shown(answer);
      } catch (problem) {
        if (isAbort(problem)) continue;
        if (isWanted(names)) {
          wanted = null;
          failed(problem);
        }
        if (wanted === null || known.has(keyOf(wanted))) break;
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
