// Pages, tasks and questions as they stand in the document: what they say, and what is said at them.

import { queue, say } from "./device.js";
import { showSpans } from "./spans.js";

export const byId = (id) => document.getElementById(id);
export const all = (selector, where = document) => [...where.querySelectorAll(selector)];

export const forms = () => all("form.page").sort((a, b) => numberOf(a) - numberOf(b));
export const numberOf = (form) => Number(form.dataset.page);
export const formOf = (number) => document.querySelector(`form.page[data-page="${number}"]`);
export const tasksOf = (form) => all("[data-task]", form);
export const taskOf = (id) => document.querySelector(`[data-task="${id}"]`);
export const questionsOf = (where) => all("[data-question]", where);
export const isOpen = (task) => task.dataset.state === "open" || task.dataset.state === "reopened";
export const openForms = () => forms().filter((form) => tasksOf(form).some(isOpen));

export const saved = new Map(); // by task: what was saved last, here or on the server
export const given = new Map(); // by task: what the server had when it made the form

/** What stands in a question, as text: a radio's value, the number as typed, the words. "" is no answer. */
function rawOf(question) {
  if (question.dataset.kind === "number") return question.querySelector(".figure").value.trim();
  if (question.dataset.kind === "text") return question.querySelector("textarea").value;
  if (question.dataset.kind === "several") {
    const chosen = all("input:checked", question);
    return chosen.length ? `[${chosen.map((box) => box.value).filter(Boolean).join(",")}]` : "";
  }
  if (question.dataset.kind === "spans") return question.dataset.spans ?? "";
  if (question.dataset.kind === "ranking") return question.dataset.ranked ? `[${question.dataset.ranked}]` : "";
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
  } else if (kind === "several") {
    const chosen = raw ? JSON.parse(raw) : null;
    for (const box of all("input", question)) box.checked = chosen !== null && (box.value ? chosen.includes(JSON.parse(box.value)) : !chosen.length);
  } else if (kind === "spans") {
    showSpans(question, raw);
  } else if (kind === "ranking") {
    showRanks(question, raw ? JSON.parse(raw).map((one) => JSON.stringify(one)) : []);
  } else {
    for (const radio of all("input", question)) radio.checked = radio.value === raw;
  }
}

export const isAnswered = (question) => (question.dataset.kind === "ranking" ? isRanked(question) : rawOf(question).trim() !== "");
const isRanked = (question) => all("input", question).every((box) => box.checked);
const isOptional = (question) => question.dataset.optional !== undefined;

/** The label that is sent. */
export function labelOf(question) {
  const raw = rawOf(question);
  if (question.dataset.kind === "number") return asNumber(raw);
  return question.dataset.kind === "text" ? raw : JSON.parse(raw);
}

const asNumber = (raw) => (/^[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?$/i.test(raw) ? Number(raw.replace(",", ".")) : NaN);

const MISSING = { spans: say("Mark what is asked for, or choose “Nothing to mark”."), ranking: say("Rank all of them, the best first."), several: say("Choose all that apply, or none of these."), text: say("Write an answer, or skip the item."), number: say("Give a number, or skip the item.") };

/** What is wrong with an answer, in words; "" where nothing is. */
function wrongWith(question) {
  const { kind, low, high, whole, allowed } = question.dataset;
  const raw = rawOf(question);
  if (raw.trim() === "") return isOptional(question) ? "" : (MISSING[kind] ?? say("Choose an answer, or skip the item."));
  if (kind === "ranking") return isRanked(question) ? "" : say("Rank all of them, the best first.");
  if (kind !== "number") return "";
  if (/^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(raw)) return say("Write a thousand as 1000, one and a half as 1.5.");
  const value = asNumber(raw);
  const fits = Number.isFinite(value) && !(value < Number(low ?? -Infinity)) && !(value > Number(high ?? Infinity));
  return fits && (whole === undefined || Number.isInteger(value)) ? "" : say("The answer must be {allowed}.", { allowed });
}

/** All that a person can leave at a task. */
export function readTask(task) {
  const answers = Object.fromEntries(questionsOf(task).map((question) => [question.dataset.question, rawOf(question)]));
  return { answers, skip: task.dataset.skip, flag: task.dataset.flag, comment: task.querySelector(".comment").value };
}

export function fillTask(task, state) {
  for (const question of questionsOf(task)) setRaw(question, state.answers[question.dataset.question] ?? "");
  task.dataset.skip = state.skip;
  task.dataset.flag = state.flag;
  task.querySelector(".comment").value = state.comment;
  task.querySelector(".remark").hidden = !state.comment;
  showMarks(task);
}

/** Whether a task holds just what stands in a state. */
export const holds = (task, state) => JSON.stringify(readTask(task)) === JSON.stringify(state);
export const isChanged = (task) => !holds(task, saved.get(task.dataset.task));

/** What the server says was given, in the shape of readTask. */
export function givenIn(task) {
  const asRaw = ({ kind, given: label }) => (label === undefined ? "" : kind === "text" ? JSON.parse(label) : label);
  const answers = Object.fromEntries(questionsOf(task).map(({ dataset }) => [dataset.question, asRaw(dataset)]));
  return { answers, skip: task.dataset.skip, flag: task.dataset.flag, comment: task.dataset.comment };
}

/** The revision that the next answer to a task follows: that of an answer still waiting, or the server's. */
export function revisionOf(task) {
  const waiting = queue().find((entry) => entry.key === task.dataset.key);
  return waiting ? waiting.revision + 1 : Number(task.dataset.revision);
}

const isSkipped = (question) => Boolean(question.closest("[data-task]").dataset.skip);
export const needsAnswer = (question) => !isSkipped(question) && !isOptional(question) && !isAnswered(question);
export const wrongNow = (question) => (isSkipped(question) ? "" : wrongWith(question));

// -- numbers and long texts -------------------------------------------------------------------------

/** The step of a slider: about a five hundredth of its range, as a power of ten. */
export function fineness(slider) {
  const exponent = Math.floor(Math.log10((Number(slider.max) - Number(slider.min)) / 500));
  return exponent < 0 ? (10 ** exponent).toFixed(-exponent) : "1";
}

/** Put the slider where the box says; with nothing in the box it shows that nothing is chosen. */
export function moveSlider(question) {
  const slider = question.querySelector(".slider");
  if (!slider) return;
  const value = asNumber(rawOf(question));
  slider.classList.toggle("unset", Number.isNaN(value));
  slider.setAttribute("aria-valuetext", Number.isNaN(value) ? say("nothing chosen yet") : String(value));
  slider.value = Number.isNaN(value) ? (Number(slider.min) + Number(slider.max)) / 2 : value;
}

export function readSlider(slider) {
  const question = slider.closest("[data-question]");
  question.querySelector(".figure").value = slider.value;
  slider.classList.remove("unset");
  slider.setAttribute("aria-valuetext", slider.value);
}

const rankedIn = (question) => (question.dataset.ranked ? question.dataset.ranked.split(",") : []);

/** The places of a ranking: each text that has one is ticked, and says which. */
function showRanks(question, ranked) {
  question.dataset.ranked = ranked.join(",");
  for (const box of all("input", question)) {
    const place = ranked.indexOf(box.value) + 1;
    box.checked = place > 0;
    box.closest("label").querySelector(".rank").textContent = place ? say("place {number}", { number: place }) : "";
  }
}

/** A text was chosen: it has the next place, and the last one left the last; or it was taken out. */
export function rank(box) {
  const question = box.closest("[data-question]");
  const values = all("input", question).map((one) => one.value);
  const ranked = rankedIn(question).filter((one) => one !== box.value);
  if (box.checked) ranked.push(box.value);
  const left = values.filter((one) => !ranked.includes(one));
  showRanks(question, box.checked && left.length === 1 ? [...ranked, ...left] : ranked);
}

/** A label that applies takes back none of these, and none of these takes back all others. */
export function keepNoneAlone(box) {
  if (!box.checked) return;
  for (const other of all("input", box.closest("[data-question]"))) if (!other.value !== !box.value) other.checked = false;
}

export function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.setProperty("height", "auto");
  area.style.setProperty("height", `${area.scrollHeight + 2}px`);
}

// -- words at tasks and questions ---------------------------------------------------------------------

export function tell(task, words) {
  const place = task.querySelector(".told");
  place.textContent = words;
  place.hidden = !words;
}

export function showWrong(question, words) {
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

/** A reason as it is offered in the language of the page; what is kept is alike in all of them. */
function readReason(skip) {
  const offered = all("#skip input[type=radio]").find(({ value }) => skip === value || skip.startsWith(`${value}: `));
  return offered ? offered.closest("label").querySelector(".words").textContent + skip.slice(offered.value.length) : skip;
}

export function showMarks(task) {
  const { skip, flag } = task.dataset;
  for (const [name, words] of [["skipped", skip && say("Skipped: {reason}", { reason: readReason(skip) })], ["flagged", flag && say("Flagged: {reason}", { reason: flag })]]) {
    const mark = task.querySelector(`.mark.${name}`);
    mark.hidden = !words;
    mark.querySelector(".mark-words").textContent = words;
  }
  task.classList.toggle("is-skipped", Boolean(skip));
}
