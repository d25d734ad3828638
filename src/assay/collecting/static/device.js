// Storage on this device, by person: unsent answers, drafts, seconds of work.

export const settings = document.body.dataset;

const translated = JSON.parse(settings.words ?? "{}");

/** Translate an English message into the language of the page, and fill in values. */
export const say = (english, values = {}) =>
  (translated[english] ?? english).replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place);

/** The locale of dates and times: the browser's, or on a translated page that of its language. */
export const locale = document.documentElement.lang === "en" ? [] : `${document.documentElement.lang}-u-nu-latn`;

export const PREFIX = `assay:${settings.person}:`;
const memory = new Map(); // if the browser stores nothing, at least until the tab is closed

export function keep(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(PREFIX + name, text);
    memory.delete(name);
  } catch {
    memory.set(name, text);
  }
}

export function kept(name) {
  let text = memory.get(name) ?? null;
  try {
    text ??= localStorage.getItem(PREFIX + name);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

export function forget(name) {
  memory.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // nothing was stored
  }
}

function keptNames(start) {
  const names = new Set(memory.keys());
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) names.add(key.slice(PREFIX.length));
  } catch {
    // memory alone
  }
  return [...names].filter((name) => name.startsWith(start)).sort();
}

/** Answers not yet acknowledged, in the order of saving; each has a separate name, so that tabs do not collide. */
export function queue() {
  return keptNames("answer:").map(kept).filter(Boolean);
}

export const nameInQueue = (entry) => `answer:${String(entry.turn).padStart(9, "0")}:${entry.key}`;

export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing on plain http
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
