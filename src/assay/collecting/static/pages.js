// Navigation: the page shown, the pages loaded ahead, the progress, and the end.

import { keep, kept, queue, say, settings } from "./device.js";
import { dropDraft, keepDraft, restoreDraft } from "./drafts.js";
import {
  all, byId, fillTask, fineness, formOf, forms, given, givenIn, grow, isChanged, isOpen, needsAnswer, numberOf,
  openForms, questionsOf, readTask, saved, showMarks, showNote, showWrong, tasksOf,
} from "./form.js";
import { pauseAll } from "./media.js";
import { showMessage } from "./messages.js";
import { readJson, refuse, refused, settled, OTHER_PERSON, WAITS } from "./sending.js";
import { setTimeLeft, showLocalTimes, startTime } from "./time.js";
import { inWords, showAlert } from "./words.js";

const AHEAD = Number(settings.ahead);
export let current = null; // the form that is shown, or null at the end
let closed = Number(settings.closed); // answers on pages up to this one are final and no longer shown
let end = null; // why there are no further pages, from the server's last response

/** Prepare a form from the server: fill in saved answers, then unsent answers, then drafts. */
function setUp(form) {
  form.closest(".unseen")?.replaceWith(form);
  form.hidden = form !== current;
  for (const slider of all(".slider", form)) if (slider.step === "any") slider.step = fineness(slider);
  for (const task of tasksOf(form)) {
    let state = givenIn(task);
    given.set(task.dataset.task, state);
    const waiting = queue().filter((entry) => entry.task === Number(task.dataset.task)).at(-1);
    if (waiting) {
      state = waiting.state;
      task.dataset.key = waiting.key;
      task.dataset.state = state.skip ? "skipped" : "answered";
    }
    fillTask(task, state);
    saved.set(task.dataset.task, readTask(task));
    restoreDraft(task);
  }
}

/** Prepare the content of the document: its pages, or its end page. */
export function setUpAll(shown) {
  if (shown) end = { kind: shown.dataset.kind, html: shown.outerHTML };
  for (const form of forms()) setUp(form);
  progress();
}

/** Whether the server has a newer state of a page than this document and its queue: reopened or answered elsewhere. */
function isNewer(form, old) {
  const known = new Map(tasksOf(old).map((task) => [task.dataset.task, Number(task.dataset.revision)]));
  const waits = queue().some((entry) => entry.page === numberOf(old));
  return !waits && tasksOf(form).some((task) => Number(task.dataset.revision) > (known.get(task.dataset.task) ?? -1));
}

/** Insert a form from the server; an existing form of the same number is kept if it is as new. */
export function takeIn(html, number, { always = true } = {}) {
  const page = new DOMParser().parseFromString(html, "text/html");
  if ((page.body.dataset.person ?? settings.person) !== settings.person) return refuse(OTHER_PERSON);
  const form = page.querySelector(`form.page[data-page="${number}"]`);
  if (!form) return null;
  const old = formOf(number);
  if (old) {
    if (!always && !isNewer(form, old)) return old;
    if (old === current) current = form;
    old.replaceWith(form);
  } else {
    byId("pages").append(form);
  }
  setUp(form);
  return form;
}

// -- navigation ---------------------------------------------------------------------------------------

/** Show a page of the document. */
export function show(form, { push = true, focus = true } = {}) {
  if (form !== current) pauseAll();
  current = form;
  for (const other of forms()) other.hidden = other !== form;
  hideEnd();
  const number = numberOf(form);
  startTime(number);
  document.title = `${form.querySelector(".page-title").textContent.trim()} – ${settings.study}`;
  history[push ? "pushState" : "replaceState"]({ page: number }, "", `/work/${number}`);
  keep("page", number);
  showFoot(canGoBack());
  showPhase();
  if (focus) {
    scrollTo(0, 0);
    form.querySelector(".page-title").focus({ preventScroll: true });
  }
  for (const area of all("textarea", form)) grow(area);
  markActive();
  prune();
  fetchMore();
}

/** Show a page by its number; load it from the server if it is not in the document. */
export async function goTo(number, how = {}) {
  const form = formOf(number) ?? (await fetchPage(number));
  if (form) show(form, how);
  else if (isClosed(number)) sayClosed(number);
  else if (!refused) showAlert(say("Page {number} cannot be loaded now. Please try again when the network is back.", { number }));
}

export const isClosed = (number) => number <= closed && !formOf(number);

/** Report a closed page, and restore the address of the page shown after the browser's back button. */
function sayClosed(number) {
  showAlert(say("Your answers on page {number} are saved and can no longer be changed.", { number }));
  if (current) history.replaceState({ page: numberOf(current) }, "", `/work/${numberOf(current)}`);
}

/** Remove final answers up to a page: their session is over, or one of their items is presented again. */
function close(upTo) {
  closed = Math.max(closed, upTo);
  for (const task of forms().flatMap(tasksOf)) {
    const form = task.closest("form");
    if (numberOf(form) > closed || isOpen(task)) continue;
    dropDraft(task.dataset.task);
    task.remove();
    if (!tasksOf(form).length) form.remove();
  }
  if (!current || current.isConnected) return showFoot(canGoBack());
  const number = numberOf(current);
  goOn();
  sayClosed(number);
}

/** The page that the back button leads to. */
const numberOfLast = () => (current ? numberOf(current) - 1 : (kept("page") ?? 0));
const canGoBack = () => numberOfLast() >= 1 && !isClosed(numberOfLast());

export const isShown = (number) => current !== null && numberOf(current) === number;

/** Show an alert about a page, with a button to go there from another one. */
export function showAlertAbout(number, words, { stays = false } = {}) {
  const way = isShown(number) ? {} : { label: say("Show page {number}", { number }), action: () => goTo(number) };
  showAlert(words, { ...way, stays });
}

async function fetchPage(number) {
  try {
    const reply = await fetch(`/work/${number}`, { signal: AbortSignal.timeout(20000) });
    return takeIn(await reply.text(), number);
  } catch {
    return null;
  }
}

/** Remove pages far behind; the server has them. */
function prune() {
  const waiting = new Set(queue().map((entry) => entry.page));
  for (const form of forms()) {
    const far = numberOf(form) < numberOf(current) - 30;
    if (far && !waiting.has(numberOf(form)) && !tasksOf(form).some((task) => isOpen(task) || isChanged(task))) form.remove();
  }
}

/** Show the next open page; if there is none, the end page or the waiting page. */
export function goOn() {
  const open = openForms();
  const next = open.find((form) => current && numberOf(form) > numberOf(current)) ?? open.find((form) => form !== current);
  if (next) show(next);
  else if (end) showEnd();
  else showWaiting();
}

export function previous() {
  if (canGoBack()) goTo(numberOfLast());
}

/** Show the buttons below; at the end only the back button. */
function showFoot(previousThere) {
  byId("foot").hidden = !current && !previousThere;
  const place = document.querySelector(".session").dataset;
  byId("session-end").hidden = !current || Number(place.session) >= Number(place.of);
  for (const button of all("button", byId("foot"))) button.hidden = !current && button.dataset.act !== "previous";
  byId("foot").querySelector("[data-act=previous]").disabled = !previousThere;
}

function hideEnd() {
  byId("end-place").replaceChildren();
  byId("waiting").hidden = true;
}

export function leavePage(title) {
  pauseAll();
  startTime(null);
  const was = current;
  current = null;
  for (const form of forms()) form.hidden = true;
  showFoot(canGoBack());
  document.title = `${title.textContent.trim()} – ${settings.study}`;
  if (was) history.pushState({ page: null }, "", "/work");
  scrollTo(0, 0);
  title.focus({ preventScroll: true });
}

function showEnd() {
  byId("waiting").hidden = true;
  byId("end-place").innerHTML = end.html;
  showLocalTimes();
  leavePage(byId("end-place").querySelector("h1"));
  sayWaiting();
  checkAgain();
}

export function showWaiting() {
  byId("end-place").replaceChildren();
  byId("waiting").hidden = false;
  sayWaiting();
  leavePage(byId("waiting-title"));
  fetchMore();
}

/** Update the messages for a person who waits for the network. */
export function sayWaiting() {
  byId("waiting-words").textContent = fetchFailed
    ? say("The server cannot be reached. More items will load automatically when the network is back; please keep this page open.")
    : say("Loading the next item.");
  const place = byId("end-place").querySelector(".notice");
  if (!place) return;
  const waiting = queue().length;
  let words = place.querySelector(".still-here");
  if (!words) place.append((words = Object.assign(document.createElement("p"), { className: "still-here open" })));
  words.textContent = waiting ? say("{answers} still on this device. Please keep this page open until all are saved.", { answers: inWords(waiting) }) : "";
}

let fetching = false;
let fetchAgain = false;
let fetchFailed = false;
let fetchTries = 0;
let fetchTimer = 0;

/** Load further pages when few open ones remain. */
export async function fetchMore({ anyway = false } = {}) {
  clearTimeout(fetchTimer);
  const unseen = openForms().filter((form) => form !== current).length;
  if (fetching) fetchAgain = true;
  if (fetching || refused || unseen >= AHEAD || (end && !anyway)) return;
  fetching = true;
  fetchAgain = false;
  let ended = false; // whether the reason of the end changed
  const [before, quiet] = [settled, !queue().length];
  try {
    // Without open pages, earlier pages can have been reopened.
    const after = current ? Math.max(...forms().map(numberOf)) : 0;
    const reply = await fetch(`/pages?after=${after}`, { signal: AbortSignal.timeout(20000) });
    if (reply.status === 401 || reply.status === 403) return refuse((await readJson(reply)).message);
    if (!reply.ok) throw new Error(`${reply.status}`);
    const found = await reply.json();
    if ((found.person ?? settings.person) !== settings.person) return refuse(OTHER_PERSON);
    fetchFailed = false;
    fetchTries = 0;
    for (const { html, number } of found.pages) takeIn(html, number, { always: false });
    ended = end !== null && end.kind !== found.end?.kind;
    end = found.end;
    close(found.closed);
    setTimeLeft(found.left);
    showMessage(found.messages);
    const fresh = found.session && showSession(found.session);
    // While answers are being sent, it is unknown whether the server has counted them, so this page's count is used,
    // except in a new session, to which earlier answers do not count.
    const counted = fresh || (quiet && settled === before && !queue().length);
    showProgress(counted ? found.progress : { ...found.progress, done: Number(byId("progress-words").dataset.done) });
  } catch {
    fetchFailed = true;
    fetchTimer = setTimeout(fetchMore, 1000 * WAITS[Math.min(fetchTries++, WAITS.length - 1)], { anyway });
  } finally {
    fetching = false;
  }
  sayWaiting();
  if (fetchFailed) return;
  if (!current && (openForms().length || (end && (ended || !byId("waiting").hidden)))) goOn();
  else if (!current && !fetchAgain) checkAgain();
  if (fetchAgain) fetchMore({ anyway });
}

let checkTimer = 0;

/** Try again after a failure, when the network can be back. */
export function fetchAfterFailure() {
  if (fetchFailed) fetchMore({ anyway: true });
}

/** At the end: check from time to time for further items, because the items of people who leave are assigned again. */
export function checkAgain() {
  clearTimeout(checkTimer);
  if (current === null) checkTimer = setTimeout(() => current === null && fetchMore({ anyway: true }), end ? 20000 : 3000);
}

/** Show the session; return whether it changed. */
function showSession({ number, of, words }) {
  const place = document.querySelector(".session");
  const fresh = place.dataset.session !== String(number);
  place.dataset.session = number;
  place.dataset.of = of;
  place.hidden = of < 2;
  place.textContent = `${say("Session {number} of {of}", { number, of })}${words ? `: ${words}` : ""}`;
  return fresh;
}

/** The current session of the page. */
export function session() {
  return document.querySelector(".session").dataset.session;
}

/** Whether an unsent or just saved answer adds to the count of this session. */
export function isCounted(entry) {
  return entry.counts && (entry.session ?? session()) === session();
}

/** Show "13 of 16", including answers saved here and not sent yet. */
function showProgress({ done, total, about }) {
  const words = byId("progress-words");
  Object.assign(words.dataset, { done, total: total ?? "" });
  words.toggleAttribute("data-about", about);
  const here = done + queue().filter(isCounted).length;
  if (about) total = Math.max(total, here);
  const given = { done: Math.min(here, total), total };
  words.textContent = total === null ? say("{done} done", { done: here }) : about ? say("{done} of about {total}", given) : say("{done} of {total}", given);
  words.closest(".progress").hidden = total === null && !here;
  Object.assign(byId("progress-bar"), { hidden: total === null, max: total || 1, value: total ? Math.min(here, total) : 0 });
}

/** Update the count of answers; the server has now counted `more` of them. */
export function progress(more = 0) {
  const { done, total, about } = byId("progress-words").dataset;
  showProgress({ done: Number(done) + more, total: total === "" ? null : Number(total), about: about !== undefined });
}

/** Label the button below: save, wait for the server, or continue after feedback. */
export function showPhase() {
  const phase = current?.dataset.phase;
  for (const question of current ? questionsOf(current) : []) question.disabled = phase !== undefined;
  byId("save-words").textContent = phase === "waiting" ? say("Checking…") : phase === "feedback" ? say("Continue") : say("Save and continue");
}

// -- the question that keys apply to ----------------------------------------------------------------------

export function activeQuestion() {
  if (!current) return null;
  const at = document.activeElement;
  const within = at?.closest("[data-question]");
  if (within && current.contains(within)) return within;
  const task = at?.closest("[data-task]");
  const near = task && current.contains(task) ? questionsOf(task) : [];
  const here = questionsOf(current);
  return near.find(needsAnswer) ?? near[0] ?? here.find(needsAnswer) ?? here[0] ?? null;
}

export const activeTask = () => activeQuestion()?.closest("[data-task]") ?? null;

export function markActive() {
  const active = activeQuestion();
  for (const question of all(".question.active")) if (question !== active) question.classList.remove("active");
  active?.classList.add("active");
}

export function focusQuestion(question) {
  const place = question.querySelector(".figure, textarea, .spans, input:checked") ?? question.querySelector("input");
  place.focus();
  question.scrollIntoView({ block: "nearest" });
}

/** Handle a change of a task by the person; with a question, a change of its answer. */
export function changed(task, question = null) {
  if (question) {
    showWrong(question, "");
    task.dataset.skip = "";
  }
  showMarks(task);
  showNote(task, "");
  keepDraft(task);
  markActive();
}
