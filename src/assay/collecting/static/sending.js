// Answers are sent in order, one at a time; each stays in the queue of this device until the server has responded.

import { forget, locale, nameInQueue, PREFIX, queue, say, settings } from "./device.js";
import { byId } from "./form.js";
import { hideAlert, inWords, showAlert } from "./words.js";

export const WAITS = [1, 2, 4, 8, 15]; // seconds between attempts
let sending = false;
export let refused = ""; // why the server refuses all requests of this browser
let tries = 0;
let sendTimer = 0;
let savedAt = null;
export let settled = 0; // number of answers that the server has responded to
let follow = () => {}; // called after each response
let open = () => {}; // called when the link works again
const CHECK_EVERY = 20000; // milliseconds between two checks of the link: a deactivated one is noticed before an item is done
const tabs = "BroadcastChannel" in window ? new BroadcastChannel(PREFIX) : null;

/** Start sending; `action` receives the response to each answer, also from other tabs; `again` is called when the link works again. */
export function beginSending(action, again) {
  follow = action;
  open = again;
  setInterval(checkLink, CHECK_EVERY);
  tabs?.addEventListener("message", ({ data }) => settle(data.entry, data.status, data.reply));
  send();
}

/** Send the queue in order; in one tab at a time, if the browser supports locks. */
export async function send() {
  clearTimeout(sendTimer);
  if (sending || refused) return showStatus();
  sending = true;
  try {
    await (navigator.locks ? navigator.locks.request(`${PREFIX}send`, sendAll) : sendAll());
  } finally {
    sending = false;
    showStatus();
  }
  if (queue().length && !refused) sendTimer = setTimeout(send, tries ? 1000 * WAITS[Math.min(tries - 1, WAITS.length - 1)] : 0);
}

async function sendAll() {
  for (let entry = queue()[0]; entry && !refused; entry = queue()[0]) {
    showStatus();
    const [status, reply] = await post(entry);
    if (status === 0 || status === 408 || status === 425 || status === 429 || status >= 500) {
      tries += 1;
      return;
    }
    tries = 0;
    if (status === 401 || status === 403) return refuse(reply.message);
    settle(entry, status, reply);
    tabs?.postMessage({ entry, status, reply });
  }
}

/** The status and content of the server's response; status 0 without a response. */
async function post(entry) {
  const { skip, comment, flag } = entry.state;
  const { task, key, revision, labels, seconds } = entry;
  // Send the person, because the link of another person can be opened in this browser at any moment.
  const { person } = settings;
  const body = JSON.stringify({ task, key, revision, labels, skip: skip || null, comment, flag, seconds, person });
  try {
    const options = { method: "POST", headers: { "content-type": "application/json" }, body, signal: AbortSignal.timeout(30000) };
    const reply = await fetch("/answers", options);
    const words = await readJson(reply);
    return reply.ok && !words.saved ? [0, {}] : [reply.status, words]; // the login page of a network is not a receipt
  } catch {
    return [0, {}];
  }
}

export const OTHER_PERSON = say("Another person's link was opened in this browser. Please open your own again.");

export const readJson = (reply) => reply.json().catch(() => ({}));

/** Remove an answer from the queue after the server's response, and update the page. */
function settle(entry, status, reply) {
  forget(nameInQueue(entry));
  settled += 1;
  if (status === 200) savedAt = new Date(reply.at * 1000);
  follow(entry, status, reply);
  showStatus();
}

/** Stop sending because the link no longer works; unsent answers are kept until it works again. */
export function refuse(words) {
  refused = words || say("This link no longer works.");
  const waiting = queue().length;
  const kept = waiting ? ` ${say("{answers} kept on this device.", { answers: inWords(waiting) })}` : "";
  showAlert(`${refused}${kept} ${say("This page will continue automatically when the link works again.")}`, { stays: true });
  stop(true);
  showStatus();
}

function stop(stopped) {
  for (const id of ["pages", "end-place", "foot"]) byId(id).inert = stopped;
}

/** Check the link: without saving, a page would not notice that it was deactivated or works again. */
export async function checkLink() {
  if (document.hidden) return;
  try {
    const reply = await fetch("/answers", { cache: "no-store", signal: AbortSignal.timeout(15000) });
    const { person, message } = await readJson(reply);
    if (reply.status === 401 || reply.status === 403) refuse(message);
    else if (reply.ok && person !== undefined && person !== settings.person) refuse(OTHER_PERSON);
    else if (reply.ok && person === settings.person && refused) goOnAgain();
  } catch {
    // without a network the link cannot be checked
  }
}

function goOnAgain() {
  refused = "";
  stop(false);
  hideAlert();
  tryNow();
  open();
}

export function showStatus() {
  const waiting = queue().length;
  const answers = waiting === 1 ? say("1 answer kept on this device") : say("{count} answers kept on this device", { count: waiting });
  let [kind, words] = ["", ""];
  if (refused) [kind, words] = ["bad", waiting ? say("Not saved, {answers}", { answers }) : say("Link no longer works")];
  else if (!navigator.onLine) [kind, words] = ["open", waiting ? say("Offline, {answers}", { answers }) : say("Offline")];
  else if (waiting && tries) [kind, words] = ["open", waiting > 1 ? say("Not saved, trying again ({answers})", { answers }) : say("Not saved, trying again")];
  else if (waiting) [kind, words] = ["", say("Saving…")];
  else if (savedAt) [kind, words] = ["good", say("Saved {time}", { time: savedAt.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }) })];
  const status = byId("status");
  status.className = `status ${kind}`;
  if (status.textContent !== words) status.textContent = words;
}

export function tryNow() {
  tries = Math.min(tries, 1);
  send();
}

export function showStatusOnce(words) {
  byId("status").textContent = words;
  setTimeout(showStatus, 2500);
}
