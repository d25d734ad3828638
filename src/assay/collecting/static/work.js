/* The annotation page: one page of questions at a time, answers that outlive the network and the tab.

   The server renders every page as a form. This script shows one, reads it, and keeps three things on the
   device, named by person: answers waiting to be sent, drafts of what is not saved, seconds of work.
   An answer is written to the device first and sent from there, so a reload or a crash loses none. */

const settings = document.body.dataset;
const IDLE = Number(settings.idle) * 1000;
const AHEAD = Number(settings.ahead);
const WAITS = [1, 2, 4, 8, 15]; // seconds between attempts
const DRAFT_AFTER = 800; // ms without typing until a draft goes to the server

const byId = (id) => document.getElementById(id);
const all = (selector, where = document) => [...where.querySelectorAll(selector)];

// -- what is kept on this device --------------------------------------------------------------------

const PREFIX = `assay:${settings.person}:`;
const memory = new Map(); // where the browser keeps nothing, at least until the tab is closed

function keep(name, value) {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(PREFIX + name, text);
    memory.delete(name);
  } catch {
    memory.set(name, text);
  }
}

function kept(name) {
  let text = memory.get(name) ?? null;
  try {
    text ??= localStorage.getItem(PREFIX + name);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function forget(name) {
  memory.delete(name);
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // nothing was kept
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

/** Answers not yet acknowledged, in the order of saving; each under a name of its own, so that tabs do not collide. */
function queue() {
  return keptNames("answer:").map(kept).filter(Boolean);
}

const nameInQueue = (entry) => `answer:${String(entry.turn).padStart(9, "0")}:${entry.key}`;

function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing on plain http
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// -- pages, tasks and questions as they stand in the document ------------------------------------------

const forms = () => all("form.page").sort((a, b) => numberOf(a) - numberOf(b));
const numberOf = (form) => Number(form.dataset.page);
const formOf = (number) => document.querySelector(`form.page[data-page="${number}"]`);
const tasksOf = (form) => all("[data-task]", form);
const taskOf = (id) => document.querySelector(`[data-task="${id}"]`);
const questionsOf = (where) => all("[data-question]", where);
const isOpen = (task) => task.dataset.state === "open" || task.dataset.state === "reopened";
const openForms = () => forms().filter((form) => tasksOf(form).some(isOpen));

let current = null; // the form that is shown, or null at the end
let end = null; // why there are no further pages, as the server said last
const saved = new Map(); // by task: what was saved last, here or on the server
const given = new Map(); // by task: what the server had when it made the form

/** What stands in a question, as text: a radio's value, the number as typed, the words. "" is no answer. */
function rawOf(question) {
  if (question.dataset.kind === "number") return question.querySelector(".figure").value.trim();
  if (question.dataset.kind === "text") return question.querySelector("textarea").value;
  return question.querySelector("input:checked")?.value ?? "";
}

function setRaw(question, raw) {
  const { kind } = question.dataset;
  if (kind === "number") {
    question.querySelector(".figure").value = raw;
    moveSlider(question);
  } else if (kind === "text") {
    question.querySelector("textarea").value = raw;
    grow(question.querySelector("textarea"));
  } else {
    for (const radio of all("input", question)) radio.checked = radio.value === raw;
  }
}

const isAnswered = (question) => rawOf(question).trim() !== "";
const isOptional = (question) => question.dataset.optional !== undefined;

/** The label that is sent. */
function labelOf(question) {
  const raw = rawOf(question);
  if (question.dataset.kind === "number") return asNumber(raw);
  return question.dataset.kind === "text" ? raw : JSON.parse(raw);
}

const asNumber = (raw) => (/^[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?$/i.test(raw) ? Number(raw.replace(",", ".")) : NaN);

const MISSING = { text: "Write an answer, or skip the item.", number: "Give a number, or skip the item." };

/** What is wrong with an answer, in words; "" where nothing is. */
function wrongWith(question) {
  const { kind, low, high, whole, allowed } = question.dataset;
  const raw = rawOf(question);
  if (raw.trim() === "") return isOptional(question) ? "" : (MISSING[kind] ?? "Choose an answer, or skip the item.");
  if (kind !== "number") return "";
  if (/^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(raw)) return "Write a thousand as 1000, one and a half as 1.5.";
  const value = asNumber(raw);
  const fits = Number.isFinite(value) && !(value < Number(low ?? -Infinity)) && !(value > Number(high ?? Infinity));
  return fits && (whole === undefined || Number.isInteger(value)) ? "" : `The answer must be ${allowed}.`;
}

/** All that a person can leave at a task. */
function readTask(task) {
  const answers = Object.fromEntries(questionsOf(task).map((question) => [question.dataset.question, rawOf(question)]));
  return { answers, skip: task.dataset.skip, flag: task.dataset.flag, comment: task.querySelector(".comment").value };
}

function fillTask(task, state) {
  for (const question of questionsOf(task)) setRaw(question, state.answers[question.dataset.question] ?? "");
  task.dataset.skip = state.skip;
  task.dataset.flag = state.flag;
  task.querySelector(".comment").value = state.comment;
  task.querySelector(".remark").hidden = !state.comment;
  showMarks(task);
}

const isChanged = (task) => JSON.stringify(readTask(task)) !== JSON.stringify(saved.get(task.dataset.task));

/** What the server says was given, in the shape of readTask. */
function givenIn(task) {
  const asRaw = ({ kind, given: label }) => (label === undefined ? "" : kind === "text" ? JSON.parse(label) : label);
  const answers = Object.fromEntries(questionsOf(task).map(({ dataset }) => [dataset.question, asRaw(dataset)]));
  return { answers, skip: task.dataset.skip, flag: task.dataset.flag, comment: task.dataset.comment };
}

/** The revision that the next answer to a task follows: that of an answer still waiting, or the server's. */
function revisionOf(task) {
  const waiting = queue().find((entry) => entry.key === task.dataset.key);
  return waiting ? waiting.revision + 1 : Number(task.dataset.revision);
}

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

/** The server knows more of a page than this document and its queue do: it was opened again, or answered elsewhere. */
function isNewer(form, old) {
  const known = new Map(tasksOf(old).map((task) => [task.dataset.task, Number(task.dataset.revision)]));
  const waits = queue().some((entry) => entry.page === numberOf(old));
  return !waits && tasksOf(form).some((task) => Number(task.dataset.revision) > (known.get(task.dataset.task) ?? -1));
}

/** Put a form that came from the server in its place; where one of its number is there, that stays if it is as new. */
function takeIn(html, number, { always = true } = {}) {
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

// -- numbers and long texts -------------------------------------------------------------------------

/** The step of a slider: about a five hundredth of its range, as a power of ten. */
function fineness(slider) {
  const exponent = Math.floor(Math.log10((Number(slider.max) - Number(slider.min)) / 500));
  return exponent < 0 ? (10 ** exponent).toFixed(-exponent) : "1";
}

/** Put the slider where the box says; with nothing in the box it shows that nothing is chosen. */
function moveSlider(question) {
  const slider = question.querySelector(".slider");
  if (!slider) return;
  const value = asNumber(rawOf(question));
  slider.classList.toggle("unset", Number.isNaN(value));
  slider.setAttribute("aria-valuetext", Number.isNaN(value) ? "nothing chosen yet" : String(value));
  slider.value = Number.isNaN(value) ? (Number(slider.min) + Number(slider.max)) / 2 : value;
}

function readSlider(slider) {
  const question = slider.closest("[data-question]");
  question.querySelector(".figure").value = slider.value;
  slider.classList.remove("unset");
  slider.setAttribute("aria-valuetext", slider.value);
}

function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.setProperty("height", "auto");
  area.style.setProperty("height", `${area.scrollHeight + 2}px`);
}

// -- drafts -----------------------------------------------------------------------------------------

const draftTimers = new Map();
const waitingDrafts = new Map(); // by task: what is to be sent

/** Keep what stands at a task at once, and send it when the typing pauses. */
function keepDraft(task) {
  const id = task.dataset.task;
  const body = { ...readTask(task), revision: revisionOf(task), at: Date.now(), seconds: secondsOn(task.closest("form")) };
  if (isChanged(task)) keep(`draft:${id}`, body);
  else forget(`draft:${id}`);
  clearTimeout(draftTimers.get(id));
  draftTimers.set(id, setTimeout(sendDraft, DRAFT_AFTER, id));
  waitingDrafts.set(id, body);
}

function sendDraft(id) {
  const body = waitingDrafts.get(id);
  clearTimeout(draftTimers.get(id));
  waitingDrafts.delete(id);
  if (!body || refused) return;
  const options = { method: "PUT", headers: { "content-type": "application/json" } };
  options.body = JSON.stringify({ revision: body.revision, body });
  options.keepalive = options.body.length < 20000; // browsers carry no more than 64 KiB past the end of a page
  fetch(`/drafts/${id}`, options).catch(() => {}); // it is kept here, and the next one is sent again
}

function dropDraft(id) {
  clearTimeout(draftTimers.get(id));
  waitingDrafts.delete(id);
  forget(`draft:${id}`);
}

function restoreDraft(task) {
  const id = task.dataset.task;
  const local = kept(`draft:${id}`);
  const served = task.dataset.draft ? JSON.parse(task.dataset.draft).body : null;
  const revision = revisionOf(task);
  const fitting = [local, served].filter((draft) => draft?.answers && draft.revision === revision);
  if (local && local.revision < revision) forget(`draft:${id}`);
  const draft = fitting.sort((a, b) => b.at - a.at)[0];
  if (!draft) return;
  fillTask(task, { answers: draft.answers, skip: draft.skip ?? "", flag: draft.flag ?? "", comment: draft.comment ?? "" });
  const number = task.closest("form").dataset.page;
  keep(`time:${number}`, Math.max(kept(`time:${number}`) ?? 0, draft.seconds ?? 0));
  if (isChanged(task)) tell(task, "Restored what you had not saved yet.");
}

function tell(task, words) {
  const place = task.querySelector(".told");
  place.textContent = words;
  place.hidden = !words;
}

// -- time -------------------------------------------------------------------------------------------

let lastSign = performance.now();
let worked = 0; // seconds on the page that is shown

/** A key, touch or move: the time since the last one was work, unless it was long or the tab hidden. */
function signOfLife() {
  const now = performance.now();
  const gap = now - lastSign;
  lastSign = now;
  if (!document.hidden && gap <= IDLE) worked += gap / 1000;
}

const secondsOn = (form) => (form === current ? worked : (kept(`time:${form.dataset.page}`) ?? 0));

function keepTime() {
  if (current && worked > 0) keep(`time:${current.dataset.page}`, worked);
}

function startTime(form) {
  worked = form ? (kept(`time:${form.dataset.page}`) ?? 0) : 0;
  lastSign = performance.now();
}

// -- going from page to page --------------------------------------------------------------------------

/** Show a page that is in the document. */
function show(form, { push = true, focus = true } = {}) {
  signOfLife();
  keepTime();
  current = form;
  for (const other of forms()) other.hidden = other !== form;
  hideEnd();
  startTime(form);
  const number = numberOf(form);
  document.title = `${form.querySelector(".page-title").textContent.trim()} – ${settings.study}`;
  history[push ? "pushState" : "replaceState"]({ page: number }, "", `/work/${number}`);
  keep("page", number);
  showFoot(number > 1);
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
async function goTo(number, how = {}) {
  const form = formOf(number) ?? (await fetchPage(number));
  if (form) show(form, how);
  else if (!refused) showAlert(`Page ${number} can not be fetched now. Please try again when the network is back.`);
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
function goOn() {
  const open = openForms();
  const next = open.find((form) => current && numberOf(form) > numberOf(current)) ?? open.find((form) => form !== current);
  if (next) show(next);
  else if (end) showEnd();
  else showWaiting();
}

function previous() {
  const number = current ? numberOf(current) - 1 : (kept("page") ?? 0);
  if (number >= 1) goTo(number);
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

function leavePage(title) {
  signOfLife();
  keepTime();
  const was = current;
  current = null;
  for (const form of forms()) form.hidden = true;
  showFoot(kept("page") !== null);
  document.title = `${title.textContent.trim()} – ${settings.study}`;
  if (was) history.pushState({ page: null }, "", "/work");
  scrollTo(0, 0);
  title.focus({ preventScroll: true });
}

function showEnd() {
  byId("waiting").hidden = true;
  byId("end-place").innerHTML = end.html;
  leavePage(byId("end-place").querySelector("h1"));
  sayWaiting();
  lookAgain();
}

function showWaiting() {
  byId("end-place").replaceChildren();
  byId("waiting").hidden = false;
  sayWaiting();
  leavePage(byId("waiting-title"));
  fetchMore();
}

/** Words for whoever has nothing to do because the network is away. */
function sayWaiting() {
  byId("waiting-words").textContent = fetchFailed
    ? "The server can not be reached. More items come by themselves when the network is back; please keep this page open."
    : "The next item is being fetched.";
  const place = byId("end-place").querySelector(".notice");
  if (!place) return;
  const waiting = queue().length;
  let words = place.querySelector(".still-here");
  if (!words) place.append((words = Object.assign(document.createElement("p"), { className: "still-here open" })));
  words.textContent = waiting ? `${inWords(waiting)} still on this device. Please keep this page open until all are saved.` : "";
}

let fetching = false;
let fetchAgain = false;
let fetchFailed = false;
let fetchTries = 0;
let fetchTimer = 0;
let settled = 0; // how many answers the server has spoken of

/** Ask for further pages when few that are open are left. */
async function fetchMore({ anyway = false } = {}) {
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
    if (found.session) showSession(found.session);
    // While answers are under way nobody knows whether the server has counted them; this page has.
    const counted = quiet && settled === before && !queue().length;
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

/** At the end: ask now and then whether there is more, since items come back from those who leave. */
function lookAgain() {
  clearTimeout(lookTimer);
  if (current === null) lookTimer = setTimeout(() => current === null && fetchMore({ anyway: true }), end ? 20000 : 3000);
}

function showSession({ number, of, words }) {
  const place = document.querySelector(".session");
  place.hidden = of < 2;
  place.textContent = `Session ${number} of ${of}${words ? `: ${words}` : ""}`;
}

/** "13 of 16", with what was saved here and is still on its way. */
function showProgress({ done, total }) {
  const words = byId("progress-words");
  Object.assign(words.dataset, { done, total: total ?? "" });
  const here = done + queue().filter((entry) => entry.counts).length;
  words.textContent = total === null ? `${here} done` : `${Math.min(here, total)} of ${total}`;
  words.closest(".progress").hidden = total === null && !here;
  Object.assign(byId("progress-bar"), { hidden: total === null, max: total || 1, value: total ? Math.min(here, total) : 0 });
}

function progress(more = 0) {
  const { done, total } = byId("progress-words").dataset;
  showProgress({ done: Number(done) + more, total: total === "" ? null : Number(total) });
}

// -- saving -----------------------------------------------------------------------------------------

const savedPages = kept("saved") ?? []; // for undo: the numbers of the pages saved here, the last one last
const replies = new Map(); // by key: who waits for the server's word on an answer

/** Enter: on to the next open question of the page; save when there is none. */
function enter() {
  const question = activeQuestion();
  const next = current && questionsOf(current).find((one) => one !== question && needsAnswer(one));
  if (next && !needsAnswer(question) && !wrongNow(question)) focusQuestion(next);
  else save();
}

const isSkipped = (question) => Boolean(question.closest("[data-task]").dataset.skip);
const needsAnswer = (question) => !isSkipped(question) && !isOptional(question) && !isAnswered(question);
const wrongNow = (question) => (isSkipped(question) ? "" : wrongWith(question));

/** Keep the answers of this page in the queue and go on; while practising, wait for what the server says. */
async function save() {
  const form = current;
  if (!form || form.dataset.phase === "waiting") return;
  if (form.dataset.phase === "feedback") {
    delete form.dataset.phase;
    goOn();
    return;
  }
  const wrong = questionsOf(form).filter(wrongNow);
  for (const question of questionsOf(form)) showWrong(question, wrong.includes(question) ? wrongNow(question) : "");
  if (wrong.length) {
    focusQuestion(wrong[0]);
    return;
  }
  const entries = makeEntries(form);
  if (!entries.length) {
    goOn();
    return;
  }
  savedPages.push(numberOf(form));
  keep("saved", savedPages.slice(-50));
  hideAlert();
  progress();
  if (form.dataset.practice === undefined) {
    goOn();
    send();
    return;
  }
  form.dataset.phase = "waiting";
  showPhase();
  const waiting = Promise.all(entries.map((entry) => new Promise((done) => replies.set(entry.key, done))));
  send();
  const found = (await waiting).flatMap((reply) => reply?.feedback ?? []);
  delete form.dataset.phase;
  showPhase();
  if (!form.isConnected) return;
  if (found.length) showFeedback(form, found);
  else if (form === current && !tasksOf(form).some(isOpen)) goOn();
}

/** One entry of the queue for each task whose answer is new or changed. */
function makeEntries(form) {
  signOfLife();
  const tasks = tasksOf(form);
  const seconds = Math.round((worked / tasks.length) * 10) / 10;
  let turn = 1 + Math.max(0, ...queue().map((entry) => entry.turn));
  const entries = tasks.filter((task) => isOpen(task) || isChanged(task)).map((task) => {
    const state = readTask(task);
    const answered = state.skip ? [] : questionsOf(task).filter(isAnswered);
    const labels = Object.fromEntries(answered.map((question) => [question.dataset.question, labelOf(question)]));
    const about = { task: Number(task.dataset.task), page: numberOf(form), revision: revisionOf(task) };
    const entry = { key: newKey(), turn: turn++, ...about, labels, state, seconds };
    entry.counts = isOpen(task) && task.dataset.practice === undefined;
    keep(nameInQueue(entry), entry);
    task.dataset.key = entry.key;
    task.dataset.state = state.skip ? "skipped" : "answered";
    saved.set(task.dataset.task, state);
    dropDraft(task.dataset.task);
    tell(task, "");
    return entry;
  });
  if (entries.length) {
    forget(`time:${form.dataset.page}`);
    worked = 0;
  }
  return entries;
}

/** What a practice item shows once it is answered: which labels were right, and why. */
function showFeedback(form, found) {
  form.dataset.phase = "feedback";
  showPhase();
  for (const { question: name, right, expected, words } of found) {
    const question = questionsOf(form).find((one) => one.dataset.name === name);
    const place = question?.querySelector(".feedback");
    if (!place) continue;
    const verdict = right ? "Right." : expected ? `Expected here: ${expected}.` : "Not what was expected.";
    place.textContent = [verdict, words].filter(Boolean).join(" ");
    place.className = `feedback ${right ? "right" : "not-right"}`;
    place.hidden = false;
  }
  form.querySelector(".feedback:not([hidden])")?.focus();
}

function showPhase() {
  const phase = current?.dataset.phase;
  for (const question of current ? questionsOf(current) : []) question.disabled = phase !== undefined;
  byId("save-words").textContent = phase === "waiting" ? "Checking…" : phase === "feedback" ? "Go on" : "Save and go on";
}

// -- sending ----------------------------------------------------------------------------------------

let sending = false;
let refused = ""; // why the server takes nothing from this browser any more
let tries = 0;
let sendTimer = 0;
let savedAt = null;
const tabs = "BroadcastChannel" in window ? new BroadcastChannel(PREFIX) : null;

/** Send what is in the queue, in order; one tab at a time where the browser can see to it. */
async function send() {
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
    if (status === 404 && (await isSomebodyElse())) return refuse(SOMEBODY_ELSE);
    settle(entry, status, reply);
    tabs?.postMessage({ entry, status, reply });
  }
}

/** The server's status and words; 0 where none came. */
async function post(entry) {
  const { skip, comment, flag } = entry.state;
  const { task, key, revision, labels, seconds } = entry;
  const body = JSON.stringify({ task, key, revision, labels, skip: skip || null, comment, flag, seconds });
  try {
    const options = { method: "POST", headers: { "content-type": "application/json" }, body, signal: AbortSignal.timeout(30000) };
    const reply = await fetch("/answers", options);
    const words = await readJson(reply);
    return reply.ok && !words.saved ? [0, {}] : [reply.status, words]; // a login page of some network is no receipt
  } catch {
    return [0, {}];
  }
}

const SOMEBODY_ELSE = "Another person's link was opened in this browser. Please open your own again.";

const readJson = (reply) => reply.json().catch(() => ({}));

async function isSomebodyElse() {
  try {
    const page = new DOMParser().parseFromString(await (await fetch("/work")).text(), "text/html");
    const { person } = page.body.dataset;
    return person !== undefined && person !== settings.person;
  } catch {
    return false;
  }
}

/** What the server said of an answer, here or in another tab: it leaves the queue, and the page follows. */
function settle(entry, status, reply) {
  forget(nameInQueue(entry));
  settled += 1;
  const task = taskOf(entry.task);
  const shows = task?.dataset.key === entry.key;
  if (shows) delete task.dataset.key;
  if (status === 200) {
    if (shows) task.dataset.revision = reply.revision;
    savedAt = new Date(reply.at * 1000);
    progress(entry.counts ? 1 : 0);
  } else if (status === 409) {
    takeNewer(entry, reply);
  } else if (status === 422 || status === 400) {
    giveBack(entry, reply);
  } else {
    showAlert(`${reply.message || `The server did not take an answer (${status}).`} It was not saved.`, entry.page);
  }
  replies.get(entry.key)?.(reply);
  replies.delete(entry.key);
  showStatus();
  if (current === null) {
    sayWaiting();
    if (!queue().length) fetchMore({ anyway: true });
  }
}

/** A newer answer was given elsewhere: that one stands, and is shown. */
function takeNewer(entry, reply) {
  dropDraft(entry.task);
  const shown = current && numberOf(current) === entry.page;
  if (reply.html) takeIn(reply.html, entry.page);
  if (shown) show(current, { push: false });
  progress();
  showAlert(`${reply.message || "A newer answer to this item was saved elsewhere."} The one from here was not saved.`, entry.page);
}

/** The server refused an answer: back to its page, with the words at the question. */
function giveBack(entry, reply) {
  for (const later of queue()) {
    if (later.task === entry.task) keep(nameInQueue(later), { ...later, revision: later.revision - 1 });
  }
  keep(`draft:${entry.task}`, { ...entry.state, revision: entry.revision, at: Date.now(), seconds: entry.seconds });
  progress();
  const words = reply.message || "An answer was not taken.";
  const task = taskOf(entry.task);
  if (!task) {
    showAlert(words, entry.page);
    return;
  }
  task.dataset.state = entry.revision === 0 ? "open" : task.dataset.state;
  saved.set(task.dataset.task, given.get(task.dataset.task));
  fillTask(task, entry.state);
  const form = task.closest("form");
  if (form !== current) show(form);
  showAlert(words);
  for (const [id, why] of Object.entries(reply.questions ?? {})) {
    const question = questionsOf(task).find((one) => one.dataset.question === id);
    if (question) showWrong(question, why);
  }
  const first = task.querySelector(".question.is-wrong");
  if (first) focusQuestion(first);
}

/** The link is dead: nothing is sent any more, nothing is thrown away. */
function refuse(words) {
  refused = words || "This link no longer works.";
  const waiting = queue().length;
  showAlert(waiting ? `${refused} ${inWords(waiting)} kept on this device.` : refused);
  showStatus();
}

const inWords = (count) => (count === 1 ? "1 answer is" : `${count} answers are`);

function showStatus() {
  const waiting = queue().length;
  const answers = `${waiting} ${waiting === 1 ? "answer" : "answers"} kept on this device`;
  let [kind, words] = ["", ""];
  if (refused) [kind, words] = ["bad", waiting ? `Not saved, ${answers}` : "Link no longer works"];
  else if (!navigator.onLine) [kind, words] = ["open", waiting ? `Offline, ${answers}` : "Offline"];
  else if (waiting && tries) [kind, words] = ["open", waiting > 1 ? `Not saved, trying again (${answers})` : "Not saved, trying again"];
  else if (waiting) [kind, words] = ["", "Saving…"];
  else if (savedAt) [kind, words] = ["good", `Saved ${savedAt.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })}`];
  const status = byId("status");
  status.className = `status ${kind}`;
  if (status.textContent !== words) status.textContent = words;
}

function tryNow() {
  tries = Math.min(tries, 1);
  send();
  if (fetchFailed) fetchMore({ anyway: true });
}

// -- words to the person ------------------------------------------------------------------------------

let alertAction = null;

/** A bar at the top; with the number of a page, a button that leads there. */
function showAlert(words, page = null, { label = `Show page ${page}`, action = () => goTo(page) } = {}) {
  const button = document.querySelector("[data-act=alert-action]");
  const elsewhere = page !== null && !(current && numberOf(current) === page);
  alertAction = page === null || elsewhere ? action : null;
  button.hidden = !(elsewhere || label.startsWith("Put"));
  button.textContent = label;
  byId("alert").querySelector(".alert-words").textContent = words;
  byId("alert").hidden = false;
}

function hideAlert() {
  byId("alert").hidden = true;
}

function showWrong(question, words) {
  const place = question.querySelector(".wrong");
  place.textContent = words;
  place.hidden = !words;
  question.classList.toggle("is-wrong", Boolean(words));
  for (const input of all("textarea, .figure", question)) {
    if (words) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  if (words) question.setAttribute("aria-invalid", "true");
  else question.removeAttribute("aria-invalid");
}

function showMarks(task) {
  const { skip, flag } = task.dataset;
  for (const [name, words] of [["skipped", skip && `Skipped: ${skip}`], ["flagged", flag && `Flagged: ${flag}`]]) {
    const mark = task.querySelector(`.mark.${name}`);
    mark.hidden = !words;
    mark.querySelector(".mark-words").textContent = words;
  }
  task.classList.toggle("is-skipped", Boolean(skip));
}

// -- the question that keys speak to ----------------------------------------------------------------------

function activeQuestion() {
  if (!current) return null;
  const at = document.activeElement;
  const within = at?.closest("[data-question]");
  if (within && current.contains(within)) return within;
  const task = at?.closest("[data-task]");
  const near = task && current.contains(task) ? questionsOf(task) : [];
  const here = questionsOf(current);
  return near.find(needsAnswer) ?? near[0] ?? here.find(needsAnswer) ?? here[0] ?? null;
}

const activeTask = () => activeQuestion()?.closest("[data-task]") ?? null;

function markActive() {
  const active = activeQuestion();
  for (const question of all(".question.active")) if (question !== active) question.classList.remove("active");
  active?.classList.add("active");
}

function focusQuestion(question) {
  const place = question.querySelector(".figure, textarea, input:checked") ?? question.querySelector("input");
  place.focus();
  question.scrollIntoView({ block: "nearest" });
}

function changed(task, question = null) {
  if (question) {
    showWrong(question, "");
    task.dataset.skip = "";
  }
  showMarks(task);
  tell(task, "");
  keepDraft(task);
  markActive();
}

// -- what buttons and keys do -----------------------------------------------------------------------------

/** Take back what is not saved on this page; where there is nothing, go to what was saved last. */
function undo() {
  const form = current;
  const unsaved = form ? tasksOf(form).filter(isChanged) : [];
  if (!unsaved.length) {
    while (savedPages.length && form && savedPages.at(-1) === numberOf(form)) savedPages.pop();
    if (savedPages.length) goTo(savedPages.pop());
    else if (form) showStatusOnce("Nothing to undo");
    return;
  }
  const before = unsaved.map((task) => [task, readTask(task)]);
  for (const task of unsaved) {
    fillTask(task, saved.get(task.dataset.task));
    for (const question of questionsOf(task)) showWrong(question, "");
    changed(task);
  }
  const putBack = () => {
    for (const [task, state] of before) {
      fillTask(task, state);
      changed(task);
    }
    hideAlert();
  };
  showAlert("Taken back what was not saved.", null, { label: "Put it back", action: putBack });
  form.querySelector(".page-title").focus({ preventScroll: true });
}

function showStatusOnce(words) {
  byId("status").textContent = words;
  setTimeout(showStatus, 2500);
}

/** Open a dialog; the promise gives its answer once it is closed, and focus is back where it was. */
function ask(id) {
  const dialog = byId(id);
  const before = document.activeElement;
  dialog.returnValue = "";
  dialog.querySelector("form").reset();
  for (const wrong of all(".wrong", dialog)) wrong.hidden = true;
  dialog.showModal();
  return new Promise((done) => {
    const closed = () => {
      if (before?.isConnected) before.focus({ preventScroll: true });
      done(dialog.returnValue === "yes");
    };
    dialog.addEventListener("close", closed, { once: true });
  });
}

/** The reason that stands in the dialog for skipping or flagging. */
function reasonIn(dialog) {
  const chosen = dialog.querySelector("input[type=radio]:checked")?.value ?? "";
  const words = dialog.querySelector("input[type=text]").value.trim();
  return [chosen, words].filter(Boolean).join(": ");
}

async function skip(task) {
  if (!task || !(await ask("skip"))) return;
  task.dataset.skip = reasonIn(byId("skip"));
  for (const question of questionsOf(task)) showWrong(question, "");
  changed(task);
  const next = questionsOf(current).find(needsAnswer);
  if (next) focusQuestion(next);
  else if (tasksOf(current).length === 1) save();
  else document.querySelector("[data-act=save]").focus();
}

async function flag(task) {
  if (!task) return;
  if (task.dataset.flag) task.dataset.flag = "";
  else if (await ask("flag")) task.dataset.flag = reasonIn(byId("flag"));
  else return;
  changed(task);
}

function comment(task) {
  if (!task) return;
  task.querySelector(".remark").hidden = false;
  task.querySelector(".comment").focus();
}

function act(name, button) {
  const task = button?.closest("[data-task]") ?? activeTask();
  const acts = {
    save,
    undo,
    previous,
    skip: () => skip(task),
    flag: () => flag(task),
    comment: () => comment(task),
    instructions: () => ask("instructions"),
    keys: () => ask("keys"),
    dismiss: hideAlert,
    "alert-action": () => alertAction?.(),
    cancel: () => button.closest("dialog").close(),
    unskip: () => {
      task.dataset.skip = "";
      changed(task);
      focusQuestion(questionsOf(task)[0]);
    },
  };
  acts[name]?.();
}

const LETTERS = { U: "undo", S: "skip", F: "flag", P: "previous", C: "comment", I: "instructions", "?": "keys" };

/** Give a question the answer of a key; true where the key meant something to it. */
function answerByKey(question, key) {
  const { kind } = question.dataset;
  if (kind === "text") return false;
  if (kind === "number") {
    if (!/^[0-9.,-]$/.test(key)) return false;
    const box = question.querySelector(".figure");
    box.value = key;
    box.focus();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  }
  const radios = all("input[type=radio]", question);
  const arrow = { ARROWLEFT: "←", ARROWRIGHT: "→" }[key];
  if (arrow && kind !== "preference") return false;
  let radio = radios.find((one) => one.dataset.key === (arrow ?? key));
  if (!radio && /^[1-9]$/.test(key)) {
    const places = kind === "preference" ? [radios[0], radios[2]] : radios.some((one) => /^[0-9]$/.test(one.dataset.key)) ? [] : radios;
    radio = places[Number(key) - 1];
  }
  if (!radio) return false;
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}

const writes = (element) => element.matches("textarea, input:not([type=radio]):not([type=range]):not([type=checkbox])");

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const { target } = event;
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return keyInDialog(event, dialog);
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "Enter" && !event.repeat && current?.contains(target)) take(event, enter);
    return;
  }
  if (writes(target)) {
    if (event.key === "Enter" && target.matches(".figure") && !event.repeat) take(event, enter);
    if (event.key === "Escape") take(event, () => leaveText(target));
    return;
  }
  if (event.key === "Enter") {
    if (!target.closest("button, a, summary") && !event.repeat && current) take(event, enter);
    return;
  }
  const key = event.key.toUpperCase();
  const question = activeQuestion();
  if (event.key.startsWith("Arrow") && target.matches("[type=range]")) return;
  if (question && current.dataset.phase === undefined && answerByKey(question, key)) event.preventDefault();
  else if (LETTERS[key] && !event.repeat) take(event, () => act(LETTERS[key]));
}

function take(event, action) {
  event.preventDefault();
  action();
}

/** Out of a text field, so that keys answer again; the question stays the active one. */
function leaveText(field) {
  const place = field.closest("[data-question]") ?? field.closest("[data-task]") ?? current;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}

function keyInDialog(event, dialog) {
  if (writes(event.target) || event.ctrlKey || event.metaKey) return;
  const radio = all("input[data-key]", dialog).find((one) => one.dataset.key === event.key);
  if (!radio) return;
  event.preventDefault();
  radio.checked = true;
  radio.focus();
}

function onInput(event) {
  const { target } = event;
  const task = target.closest("[data-task]");
  if (!task) return;
  const question = target.closest("[data-question]");
  if (target.matches(".slider")) readSlider(target);
  if (target.matches(".figure")) moveSlider(question);
  if (target.matches("textarea")) grow(target);
  changed(task, question);
}

function onClick(event) {
  const button = event.target.closest("[data-act]");
  if (button) {
    if (event.detail > 1 && button.dataset.act === "save") return; // the second half of a double click
    act(button.dataset.act, button);
  } else if (event.target.matches(".slider.unset")) {
    // A click on the very middle of a slider changes nothing, and yet chooses the middle.
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** A dialog that asks for a reason closes only with one. */
function onSubmit(event) {
  const { target } = event;
  if (target.matches("form.page")) event.preventDefault();
  const dialog = target.closest("#skip, #flag");
  if (!dialog || event.submitter?.value !== "yes" || reasonIn(dialog)) return;
  event.preventDefault();
  dialog.querySelector(".wrong").hidden = false;
  dialog.querySelector("input").focus();
}

function onHide() {
  signOfLife();
  keepTime();
  for (const id of [...waitingDrafts.keys()]) sendDraft(id);
}

function onVisibility() {
  if (document.hidden) return onHide();
  lastSign = performance.now();
  tryNow();
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
  for (const sign of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
    document.addEventListener(sign, signOfLife, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("pagehide", onHide);
  addEventListener("popstate", onPop);
  addEventListener("online", tryNow);
  addEventListener("offline", showStatus);
  addEventListener("storage", showStatus);
  tabs?.addEventListener("message", ({ data }) => settle(data.entry, data.status, data.reply));
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
  if (shown) end = { kind: shown.dataset.kind, html: shown.outerHTML };
  for (const form of forms()) setUp(form);
  progress();
  showStatus();
  // The server may not know yet what was answered here; an address with a number means just that page.
  const known = location.pathname !== "/work" || (first && tasksOf(first).some(isOpen));
  if (first && known) show(first, { push: false, focus: false });
  else if (first || openForms().length) goOn();
  else if (!end) showWaiting();
  else leavePage(shown.querySelector("h1"));
  lookAgain();
  offerInstructions();
  send();
}

start();
