// The time at work on a page: gaps between two signs of life count, unless they are long or nobody looks.

import { forget, keep, kept, locale, settings } from "./device.js";

const IDLE = Number(settings.idle) * 1000;
let page = null; // the number of the page that is worked on
let worked = 0; // seconds on it
let lastSign = performance.now();

/** Write times as the clock here has them. */
export function showLocalTimes(where = document) {
  for (const one of where.querySelectorAll("time[data-local]")) {
    const at = new Date(one.dateTime);
    if (!Number.isNaN(at.getTime())) one.textContent = at.toLocaleString(locale, { dateStyle: "long", timeStyle: "short" });
  }
}

/** A key, touch or move: the time since the last one was work, unless it was long or the tab hidden. */
export function signOfLife() {
  const now = performance.now();
  const gap = now - lastSign;
  lastSign = now;
  if (!document.hidden && gap <= IDLE) worked += gap / 1000;
}

/** Somebody looks again: what passed since the last sign was no work. */
export function lookBack() {
  lastSign = performance.now();
}

const keptFor = (number) => kept(`time:${number}`) ?? 0;

export const secondsOn = (number) => (number === page ? worked : keptFor(number));

export function keepTime() {
  signOfLife();
  if (page !== null && worked > 0) keep(`time:${page}`, worked);
}

/** From now on the time is that of another page, or of none. */
export function startTime(number) {
  keepTime();
  page = number;
  worked = number === null ? 0 : keptFor(number);
}

/** A draft from elsewhere knows of so much work. */
export function countFrom(number, seconds) {
  keep(`time:${number}`, Math.max(keptFor(number), seconds));
}

/** The page was saved: its time went with the answers. */
export function endTime(number) {
  forget(`time:${number}`);
  if (number === page) worked = 0;
}
