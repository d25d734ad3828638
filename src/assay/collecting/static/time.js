// The time at work on a page: gaps between two signs of life count, unless they are long or nobody looks.

import { forget, keep, kept, locale, say, settings } from "./device.js";
import { byId } from "./form.js";
import { showAlert } from "./words.js";

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

// -- the time that is left --------------------------------------------------------------------------------

const SOON = 5; // minutes, from which on it is said aloud
let ends = null; // when, by the clock here
let warned = false;
let finish = () => {};

/** From now on it is shown how long the person has; at the end, `action`. */
export function watchTimeLeft(action) {
  finish = action;
  setTimeLeft(byId("left").dataset.left);
  setInterval(showTimeLeft, 5000);
}

/** The server says so: seconds, or nothing where time never ends. */
export function setTimeLeft(seconds) {
  ends = seconds === undefined || seconds === null ? null : Date.now() + 1000 * Number(seconds);
  showTimeLeft();
}

function showTimeLeft() {
  const left = ends === null ? null : (ends - Date.now()) / 60000;
  const minutes = Math.ceil(left);
  const soon = left !== null && minutes <= SOON;
  byId("left").hidden = left === null || left <= 0;
  byId("left").classList.toggle("soon", soon);
  byId("left").textContent = inUnits(minutes);
  if (soon && minutes > 1 && !warned) showAlert(say("{count} minutes left: save what is to count.", { count: minutes }), { stays: true });
  warned = soon;
  if (left !== null && left <= 0) finish();
}

function inUnits(minutes) {
  if (minutes > 2880) return say("{count} days left", { count: Math.floor(minutes / 1440) });
  if (minutes > 120) return say("{count} hours left", { count: Math.floor(minutes / 60) });
  return minutes > 1 ? say("{count} minutes left", { count: minutes }) : say("1 minute left");
}
