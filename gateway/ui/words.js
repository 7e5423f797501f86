// Numbers and codes as people read them.

const UNITS = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** Return a duration in at most two units. */
export function duration(ms) {
  const seconds = Math.max(ms, 0) / 1000;
  if (seconds < 1) return ms > 0 && ms < 1 ? "< 1 ms" : ms < 1 ? "0 s" : `${Math.round(ms)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  let whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  for (const [place, [size, unit]] of UNITS.entries()) {
    if (whole < size) continue;
    const [smaller, name] = UNITS[place + 1] ?? [1, "s"];
    const rest = Math.floor((whole % size) / smaller);
    return rest ? `${Math.floor(whole / size)} ${unit} ${rest} ${name}` : `${Math.floor(whole / size)} ${unit}`;
  }
  return `${whole} s`;
}

/** Return a time to wait, in whole seconds: it is counted down. */
export function countdown(ms) {
  if (ms === null || ms === undefined) return "when others have ended";
  return ms < 1000 ? "now" : `in ${duration(Math.ceil(ms / 1000) * 1000).replace(".0 ", " ")}`;
}

/** Return how long ago something was. */
export function ago(ms) {
  return ms < 1500 ? "just now" : `${duration(Math.round(ms / 1000) * 1000).replace(".0 ", " ")} ago`;
}

/** Return dollars, which come as a decimal number in a text. */
export function usd(text) {
  const value = Number(text);
  if (value === 0) return "$0";
  if (value >= 1000) return `$${Math.round(value).toLocaleString("en-US")}`;
  if (value >= 1) return `$${value.toFixed(2)}`;
  const digits = Math.min(2 - Math.floor(Math.log10(value)), 12);
  return `$${value.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** Return what some calls cost, of which that of `unknown` is not known. */
export function cost({ usd: known, calls, unknown }) {
  if (!unknown) return usd(known);
  return unknown === calls ? "unknown" : `≥ ${usd(known)}`;
}

/** Return how many there are, with the word for it. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;
}

/** Return a large number in short. */
export function short(number) {
  if (number >= 1e6) return `${+(number / 1e6).toFixed(1)}M`;
  if (number >= 1e4) return `${+(number / 1e3).toFixed(1)}k`;
  return `${Math.floor(number).toLocaleString("en-US")}`;
}

export function technique(name) {
  if (name === "none") return "plain call";
  return name || "not ended yet";
}

const COUNTED = {
  requests: "requests",
  tokens: "tokens",
  input_tokens: "input tokens",
  output_tokens: "output tokens",
  concurrency: "calls at once",
};

/** Return what a window counts, and in which time. */
export function windowName({ dimension, period_s: period }) {
  const what = COUNTED[dimension] ?? dimension;
  if (!period) return what;
  const each = { 1: "second", 60: "minute", 3600: "hour", 86400: "day" }[period];
  return `${what} / ${each ?? duration(period * 1000)}`;
}

const REASONS = {
  usd: "money that calls under way hold",
  tool: "the quota of the tool",
  rate_limit: "a rate limit",
  concurrency: "a call to end",
};

/** Return what is waited for. */
export function reason(code) {
  return REASONS[code] ?? (COUNTED[code] ? `the limit of ${COUNTED[code]}` : (code ?? "").replaceAll("_", " "));
}

const OUTCOMES = {
  success: "Done",
  client_disconnect: "Client left",
  truncated: "Broke off",
  rejected: "Not valid",
  denied: "Not allowed",
  deadline: "Too late",
  unavailable: "Not available",
  held_back: "Stopped at a limit",
  upstream_error: "Provider failed",
  technique_error: "Technique failed",
  internal_error: "Fault of the gateway",
};

/** Return how a request ended. */
export function outcome(code) {
  return OUTCOMES[code] ?? code.replaceAll("_", " ");
}

const STATES = {
  executing: "Under way",
  held: "Held",
  suspended: "Suspended",
  interrupted: "Interrupted",
};

export function state(code) {
  return STATES[code] ?? code;
}

/** Return the time of day, here. */
export function clock(text) {
  return new Date(text).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
