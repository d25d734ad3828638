// Working time on a page: gaps between two inputs count, unless they are long or the page is hidden.

import { forget, keep, kept, locale, say, settings } from "./device.js";
import { byId } from "./form.js";
import { showAlert } from "./words.js";

const IDLE = Number(settings.idle) * 1000;
let page = null; // the number of the current page
let worked = 0; // seconds on it
let lastSign = performance.now();
let shownAt = performance.now(); // when the current page was shown
let seenBefore = 0; // seconds of work on it before that

/** Show times in local time. */
export function showLocalTimes(where = document) {
  for (const one of where.querySelectorAll("time[data-local]")) {
    const at = new Date(one.dateTime);
    if (!Number.isNaN(at.getTime())) one.textContent = at.toLocaleString(locale, { dateStyle: "long", timeStyle: "short" });
  }
}

/** After a key, touch or move: count the time since the last one, unless it was long or the tab was hidden. */
export function signOfLife() {
  const now = performance.now();
  const gap = now - lastSign;
  lastSign = now;
  if (!document.hidden && gap <= IDLE) worked += gap / 1000;
}

/** When the page becomes visible again, do not count the time since the last input. */
export function resumeTime() {
  lastSign = performance.now();
}

const keptFor = (number) => kept(`time:${number}`) ?? 0;

export const secondsOn = (number) => (number === page ? worked : keptFor(number));

export function keepTime() {
  signOfLife();
  if (page !== null && worked > 0) keep(`time:${page}`, worked);
}

/** Count the time for another page from now on, or for none. */
export function startTime(number) {
  keepTime();
  page = number;
  worked = number === null ? 0 : keptFor(number);
  [shownAt, seenBefore] = [performance.now(), worked];
}

/** Seconds until `tasks` new answers of the page can be saved: an item stays on the screen for a least time. */
export function secondsToWait(tasks) {
  const seen = seenBefore + (performance.now() - shownAt) / 1000;
  return Math.ceil(tasks * Number(settings.least) - seen);
}

/** Start from the working time in a draft, if it is longer. */
export function countFrom(number, seconds) {
  keep(`time:${number}`, Math.max(keptFor(number), seconds));
}

/** Reset the time of a page after saving; it was sent with the answers. */
export function endTime(number) {
  forget(`time:${number}`);
  if (number === page) worked = 0;
}

// -- remaining time ---------------------------------------------------------------------------------------

const SOON = 5; // minutes before the end at which it is announced
let ends = null; // the end, by the local clock
let warned = false;
let finish = () => {};

/** Show the remaining time from now on; call `action` at the end. */
export function watchTimeLeft(action) {
  finish = action;
  setTimeLeft(byId("left").dataset.left);
  setInterval(showTimeLeft, 5000);
}

/** Set the remaining seconds from the server; nothing without a deadline. */
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
  if (soon && minutes > 1 && !warned) showAlert(say("{count} minutes left: save your answers now.", { count: minutes }), { stays: true });
  warned = soon;
  if (left !== null && left <= 0) finish();
}

function inUnits(minutes) {
  if (minutes > 2880) return say("{count} days left", { count: Math.floor(minutes / 1440) });
  if (minutes > 120) return say("{count} hours left", { count: Math.floor(minutes / 60) });
  return minutes > 1 ? say("{count} minutes left", { count: minutes }) : say("1 minute left");
}
