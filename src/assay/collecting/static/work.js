/* The annotation page: one page of questions at a time; answers survive network failures and closed tabs.

   The server renders every page as a form. The script shows one, reads it, and stores three things on the
   device, by person: unsent answers, drafts of unsaved changes, seconds of work.
   An answer is written to the device first and sent from there, so a reload or a crash loses none.
   The files, each using only those before it: device, spans, form, words, time, media, messages, sending, drafts, pages,
   saving, keys; this one registers the listeners and starts. */

import { keep, kept, queue } from "./device.js";
import { sendDrafts } from "./drafts.js";
import { byId, isOpen, openForms, tasksOf } from "./form.js";
import { onClick, onInput, onKey, onSubmit } from "./keys.js";
import { listenToMedia } from "./media.js";
import { showMessage } from "./messages.js";
import {
  current, fetchAfterFailure, fetchMore, goOn, goTo, leavePage, checkAgain, markActive, setUpAll, show, showWaiting,
} from "./pages.js";
import { follow } from "./saving.js";
import { beginSending, checkLink, showStatus, tryNow } from "./sending.js";
import { listenToSelections } from "./spans.js";
import { keepTime, resumeTime, showLocalTimes, signOfLife, watchTimeLeft } from "./time.js";
import { ask } from "./words.js";

function onHide() {
  keepTime();
  sendDrafts();
}

function onVisibility() {
  if (document.hidden) return onHide();
  resumeTime();
  checkLink();
  onNetwork();
}

function onNetwork() {
  tryNow();
  fetchAfterFailure();
}

/** Send the remaining answers; then the server shows the end page. */
function onTimeOver() {
  if (queue().length) tryNow();
  else if (navigator.onLine) location.replace("/work");
}

function onPop(event) {
  const number = event.state?.page ?? Number(location.pathname.match(/^\/work\/(\d+)$/)?.[1] ?? 0);
  if (number) goTo(number, { push: false });
  else goOn();
}

// -- start --------------------------------------------------------------------------------------------

/** The heights of the bars above and below, which grow with the words of a language, as lengths of the style. */
function measureBars() {
  for (const [name, bar] of [["--bar", document.querySelector(".bar")], ["--foot", byId("foot")]]) {
    new ResizeObserver(() => document.documentElement.style.setProperty(name, `${bar.offsetHeight}px`)).observe(bar);
  }
}

function listen() {
  measureBars();
  document.addEventListener("keydown", onKey);
  document.addEventListener("input", onInput);
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("focusin", markActive);
  listenToMedia();
  listenToSelections();
  for (const sign of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart", "timeupdate"]) {
    document.addEventListener(sign, signOfLife, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("pagehide", onHide);
  addEventListener("popstate", onPop);
  addEventListener("online", onNetwork);
  addEventListener("offline", showStatus);
  addEventListener("storage", showStatus);
}

/** Open the instructions if this person has not seen their current text. */
function offerInstructions() {
  const text = byId("instructions-text").textContent;
  if (!current || byId("instructions").dataset.given === undefined || kept("instructions") === text) return;
  keep("instructions", text);
  ask("instructions");
}

function start() {
  history.scrollRestoration = "manual";
  listen();
  const first = document.querySelector("#pages > form.page");
  const shown = byId("end-place").querySelector(".end");
  showLocalTimes();
  setUpAll(shown);
  showStatus();
  // The server possibly does not have recent answers; an address with a number requests exactly that page.
  const known = location.pathname !== "/work" || (first && tasksOf(first).some(isOpen));
  if (first && known) show(first, { push: false, focus: false });
  else if (first || openForms().length) goOn();
  else if (!shown) showWaiting();
  else leavePage(shown.querySelector("h1"));
  checkAgain();
  offerInstructions();
  showMessage();
  watchTimeLeft(onTimeOver);
  beginSending(follow, () => fetchMore({ anyway: true }));
}

start();
