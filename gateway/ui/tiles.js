// The few numbers at the top, each with a line of how it went.

import { at, fill, make, say } from "./dom.js";
import { draw, spark } from "./plots.js";
import { cost, count, countdown } from "./words.js";

const KEPT = 60;
const TILES = ["executing", "held", "suspended", "spent"];
const TITLES = { executing: "Under way", held: "Held", suspended: "Suspended", spent: "Spent today" };
const past = { executing: [], held: [], suspended: [] };

/** Take the numbers of one answer into the lines. */
export function remember({ counts }) {
  for (const [name, values] of Object.entries(past)) {
    values.push(counts[name]);
    if (values.length > KEPT) values.shift();
  }
}

/** Show the tiles; `now` and `day` may be null as long as nothing has come. */
export function showTiles(now, day, passed) {
  fill(at("tiles"), TILES, (name) => name, begin, (node, name) => {
    const [, number, note, line] = node.children;
    const told = name === "spent" ? spent(day) : counted(name, now, passed);
    say(number, told.number);
    say(note, told.note);
    node.dataset.some = told.some;
    draw(line, told.line, told.room);
  });
}

function begin(name) {
  return make("div.card.tile", { "data-name": name }, make("h2", {}, TITLES[name]), make("p.big"), make("p.note"), spark());
}

function counted(name, now, passed) {
  const number = now?.counts[name] ?? 0;
  const more = name === "suspended" && now?.runs_more ? "+" : "";
  const told = { number: now ? `${number}${more}` : "–", note: "", some: number > 0, line: past[name], room: KEPT };
  if (!number) told.note = "none now";
  else if (name === "executing") {
    const steps = now.calls.reduce((sum, it) => sum + flying(it), 0);
    told.note = count(steps, "step under way", "steps under way");
  } else told.note = next(name, now, passed);
  return told;
}

function flying(it) {
  return it.state === "executing" ? it.steps.states.filter((one) => one === "dispatched").length : 0;
}

function next(name, now, passed) {
  const some = now.calls.filter((it) => it.state === name);
  const etas = some.flatMap((it) => (name === "held" ? (it.waits ?? []).map((one) => one.eta_ms) : [it.eta_ms]));
  const known = etas.filter((eta) => eta !== null);
  if (!known.length) return name === "held" ? "until others have ended" : "until asked for again";
  return `next ${name === "held" ? "goes" : "may go"} ${countdown(Math.min(...known) - passed)}`;
}

function spent(day) {
  if (!day) return { number: "–", note: "", some: false, line: [], room: 24 };
  const { spend } = day;
  const hour = new Date(day.at).getUTCHours();
  let sum = 0;
  const line = spend.by_hour.slice(0, hour + 1).map((it) => (sum += Number(it.usd)));
  const unknown = spend.unknown ? ` · ${spend.unknown} unknown` : "";
  const note = `${count(spend.calls, "call")}${unknown}`;
  return { number: cost(spend), note, some: spend.calls > 0, line: [0, ...line], room: line.length + 1 };
}
