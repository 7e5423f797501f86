// The day so far: what was spent, and what went wrong last.

import { at, either, fill, make, say, set } from "./dom.js";
import { bar, stretch } from "./plots.js";
import { ago, clock, cost, count, countdown, duration, outcome, technique, usd } from "./words.js";

/** Show `day`, which came `passed` milliseconds ago. */
export function showDay(day, passed) {
  spend(day);
  budgets(day, passed);
  keys(day, passed);
  errors(day, passed);
}

/** Say that the day cannot be told, and why. */
export function dayIsLost(why) {
  for (const id of ["spend-scope", "budgets-scope", "errors-scope"]) say(at(id), why);
}

function spend({ spend: it, of, since }) {
  const some = it.calls > 0;
  either(at("spend"), at("spend-empty"), some);
  const where = of === "database" ? "of all replicas" : "the last 1,000 requests of this process";
  say(at("spend-scope"), `since 00:00 UTC, ${where}`);
  if (!some) return;
  hours(it.by_hour, since);
  bars(at("by-technique"), it.by_technique, technique);
  bars(at("by-model"), it.by_model, (name) => name || "not known");
}

function hours(list, since) {
  const most = Math.max(...list.map((it) => Number(it.usd)), 1e-12);
  const plot = at("by-hour");
  const items = list.map((it, hour) => ({ ...it, hour }));
  fill(plot, items, (it) => it.hour, () => make("span", {}, make("i")), (node, it) => {
    const height = it.calls ? Math.max((100 * Number(it.usd)) / most, 3) : 0;
    const [column] = node.children;
    const wanted = `${height.toFixed(2)}%`;
    if (column.style.height !== wanted) column.style.height = wanted;
    set(column, { class: it.unknown ? "unsure" : null });
    const hour = String(it.hour).padStart(2, "0");
    set(node, { title: it.calls ? `${hour}:00 UTC: ${cost(it)}, ${count(it.calls, "call")}` : null });
  });
  const top = items.reduce((best, it) => (Number(it.usd) > Number(best.usd) ? it : best), items[0]);
  const from = since.slice(0, 10);
  say(at("by-hour-most"), `most at ${String(top.hour).padStart(2, "0")}:00 UTC: ${cost(top)}`);
  set(plot, { "aria-label": `Spent in each hour of ${from}, UTC; most at ${top.hour}:00, ${usd(top.usd)}` });
}

function bars(parent, list, named) {
  const most = Math.max(...list.map((it) => Number(it.usd)), 1e-12);
  fill(parent, list, (it) => (it.others ? "others" : `of ${it.name}`), beginBar, (node, it) => {
    const [label, number, line] = node.children;
    say(label, it.others ? `${it.others} others` : named(it.name));
    const unknown = it.unknown && it.unknown < it.calls ? ` · ${it.unknown} unknown` : "";
    say(number, `${cost(it)}${unknown} · ${count(it.calls, "call")}`);
    const [known, more] = line.children;
    stretch(known, (0.94 * Number(it.usd)) / most);
    stretch(more, it.unknown ? 0.06 : 0);
  });
}

function budgets({ budgets: { list, more }, at: now }, passed) {
  either(at("budgets"), at("budgets-empty"), list.length > 0);
  say(at("budgets-scope"), more ? `the least left first; ${more} more` : "the least left first");
  fill(at("budgets"), list, (it) => `${it.key} ${it.team} ${it.period}`, beginBudget, (node, it) => {
    const [label, number, meter] = node.children;
    const name = `${it.key ? `key ${it.key}` : `team ${it.team}`} · ${it.period}`;
    const ends = it.end ? ` · renews ${countdown(Date.parse(it.end) - Date.parse(now) - passed)}` : "";
    const text = `${usd(it.left_usd)} of ${usd(it.usd)} left${ends}`;
    say(label, name);
    say(number, text);
    const part = Number(it.usd) ? Number(it.left_usd) / Number(it.usd) : 0;
    set(node, { "data-level": part <= 0.1 ? "tight" : part <= 0.3 ? "low" : "well" });
    set(meter, { "aria-label": `budget of ${name}`, "aria-valuemax": it.usd, "aria-valuenow": it.left_usd, "aria-valuetext": text });
    stretch(meter.firstElementChild, part);
  });
}

/** Say which keys have expired, or soon will. */
function keys({ keys: { list, more }, at: now }, passed) {
  at("keys-go").hidden = !list.length;
  const told = list.map(({ name, expires }) => {
    const left = Date.parse(expires) - Date.parse(now) - passed;
    return left > 0 ? `key ${name} expires ${countdown(left)}` : `key ${name} has expired`;
  });
  say(at("keys-go"), [...told, ...(more ? [`${more} more`] : [])].join(" · "));
}

function beginBudget() {
  const meter = bar("left");
  set(meter, { "aria-hidden": null, role: "meter", "aria-valuemin": 0 });
  return make("li", {}, make("span"), make("span.number"), meter);
}

function beginBar() {
  return make("li", {}, make("span"), make("span.number"), bar("known", "more"));
}

function errors({ errors: list, of, at: now }, passed) {
  either(at("errors"), at("errors-empty"), list.length > 0);
  say(at("errors-scope"), of === "database" ? "of all replicas" : "of this process");
  fill(at("errors"), list, (it) => it.request_id, beginError, (node, it) => {
    const [badge, what, when, why] = node.children;
    say(badge, outcome(it.outcome));
    say(what.children[0], it.code ? it.code.replaceAll("_", " ") : `status ${it.status}`);
    const of = [technique(it.technique), it.model || "no such model", it.key && `key ${it.key}`];
    say(what.children[1], of.filter(Boolean).join(" · "));
    say(when, `${ago(Date.parse(now) - Date.parse(it.at) + passed)} · after ${duration(it.ms)}`);
    set(when, { title: clock(it.at) });
    say(why.children[0], failed(it));
    say(why.children[1], it.request_id);
  });
}

function beginError() {
  return make(
    "li.error",
    {},
    make("span.badge"),
    make("div.what", {}, make("strong"), make("span.of")),
    make("span.number"),
    make("div.why", {}, make("span"), make("code", { title: "Request id, for /admin/ledger?request=ID" })),
  );
}

function failed({ calls, calls_made: made, more_calls: more, status }) {
  if (!made) return `HTTP ${status}, no call was made`;
  if (!calls.length) return `HTTP ${status}, ${count(made, "call")} made and none failed`;
  const told = calls.map((one) => `${one.provider} (${one.model}): ${one.outcome.replaceAll("_", " ")}`);
  return `HTTP ${status}; ${told.join(", ")}${more ? `, and ${more} more` : ""}`;
}
