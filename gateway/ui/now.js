// What is going on now: calls and runs, what is held, and how the limits stand.

import { at, either, fill, make, say, set } from "./dom.js";
import { bar, marks, stretch } from "./plots.js";
import { ago, count, countdown, duration, outcome, reason, short, state, technique, usd, windowName } from "./words.js";

const TIGHT = 0.1;
const LOW = 0.3;

/** Show `now`, which came `passed` milliseconds ago; `day` may be null. */
export function showNow(now, day, passed) {
  runs(now, day, passed);
  queue(now, passed);
  windows(now, passed);
}

function runs(now, day, passed) {
  const isNew = !now.calls.length && !now.ended.length && day?.spend.calls === 0 && !day.errors.length;
  at("first").hidden = !isNew;
  if (isNew) say(at("first-command"), command(now));
  either(at("runs"), at("runs-empty"), Boolean(now.calls.length) || isNew);
  at("ended-title").hidden = !now.ended.length;
  const where = now.runs_shared ? "plain calls of this process, runs of all replicas" : "of this process";
  say(at("runs-scope"), now.more ? `${where}; ${now.more} more` : where);
  fill(at("runs"), now.calls, (it) => `${it.key} ${it.id}`, beginRun, (node, it) => run(node, it, passed));
  fill(at("ended"), now.ended, (it) => it.request_id, beginRun, (node, it) => ended(node, it, now.at, passed));
}

function command({ try: { model, keyed } }) {
  const key = keyed ? " -H 'authorization: Bearer YOUR_KEY'" : "";
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "What is 17 * 23?" }] });
  return (
    `curl ${location.origin}/v1/chat/completions${key} \\\n  -H 'content-type: application/json' \\\n` +
    `  -H 'x-lockgate-technique: self_consistency' \\\n  -d '${body}'`
  );
}

function beginRun() {
  return make(
    "li.run",
    {},
    make("span.badge"),
    make("div.what", {}, make("strong"), make("span.of")),
    make("div.marks", { role: "img", "aria-label": "No steps yet" }),
    make("span.number"),
    make("span.why"),
    bar("wait"),
  );
}

function run(node, it, passed) {
  const [badge, what, steps, number, why, line] = node.children;
  set(node, { "data-state": it.state });
  say(badge, state(it.state));
  named(what, it);
  marks(steps, it.steps);
  const paid = it.cost_known ? usd(it.cost_usd) : `≥ ${usd(it.cost_usd)}`;
  say(number, `${duration(Math.round((it.age_ms + passed) / 1000) * 1000).replace(".0 ", " ")} · ${paid}`);
  const [text, part] = waiting(it, passed);
  say(why, text);
  line.hidden = part === null;
  stretch(line.firstElementChild, part ?? 0);
}

/** Return why a run does not go on and until when, and how much of the wait is over. */
function waiting(it, passed) {
  const [first] = it.waits ?? [];
  if (first) {
    const others = it.waits.length > 1 ? `; ${it.waits.length - 1} more of its calls wait` : "";
    return [`${held(first, passed)}${others}`, over(first, passed)];
  }
  const elsewhere = it.here ? "" : "in another process";
  if (it.state === "suspended") {
    const when = it.eta_ms === null ? "" : `can go on ${countdown(it.eta_ms - passed)}; `;
    return [`Put away at ${reason(it.reason)}; ${when}goes on when it is asked for again`, null];
  }
  if (it.state === "interrupted") return ["Broke off; goes on when it is asked for again", null];
  return [[it.background ? "nobody waits for it" : "", elsewhere].filter(Boolean).join(", "), null];
}

function held(wait, passed) {
  const at = wait.account ? ` at ${wait.account}` : "";
  const ahead = wait.position ? `, ${wait.position} before it` : "";
  const eta = wait.eta_ms === null ? null : wait.eta_ms - passed;
  return `${wait.of} waits for ${reason(wait.reason)}${at}${ahead}; goes ${countdown(eta)}`;
}

function over(wait, passed) {
  if (wait.eta_ms === null) return null;
  const whole = wait.waited_ms + wait.eta_ms;
  return whole > 0 ? (wait.waited_ms + passed) / whole : 1;
}

function named(what, it) {
  say(what.children[0], technique(it.technique));
  const of = [it.model || "no such model", it.key && `key ${it.key}`, it.session && `session ${it.session}`];
  say(what.children[1], of.filter(Boolean).join(" · "));
  set(what, { title: it.id });
}

function ended(node, it, now, passed) {
  const [badge, what, steps, number, why, line] = node.children;
  set(node, { "data-state": it.outcome === "success" ? "completed" : "failed" });
  say(badge, outcome(it.outcome));
  named(what, it);
  steps.hidden = line.hidden = true;
  const paid = it.calls === 0 ? "" : ` · ${it.cost_known ? usd(it.cost_usd) : "cost not known"}`;
  say(number, `${duration(it.ms)}${paid}`);
  const when = ago(Date.parse(now) - Date.parse(it.at) + passed);
  say(why, it.calls === 0 ? when : `${count(it.calls, "call")} · ${when}`);
}

function queue(now, passed) {
  const accounts = queued(now);
  either(at("queue"), at("queue-empty"), accounts.length > 0);
  say(at("queue-scope"), now.limits.shared ? "numbers of all replicas, calls of this process" : "of this process");
  fill(at("queue"), accounts, (it) => it.name, beginGroup, (node, it) => {
    const [head, list] = node.children;
    say(head.children[0], it.name);
    say(head.children[1], it.told);
    fill(list, it.waits.slice(0, 12), (one) => one.id, beginWait, (row, one) => {
      const [what, when, line] = row.children;
      const calls = one.calls > 1 ? ` · ${one.calls} calls` : "";
      say(what, `${one.of} · ${technique(one.technique)}${calls}${one.key ? ` · key ${one.key}` : ""}`);
      say(when, `${reason(one.reason)} · ${countdown(one.eta_ms === null ? null : one.eta_ms - passed)}`);
      line.hidden = one.eta_ms === null;
      stretch(line.firstElementChild, over(one, passed) ?? 0);
    });
  });
}

/** Return what waits, by account; what waits for money or a tool has none. */
function queued(now) {
  const groups = new Map();
  for (const it of now.limits.accounts) {
    if (it.queued) groups.set(it.account, { name: it.account, queued: it.queued, under: it.under_way, waits: [] });
  }
  for (const it of now.calls) {
    for (const wait of it.waits ?? []) {
      const name = wait.account ?? "Money and tools";
      if (!groups.has(name)) groups.set(name, { name, queued: 0, under: null, waits: [] });
      const group = groups.get(name);
      const id = `${it.id} ${wait.of} ${wait.reason}`;
      const alike = group.waits.find((one) => one.id === id);
      if (alike) alike.calls += 1;
      else group.waits.push({ ...wait, id, calls: 1, technique: it.technique, key: it.key });
    }
  }
  const found = [...groups.values()];
  for (const it of found) {
    it.waits.sort((one, other) => (one.eta_ms ?? 1e12) - (other.eta_ms ?? 1e12));
    const waits = Math.max(it.queued, it.waits.reduce((sum, one) => sum + one.calls, 0));
    it.told = `${waits} ${waits === 1 ? "waits" : "wait"}${it.under === null ? "" : ` · ${it.under} under way`}`;
  }
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

function beginGroup() {
  return make("li.group", {}, make("h3", {}, make("span"), make("small")), make("ul.rows"));
}

function beginWait() {
  return make("li.wait", {}, make("span"), make("span.number"), bar("wait"));
}

function windows(now, passed) {
  const { accounts, mode, shared } = now.limits;
  const known = accounts.filter((it) => it.windows.length);
  say(at("windows-scope"), shared ? "of all replicas" : "as this process has them");
  either(at("windows"), at("windows-empty"), known.length > 0);
  say(
    at("windows-empty"),
    mode === "off"
      ? "Calls are not paced here (pacing.mode is off)."
      : "No limits are known yet. They are learned from answers, or stated as providers.NAME.limits.",
  );
  fill(at("windows"), known, (it) => it.account, beginGroup, (node, it) => {
    const [head, list] = node.children;
    say(head.children[0], it.account);
    say(head.children[1], `${it.under_way} under way${it.more ? ` · ${it.more} more limits` : ""}`);
    const ordered = [...it.windows].sort((one, other) => one.window.localeCompare(other.window));
    fill(list, ordered, (one) => one.window, beginWindow, (row, one) => level(row, one, passed));
  });
}

function beginWindow() {
  const meter = bar("left", "held");
  set(meter, { "aria-hidden": null, role: "meter", "aria-valuemin": 0 });
  return make("li.window", {}, make("span"), make("span.number"), meter);
}

function level(row, it, passed) {
  const [label, number, meter] = row.children;
  const [left, holding] = meter.children;
  const name = `${windowName(it)}${it.model ? ` · ${it.model}` : ""}`;
  const part = it.left / it.cap;
  say(label, `${name}${it.guessed ? " (guessed)" : ""}`);
  const text = `${short(it.left)} of ${short(it.cap)} left${again(it, passed)}`;
  say(number, text);
  set(row, { "data-level": part <= TIGHT ? "tight" : part <= LOW ? "low" : "well" });
  set(meter, { "aria-label": name, "aria-valuemax": it.cap, "aria-valuenow": Math.round(it.left), "aria-valuetext": text });
  stretch(left, part);
  stretch(holding, it.kind === "gauge" ? 1 - part : Math.min(it.held / it.cap, 1 - part));
}

function again(it, passed) {
  if (it.blocked_ms > passed) return ` · blocked, opens ${countdown(it.blocked_ms - passed)}`;
  if (it.kind === "gauge" || it.left >= it.cap) return "";
  return it.full_ms ? ` · full ${countdown(it.full_ms - passed)}` : "";
}
