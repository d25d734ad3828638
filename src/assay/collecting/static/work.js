/* The annotation page: one page of questions at a time, answers that outlive the network and the tab.

   The server renders every page as a form. The script shows one, reads it, and keeps three things on the
   device, named by person: answers waiting to be sent, drafts of what is not saved, seconds of work.
   An answer is written to the device first and sent from there, so a reload or a crash loses none.
   The files, each using only those before it: device, spans, form, words, time, media, sending, drafts, pages,
   saving, keys; this one listens and begins. */

import { keep, kept, queue } from "./device.js";
import { sendDrafts } from "./drafts.js";
import { byId, isOpen, openForms, tasksOf } from "./form.js";
import { onClick, onInput, onKey, onSubmit } from "./keys.js";
import { listenToMedia } from "./media.js";
import {
  current, fetchAfterFailure, fetchMore, goOn, goTo, leavePage, lookAgain, markActive, setUpAll, show, showWaiting,
} from "./pages.js";
import { follow } from "./saving.js";
import { beginSending, lookAtLink, showStatus, tryNow } from "./sending.js";
import { listenToSelections } from "./spans.js";
import { keepTime, lookBack, showLocalTimes, signOfLife, watchTimeLeft } from "./time.js";
import { ask } from "./words.js";

function onHide() {
  keepTime();
  sendDrafts();
}

function onVisibility() {
  if (document.hidden) return onHide();
  lookBack();
  lookAtLink();
  onNetwork();
}

function onNetwork() {
  tryNow();
  fetchAfterFailure();
}

/** Once what was saved is sent, the server says how it ended. */
function onTimeOver() {
  if (queue().length) tryNow();
  else if (navigator.onLine) location.replace("/work");
}

function onPop(event) {
  const number = event.state?.page ?? Number(location.pathname.match(/^\/work\/(\d+)$/)?.[1] ?? 0);
  if (number) goTo(number, { push: false });
  else goOn();
}

// -- the beginning ------------------------------------------------------------------------------------

function listen() {
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

/** Instructions open by themselves for whoever has not read them as they are now. */
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
  // The server may not know yet what was answered here; an address with a number means just that page.
  const known = location.pathname !== "/work" || (first && tasksOf(first).some(isOpen));
  if (first && known) show(first, { push: false, focus: false });
  else if (first || openForms().length) goOn();
  else if (!shown) showWaiting();
  else leavePage(shown.querySelector("h1"));
  lookAgain();
  offerInstructions();
  watchTimeLeft(onTimeOver);
  beginSending(follow, () => fetchMore({ anyway: true }));
}

start();
