// Plots. Sizes are set by script, as the page's policy allows no styles in its markup.

import { make, set } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** Set how far a bar goes, from 0 to 1. */
export function stretch(node, part) {
  const width = `${(100 * Math.min(Math.max(part, 0), 1)).toFixed(2)}%`;
  if (node.style.width !== width) node.style.width = width;
}

/** Return a bar of parts, which `stretch` sizes; it tells no more than the text beside it. */
export function bar(...parts) {
  return make("div.bar", { "aria-hidden": "true" }, ...parts.map((name) => make(`i.${name}`)));
}

/** Return an empty line plot. */
export function spark(width = 120, height = 34) {
  const svg = document.createElementNS(SVG, "svg");
  set(svg, { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.classList.add("spark");
  for (const name of ["area", "line"]) {
    const path = document.createElementNS(SVG, "path");
    path.classList.add(name);
    svg.append(path);
  }
  return svg;
}

/** Draw `values` from left to right; `room` is how many there may be, the last at the right. */
export function draw(svg, values, room = values.length) {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const most = Math.max(...values, 1e-12);
  const step = width / Math.max(room - 1, 1);
  const from = width - step * (values.length - 1);
  const points = values.map((value, place) => [from + place * step, height - 2 - (height - 5) * (value / most)]);
  const line = points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const [area, stroke] = svg.children;
  set(stroke, { d: line });
  set(area, { d: points.length ? `${line}L${width} ${height}L${points[0][0].toFixed(1)} ${height}Z` : "" });
}

const WORDS = {
  completed: "done",
  dispatched: "under way",
  planned: "waiting",
  failed: "failed",
  ambiguous: "in doubt",
  superseded: "not needed",
};

/** Show steps as marks, each in the look of its state. */
export function marks(node, { states, earlier }) {
  while (node.children.length > states.length) node.lastElementChild.remove();
  while (node.children.length < states.length) node.append(make("i"));
  states.forEach((state, place) => set(node.children[place], { class: state }));
  const counts = Object.entries(WORDS).map(([state, word]) => [states.filter((one) => one === state).length, word]);
  const told = counts.filter(([number]) => number).map(([number, word]) => `${number} ${word}`);
  if (earlier) told.unshift(`${earlier} before`);
  const text = told.length ? `Steps: ${told.join(", ")}` : "No steps yet";
  set(node, { "aria-label": text, title: text });
}
