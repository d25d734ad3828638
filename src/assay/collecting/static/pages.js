// Going from page to page: what is shown, what is held ready, how far it is, and the end.

import { keep, kept, queue, say, settings } from "./device.js";
import { dropDraft, keepDraft, restoreDraft } from "./drafts.js";
import {
  all, byId, fillTask, fineness, formOf, forms, given, givenIn, grow, isChanged, isOpen, needsAnswer, numberOf,
  openForms, questionsOf, readTask, saved, showMarks, showWrong, tasksOf, tell,
} from "./form.js";
import { hush } from "./media.js";
import { readJson, refuse, refused, settled, SOMEBODY_ELSE, WAITS } from "./sending.js";
import { setTimeLeft, showLocalTimes, startTime } from "./time.js";
import { inWords, showAlert } from "./words.js";

const AHEAD = Number(settings.ahead);
export let current = null; // the form that is shown, or null at the end
let closed = Number(settings.closed); // what was answered on pages up to this one is shown no more
let end = null; // why there are no further pages, as the server said last

/** Make a form of the server ready: what was given, then what waits to be sent, then what was not saved. */
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

/** Make ready what came with the document: its pages, or the end that stands there. */
export function setUpAll(shown) {
  if (shown) end = { kind: shown.dataset.kind, html: shown.outerHTML };
  for (const form of forms()) setUp(form);
  progress();
}

/** The server knows more of a page than this document and its queue do: it was opened again, or answered elsewhere. */
function isNewer(form, old) {
  const known = new Map(tasksOf(old).map((task) => [task.dataset.task, Number(task.dataset.revision)]));
  const waits = queue().some((entry) => entry.page === numberOf(old));
  return !waits && tasksOf(form).some((task) => Number(task.dataset.revision) > (known.get(task.dataset.task) ?? -1));
}

/** Put a form that came from the server in its place; where one of its number is there, that stays if it is as new. */
export function takeIn(html, number, { always = true } = {}) {
  const page = new DOMParser().parseFromString(html, "text/html");
  if ((page.body.dataset.person ?? settings.person) !== settings.person) return refuse(SOMEBODY_ELSE);
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

// -- going from page to page --------------------------------------------------------------------------

/** Show a page that is in the document. */
export function show(form, { push = true, focus = true } = {}) {
  if (form !== current) hush();
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

/** Show a page by its number, from the server where it is not in the document. */
export async function goTo(number, how = {}) {
  const form = formOf(number) ?? (await fetchPage(number));
  if (form) show(form, how);
  else if (isClosed(number)) sayClosed(number);
  else if (!refused) showAlert(say("Page {number} cannot be fetched now. Please try again when the network is back.", { number }));
}

export const isClosed = (number) => number <= closed && !formOf(number);

/** The address is that of the page that is shown again, where the browser's own way back led to a closed one. */
function sayClosed(number) {
  showAlert(say("What you answered on page {number} is saved, and stays as it is.", { number }));
  if (current) history.replaceState({ page: numberOf(current) }, "", `/work/${numberOf(current)}`);
}

/** What was answered up to a page leaves the document: its session is over, or an item of it comes again. */
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

/** The page that the button for going back leads to. */
const numberOfLast = () => (current ? numberOf(current) - 1 : (kept("page") ?? 0));
const canGoBack = () => numberOfLast() >= 1 && !isClosed(numberOfLast());

export const isShown = (number) => current !== null && numberOf(current) === number;

/** A bar about a page, with a button that leads there from another one. */
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

/** Forget pages far behind; the server has them. */
function prune() {
  const waiting = new Set(queue().map((entry) => entry.page));
  for (const form of forms()) {
    const far = numberOf(form) < numberOf(current) - 30;
    if (far && !waiting.has(numberOf(form)) && !tasksOf(form).some((task) => isOpen(task) || isChanged(task))) form.remove();
  }
}

/** The next page that is open; where there is none, why, or that it is being fetched. */
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

/** The buttons below: at the end only the one that leads back. */
function showFoot(previousThere) {
  byId("foot").hidden = !current && !previousThere;
  for (const button of all("button", byId("foot"))) button.hidden = !current && button.dataset.act !== "previous";
  byId("foot").querySelector("[data-act=previous]").disabled = !previousThere;
}

function hideEnd() {
  byId("end-place").replaceChildren();
  byId("waiting").hidden = true;
}

export function leavePage(title) {
  hush();
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
  lookAgain();
}

export function showWaiting() {
  byId("end-place").replaceChildren();
  byId("waiting").hidden = false;
  sayWaiting();
  leavePage(byId("waiting-title"));
  fetchMore();
}

/** Words for whoever has nothing to do because the network is away. */
export function sayWaiting() {
  byId("waiting-words").textContent = fetchFailed
    ? say("The server cannot be reached. More items come by themselves when the network is back; please keep this page open.")
    : say("The next item is being fetched.");
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

/** Ask for further pages when few that are open are left. */
export async function fetchMore({ anyway = false } = {}) {
  clearTimeout(fetchTimer);
  const unseen = openForms().filter((form) => form !== current).length;
  if (fetching) fetchAgain = true;
  if (fetching || refused || unseen >= AHEAD || (end && !anyway)) return;
  fetching = true;
  fetchAgain = false;
  let ended = false; // for another reason than before
  const [before, quiet] = [settled, !queue().length];
  try {
    // With nothing left to do, pages before the last may have become open again.
    const after = current ? Math.max(...forms().map(numberOf)) : 0;
    const reply = await fetch(`/pages?after=${after}`, { signal: AbortSignal.timeout(20000) });
    if (reply.status === 401 || reply.status === 403) return refuse((await readJson(reply)).message);
    if (!reply.ok) throw new Error(`${reply.status}`);
    const found = await reply.json();
    if ((found.person ?? settings.person) !== settings.person) return refuse(SOMEBODY_ELSE);
    fetchFailed = false;
    fetchTries = 0;
    for (const { html, number } of found.pages) takeIn(html, number, { always: false });
    ended = end !== null && end.kind !== found.end?.kind;
    end = found.end;
    close(found.closed);
    setTimeLeft(found.left);
    const fresh = found.session && showSession(found.session);
    // While answers are under way nobody knows whether the server has counted them; this page has. Those of an earlier
    // session say nothing about a new one.
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
  else if (!current && !fetchAgain) lookAgain();
  if (fetchAgain) fetchMore({ anyway });
}

let lookTimer = 0;

/** The network may be back. */
export function fetchAfterFailure() {
  if (fetchFailed) fetchMore({ anyway: true });
}

/** At the end: ask now and then whether there is more, since items come back from those who leave. */
export function lookAgain() {
  clearTimeout(lookTimer);
  if (current === null) lookTimer = setTimeout(() => current === null && fetchMore({ anyway: true }), end ? 20000 : 3000);
}

/** Say which session it is; whether it is another one than before. */
function showSession({ number, of, words }) {
  const place = document.querySelector(".session");
  const fresh = place.dataset.session !== String(number);
  place.dataset.session = number;
  place.hidden = of < 2;
  place.textContent = `${say("Session {number} of {of}", { number, of })}${words ? `: ${words}` : ""}`;
  return fresh;
}

/** The session that the page is in now. */
export function session() {
  return document.querySelector(".session").dataset.session;
}

/** Whether an answer that waits, or that the server has just taken, is one more in the count of this session. */
export function isCounted(entry) {
  return entry.counts && (entry.session ?? session()) === session();
}

/** "13 of 16", with what was saved here and is still on its way. */
function showProgress({ done, total }) {
  const words = byId("progress-words");
  Object.assign(words.dataset, { done, total: total ?? "" });
  const here = done + queue().filter(isCounted).length;
  words.textContent = total === null ? say("{done} done", { done: here }) : say("{done} of {total}", { done: Math.min(here, total), total });
  words.closest(".progress").hidden = total === null && !here;
  Object.assign(byId("progress-bar"), { hidden: total === null, max: total || 1, value: total ? Math.min(here, total) : 0 });
}

/** Count what was saved here; `more` of it the server has counted now. */
export function progress(more = 0) {
  const { done, total } = byId("progress-words").dataset;
  showProgress({ done: Number(done) + more, total: total === "" ? null : Number(total) });
}

/** What the button below does now: save, wait for the server, go on after its feedback. */
export function showPhase() {
  const phase = current?.dataset.phase;
  for (const question of current ? questionsOf(current) : []) question.disabled = phase !== undefined;
  byId("save-words").textContent = phase === "waiting" ? say("Checking…") : phase === "feedback" ? say("Go on") : say("Save and go on");
}

// -- the question that keys speak to ----------------------------------------------------------------------

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

/** What stands at a task was changed by the person; with a question, its answer was. */
export function changed(task, question = null) {
  if (question) {
    showWrong(question, "");
    task.dataset.skip = "";
  }
  showMarks(task);
  tell(task, "");
  keepDraft(task);
  markActive();
}
