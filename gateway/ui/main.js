// Asks for the news, shows them, and says so when there are none.

import { dayIsLost, showDay } from "./day.js";
import { at, say } from "./dom.js";
import { showNow } from "./now.js";
import { remember, showTiles } from "./tiles.js";
import { duration } from "./words.js";

const KEY = "lockgate-token";
const NOW_MS = 2_000;
const DAY_MS = 5_000;
const PATIENCE_MS = 6_000;
const DAY_PATIENCE_MS = 30_000;
const MOST_AHEAD_MS = 4_000;

const news = { now: null, day: null, nowAt: 0, dayAt: 0 };
let token = stored();
let state = "begin";

/** Asks for one thing again and again, as long as somebody looks. */
class Poll {
  constructor(path, everyMs, patienceMs, take) {
    Object.assign(this, { path, everyMs, patienceMs, take, timer: 0, asking: null, failures: 0 });
  }

  start() {
    this.stop();
    this.ask();
  }

  stop() {
    clearTimeout(this.timer);
    this.asking?.abort();
    this.asking = null;
  }

  async ask() {
    const asking = (this.asking = new AbortController());
    const late = setTimeout(() => asking.abort(), this.patienceMs);
    let answer = null;
    try {
      const headers = token ? { authorization: `Bearer ${token}` } : {};
      const response = await fetch(this.path, { headers, signal: asking.signal, cache: "no-store", credentials: "omit" });
      answer = { status: response.status, body: await response.json().catch(() => null) };
    } catch {
      // Nobody answers, or too late.
    }
    clearTimeout(late);
    if (this.asking !== asking) return; // stopped meanwhile
    this.failures = answer?.status === 200 ? 0 : this.failures + 1;
    this.take(answer);
    if (this.asking === asking) this.timer = setTimeout(() => this.ask(), this.everyMs * Math.min(1 + this.failures, 4));
  }
}

const polls = [
  new Poll("admin/overview", NOW_MS, PATIENCE_MS, takeNow),
  new Poll("admin/overview/today", DAY_MS, DAY_PATIENCE_MS, takeDay),
];

function takeNow(answer) {
  if (answer?.status === 401 || answer?.status === 403) return shutOut(answer);
  if (answer?.status !== 200 || !answer.body) return enter("away");
  news.now = answer.body;
  news.nowAt = Date.now();
  remember(news.now);
  enter("live");
  show();
}

function takeDay(answer) {
  if (answer?.status === 200 && answer.body) {
    news.day = answer.body;
    news.dayAt = Date.now();
    show();
  } else if (answer?.status === 503) dayIsLost("the database does not answer now");
}

/** Ask for the token, and say what is wrong with the one there was. */
function shutOut({ status, body }) {
  const told = body?.error?.message ?? "";
  for (const poll of polls) poll.stop();
  say(at("sign-in-fault"), status === 401 && token ? "That is not this gateway's admin token." : status === 401 ? "" : told);
  forget();
  enter("out");
  at("token").focus();
}

function enter(next) {
  const inside = next === "live" || (next === "away" && news.now !== null);
  if (inside && at("sign-in").contains(document.activeElement)) at("main").focus();
  at("board").hidden = !inside;
  at("sign-in").hidden = next !== "out";
  at("leave").hidden = !(inside && token);
  state = next;
  beat();
}

const WORDS = { begin: "Connecting", live: "Live", away: "No answer", out: "Signed out", rests: "Resting" };

/** Show how fresh the news are. */
function beat() {
  const age = Date.now() - news.nowAt;
  const lost = state === "live" ? news.now.lost : [];
  const stops = state === "live" && news.now.process.stopping;
  at("pulse").dataset.state = lost.length || stops ? "hurt" : state;
  say(at("pulse-word"), stops ? "Stopping" : lost.length ? `Lost: ${lost.join(", ")}` : WORDS[state]);
  let told = "";
  if (state === "away") told = news.now ? `· last news ${duration(Math.round(age / 1000) * 1000)} ago, trying again` : "· trying again";
  say(at("pulse-age"), told);
  const held = state === "live" ? news.now.counts.held : 0;
  document.title = held ? `(${held} held) Lockgate` : "Lockgate";
}

function show() {
  if (!news.now) return;
  const ahead = (since) => Math.min(Date.now() - since, MOST_AHEAD_MS);
  showTiles(news.now, news.day, ahead(news.nowAt));
  showNow(news.now, news.day, ahead(news.nowAt));
  if (news.day) showDay(news.day, state === "live" ? Date.now() - news.dayAt : 0);
  const { name, version, began } = news.now.process;
  const since = new Date(began).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  say(at("foot"), `Lockgate ${version} · process ${name}, since ${since}`);
}

function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

function keep(text) {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Storage is closed: it is known until the page is left.
  }
}

function forget() {
  token = "";
  news.now = news.day = null;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There is nothing to forget.
  }
}

function begin() {
  for (const poll of polls) poll.start();
}

/** Begin, or ask for the token: which of both is told to anyone. */
async function arrive() {
  if (token) return begin();
  let told = null;
  try {
    told = await (await fetch("ui/access", { cache: "no-store" })).json();
  } catch {
    // Nobody answers: asking goes on below, and that is seen.
  }
  if (told?.access === "token" || told?.access === "closed") shutOut({ status: 0, body: { error: { message: told.why } } });
  else begin();
}

at("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = at("token").value.trim();
  if (!given) return;
  at("token").value = "";
  say(at("sign-in-fault"), "");
  keep(given);
  begin();
});

at("leave").addEventListener("click", () => {
  for (const poll of polls) poll.stop();
  forget();
  say(at("sign-in-fault"), "");
  enter("out");
  at("token").focus();
});

at("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(at("first-command").textContent);
    say(at("copied"), "Copied.");
  } catch {
    getSelection().selectAllChildren(at("first-command"));
    say(at("copied"), "Selected: press Ctrl+C.");
  }
  setTimeout(() => say(at("copied"), ""), 3_000);
});

document.addEventListener("visibilitychange", () => {
  if (state === "out") return;
  if (document.visibilityState === "visible") begin();
  else {
    for (const poll of polls) poll.stop();
    if (state === "live") at("pulse").dataset.state = "rests";
  }
});

const THEMES = ["system", "light", "dark"];

function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

function nameTheme() {
  say(at("theme-word"), theme());
}

at("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === "system") localStorage.removeItem("lockgate-theme");
    else localStorage.setItem("lockgate-theme", next);
  } catch {
    // Storage is closed: it holds until the page is left.
  }
  nameTheme();
});

setInterval(() => {
  if (document.visibilityState !== "visible") return;
  beat();
  if (state === "live") show();
}, 1_000);

nameTheme();
arrive();
