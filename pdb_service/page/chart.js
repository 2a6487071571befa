// The chart of a solution: moves left and h at each step, as SVG. A click or an arrow key selects a step.

import { byId, make, makeSvg } from "./elements.js";

const HEIGHT = 190;
const MARGIN = { left: 34, right: 12, top: 14, bottom: 26 };

/** `goTo(step)` is called where someone points at a step. */
export function chart(goTo) {
  const figure = byId("chart");
  let [length, hs, at, parts] = [0, null, 0, null];

  // In pixels, so that text and lines have the same size on every screen.
  new ResizeObserver(() => !figure.hidden && draw()).observe(figure);

  /** A solution of so many moves; h of each board on the way comes by `showH`. Null hides the chart. */
  function load(newLength) {
    [length, hs, at] = [newLength ?? 0, null, 0];
    figure.hidden = length === 0;
    if (!figure.hidden) draw();
  }

  function showH(newHs) {
    hs = newHs;
    draw();
  }

  function draw() {
    const open = figure.querySelector("details")?.open ?? false;
    const hadFocus = figure.contains(document.activeElement) && document.activeElement.getAttribute("role") === "slider";
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const size = { width: figure.clientWidth / scale, height: HEIGHT };
    if (size.width <= 0) return;
    const top = Math.max(length, ...(hs ?? [0]), 1);
    const x = (step) => MARGIN.left + (step / length) * (size.width - MARGIN.left - MARGIN.right);
    const y = (moves) => size.height - MARGIN.bottom - (moves / top) * (size.height - MARGIN.top - MARGIN.bottom);
    const line = (values) => values.map((value, step) => `${step ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    const left = Array.from({ length: length + 1 }, (_, step) => length - step);
    const svg = makeSvg("svg", {
      viewBox: `0 0 ${size.width} ${size.height}`,
      role: "slider",
      tabindex: 0,
      "aria-label": "Step of the solution",
      "aria-valuemin": 0,
      "aria-valuemax": length,
    });
    for (const tick of ticks(top, 4)) {
      svg.append(
        makeSvg("line", { class: "grid", x1: x(0), x2: x(length), y1: y(tick), y2: y(tick) }),
        makeSvg("text", { class: "tick", x: MARGIN.left - 7, y: y(tick) + 4, "text-anchor": "end", text: tick }),
      );
    }
    for (const tick of ticks(length, Math.max(2, Math.floor(size.width / 70)))) {
      svg.append(makeSvg("text", { class: "tick", x: x(tick), y: size.height - 8, "text-anchor": "middle", text: tick }));
    }
    if (hs) {
      svg.append(
        makeSvg("path", { class: "h-area", d: `${line(hs)}L${x(length)} ${y(0)}L${x(0)} ${y(0)}Z` }),
        makeSvg("path", { class: "left-line", d: line(left) }),
        makeSvg("path", { class: "h-line", d: line(hs) }),
      );
    } else svg.append(makeSvg("path", { class: "left-line", d: line(left) }));
    parts = {
      x, y, svg,
      rule: makeSvg("line", { class: "rule", y1: MARGIN.top, y2: y(0) }),
      dot: makeSvg("circle", { class: "dot", r: 5 }),
      ring: makeSvg("circle", { class: "left-dot", r: 4 }),
    };
    svg.append(parts.rule, parts.ring, parts.dot);
    listen(svg, size.width);
    figure.replaceChildren(caption(), svg, table(left, open));
    showStep(at);
    if (hadFocus) svg.focus();
  }

  function listen(svg, width) {
    const stepAt = (event) => {
      const box = svg.getBoundingClientRect();
      const px = ((event.clientX - box.left) / box.width) * width;
      const share = (px - MARGIN.left) / (width - MARGIN.left - MARGIN.right);
      return Math.min(Math.max(Math.round(share * length), 0), length);
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      goTo(stepAt(event));
    });
    svg.addEventListener("pointermove", (event) => event.buttons && goTo(stepAt(event)));
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
      const wanted = { Home: 0, End: length }[event.key] ?? Math.min(Math.max(at + (by ?? 0), 0), length);
      if (wanted === at) return;
      goTo(wanted);
      event.preventDefault();
    });
  }

  function caption() {
    const key = (kind, text) => make("span", { class: `key ${kind}` }, text);
    return make("figcaption", {}, key("key-left", "moves left"), key("key-h", "h"), make("span", { class: "reading" }));
  }

  /** The same in numbers, for those who do not see the lines. */
  function table(left, open) {
    const head = make("tr", {}, ...["Step", "Moves left", "h"].map((name) => make("th", { scope: "col", text: name })));
    const rows = left.map((moves, step) =>
      make("tr", {}, make("th", { scope: "row", text: step }), make("td", { text: moves }), make("td", { text: hs?.[step] ?? "–" })),
    );
    const details = make(
      "details",
      {},
      make("summary", { text: "The chart in numbers" }),
      make("div", { class: "scrolling", tabindex: 0, role: "group", "aria-label": "The chart in numbers" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))),
    );
    details.open = open;
    return details;
  }

  function showStep(step) {
    at = step;
    if (!parts || figure.hidden) return;
    const { x, y, svg, rule, dot, ring } = parts;
    const h = hs?.[at];
    for (const name of ["x1", "x2"]) rule.setAttribute(name, x(at));
    ring.setAttribute("cx", x(at));
    ring.setAttribute("cy", y(length - at));
    dot.setAttribute("cx", x(at));
    dot.setAttribute("cy", y(h ?? length - at));
    const reading = h == null ? `${length - at} left` : `${length - at} left, h ${h}`;
    svg.setAttribute("aria-valuenow", at);
    svg.setAttribute("aria-valuetext", `step ${at}: ${reading}`);
    figure.querySelector(".reading").textContent = reading;
  }

  return { load, showH, showStep };
}

/** Round numbers from 0 to `most`, about `n` of them. */
function ticks(most, n) {
  const step = [1, 2, 5, 10, 20, 25, 50, 100].find((size) => most / size <= n) ?? Math.ceil(most / n);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}
