// Solving: live progress, the result in words, the thresholds; the solution itself is played by `player.js`.

import * as api from "./api.js";
import { byId, count, duration, make, moves, problemText, setText, shortCount, showNotice } from "./elements.js";

const TICK_MS = 100;

/** `found(result)` hears of a solution; `say(text)` and `idle(text)` tell it at the board. `isOnTheWay()`: after moves. */
export function solverPanel({ found, isOnTheWay, say, idle }) {
  const [text, search, sweep, details] = ["solution-text", "search", "sweep", "search-details"].map(byId);
  const seconds = byId("seconds");
  let [abort, proved, isFound] = [null, null, false];

  byId("cancel").addEventListener("click", cancel);

  /** Solve a board; `names` are board, goal and db as the service takes them. */
  async function solve(names) {
    clear();
    abort = new AbortController();
    const own = abort;
    const limit = Number(seconds.value);
    const stop = showSearching(own);
    proved = null;
    try {
      const result = await api.solve({ ...names, time_limit: limit }, own.signal, (name, data) => own === abort && showProgress(name, data));
      if (own === abort) showResult(result, limit, () => again(names));
    } catch (problem) {
      if (api.isAbort(problem) || own !== abort) return;
      setText(text, "");
      showNotice(byId("solution-problem"), problemText(problem), () => solve(names));
    } finally {
      stop();
      if (own === abort) {
        abort = null;
        search.hidden = true;
      }
    }
  }

  function again(names) {
    seconds.selectedIndex += 1;
    solve(names);
  }

  const canSearchLonger = () => seconds.options[seconds.selectedIndex + 1]?.disabled === false;

  /** Disable the time limits above that of the server, and offer its own. */
  function allow(mostSeconds) {
    const options = [...seconds.options];
    if (!options.some(({ value }) => Number(value) === mostSeconds)) {
      const own = make("option", { value: mostSeconds, text: limitText(mostSeconds) });
      seconds.insertBefore(own, options.find(({ value }) => Number(value) > mostSeconds) ?? null);
    }
    for (const option of seconds.options) option.disabled = Number(option.value) > mostSeconds;
    if (seconds.selectedOptions[0].disabled) seconds.value = mostSeconds;
    seconds.title = `The server searches for up to ${limitText(mostSeconds)}`;
  }

  function showSearching(own) {
    search.hidden = false;
    byId("solve").textContent = "Cancel";
    setText(text, "Searching …");
    for (const id of ["threshold", "nodes", "rate", "elapsed"]) setText(byId(id), "–");
    const start = performance.now();
    const clock = setInterval(() => setText(byId("elapsed"), `${((performance.now() - start) / 1000).toFixed(1)} s`), TICK_MS);
    say("");
    idle("Searching …");
    return () => {
      clearInterval(clock);
      if (abort === own || abort === null) {
        byId("solve").textContent = "Solve";
        idle(null);
      }
    };
  }

  function showProgress(name, data) {
    if (name === "queued") return setText(text, data.ahead === 1 ? "Waiting for one search …" : `Waiting for ${data.ahead} searches …`);
    setText(text, `Every solution has at least ${moves(data.threshold)}; searching for one of ${data.threshold} …`);
    setText(byId("threshold"), data.threshold);
    setText(byId("nodes"), shortCount(data.generated));
    setText(byId("rate"), shortCount(data.nodes_per_s));
    proved = data.threshold;
    idle(`At least ${moves(data.threshold)}, ${shortCount(data.generated)} nodes so far`);
    sweep.setAttribute("aria-valuetext", `threshold ${data.threshold}, ${shortCount(data.generated)} nodes`);
  }

  function showResult(result, limit, more) {
    showThresholds(result);
    if (result.length === null) {
      setText(text, "");
      showNotice(
        byId("solution-problem"),
        `No solution was found within ${duration(result.seconds || limit)}. Proved so far: every solution has at least ${moves(result.lower_bound)}.`,
        canSearchLonger() ? more : null,
      );
      byId("solution-problem").querySelector("button").textContent = "Search longer";
      return say(`A limit was reached. At least ${moves(result.lower_bound)} are needed.`);
    }
    const sentence = `${moves(result.length)}${isOnTheWay() ? " from here" : ""}${result.optimal ? ", the minimum" : ""}`;
    const effort = `${count(result.generated)} ${result.generated === 1 ? "node" : "nodes"} in ${duration(result.seconds)}`;
    text.replaceChildren(make("strong", { text: sentence }), make("span", { text: effort }));
    say(`Found: ${sentence}.`);
    isFound = true;
    found(result);
  }

  function showThresholds(result) {
    const rows = result.thresholds;
    details.hidden = rows.length === 0;
    const most = Math.log1p(Math.max(...rows.map((row) => row.generated), 1));
    const head = ["Threshold", "Nodes", "", "Time"].map((name) => (name ? make("th", { scope: "col", text: name }) : make("td")));
    const body = rows.map((row) => {
      const bar = make("span", { class: "bar" });
      bar.style.setProperty("--share", Math.log1p(row.generated) / most);
      return make(
        "tr",
        {},
        make("th", { scope: "row", text: row.threshold }),
        make("td", { text: count(row.generated) }),
        make("td", { class: "bars" }, bar),
        make("td", { text: duration(row.seconds) }),
      );
    });
    byId("thresholds").replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  }

  function cancel() {
    if (!abort) return;
    abort.abort();
    abort = null;
    search.hidden = true;
    setText(text, proved === null ? "Cancelled." : `Cancelled. Proved so far: every solution has at least ${moves(proved)}.`);
    say("Cancelled.");
  }

  /** Forget the solution that is shown, and stop the search that is under way. */
  function clear() {
    if (abort) abort.abort();
    [abort, isFound] = [null, false];
    search.hidden = true;
    details.hidden = true;
    details.open = false;
    setText(text, "Slide tiles, or press Solve to find an optimal solution.");
    showNotice(byId("solution-problem"), null);
    byId("solution-problem").querySelector("button").textContent = "Try again";
  }

  return { solve, limit: () => Number(seconds.value), allow, cancel, clear, isSearching: () => abort !== null, hasFound: () => isFound };
}

const limitText = (seconds) => (seconds < 60 ? `${seconds} s` : `${Number((seconds / 60).toFixed(1))} min`);
