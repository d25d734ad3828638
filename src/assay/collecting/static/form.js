// Pages, tasks and questions in the document: their content, and messages next to them.

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

export const saved = new Map(); // by task: the state saved last, here or on the server
export const given = new Map(); // by task: the server's state when it made the form

/** The content of a question as text: a radio's value, the number as typed, the text. "" is no answer. */
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

/** The label to send. */
export function labelOf(question) {
  const raw = rawOf(question);
  if (question.dataset.kind === "number") return asNumber(raw);
  return question.dataset.kind === "text" ? raw : JSON.parse(raw);
}

const asNumber = (raw) => (/^[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?$/i.test(raw) ? Number(raw.replace(",", ".")) : NaN);

const MISSING = { spans: say("Mark the requested spans, or choose “Nothing to mark”."), ranking: say("Rank all of them, best first."), several: say("Choose all that apply, or none of these."), text: say("Write an answer, or skip the item."), number: say("Give a number, or skip the item.") };

/** A message about an invalid answer; "" if it is valid. */
function wrongWith(question) {
  const { kind, low, high, whole, allowed } = question.dataset;
  const raw = rawOf(question);
  if (raw.trim() === "") return isOptional(question) ? "" : (MISSING[kind] ?? say("Choose an answer, or skip the item."));
  if (kind === "ranking") return isRanked(question) ? "" : say("Rank all of them, best first.");
  if (kind !== "number") return "";
  if (/^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(raw)) return say("Write one thousand as 1000, and one and a half as 1.5.");
  const value = asNumber(raw);
  const fits = Number.isFinite(value) && !(value < Number(low ?? -Infinity)) && !(value > Number(high ?? Infinity));
  return fits && (whole === undefined || Number.isInteger(value)) ? "" : say("The answer must be {allowed}.", { allowed });
}

/** Everything that a person can enter for a task. */
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

/** Whether the content of a task equals a state. */
export const holds = (task, state) => JSON.stringify(readTask(task)) === JSON.stringify(state);
export const isChanged = (task) => !holds(task, saved.get(task.dataset.task));

/** The answers that the server sent, in the format of readTask. */
export function givenIn(task) {
  const asRaw = ({ kind, given: label }) => (label === undefined ? "" : kind === "text" ? JSON.parse(label) : label);
  const answers = Object.fromEntries(questionsOf(task).map(({ dataset }) => [dataset.question, asRaw(dataset)]));
  return { answers, skip: task.dataset.skip, flag: task.dataset.flag, comment: task.dataset.comment };
}

/** The revision before the next answer to a task: that of an unsent answer, or the server's. */
export function revisionOf(task) {
  const waiting = queue().find((entry) => entry.key === task.dataset.key);
  return waiting ? waiting.revision + 1 : Number(task.dataset.revision);
}

const isSkipped = (question) => Boolean(question.closest("[data-task]").dataset.skip);
export const needsAnswer = (question) => !isSkipped(question) && !isOptional(question) && !isAnswered(question);
export const wrongNow = (question) => (isSkipped(question) ? "" : wrongWith(question));

// -- numbers and long texts -------------------------------------------------------------------------

/** The step of a slider: about 1/500 of its range, as a power of ten. */
export function fineness(slider) {
  const exponent = Math.floor(Math.log10((Number(slider.max) - Number(slider.min)) / 500));
  return exponent < 0 ? (10 ** exponent).toFixed(-exponent) : "1";
}

/** Move the slider to the number in the box; an empty box shows that nothing is chosen. */
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

/** Show the ranks of a ranking: each ranked text is ticked and shows its rank. */
function showRanks(question, ranked) {
  question.dataset.ranked = ranked.join(",");
  for (const box of all("input", question)) {
    const place = ranked.indexOf(box.value) + 1;
    box.checked = place > 0;
    const words = place ? say("rank {number}", { number: place }) : "";
    for (const badge of all(".rank, .rank-badge", question)) if (badge.closest("label").control === box) badge.textContent = words;
  }
}

/** Give a chosen text the next rank (the last remaining one gets the last rank), or remove its rank. */
export function rank(box) {
  const question = box.closest("[data-question]");
  const values = all("input", question).map((one) => one.value);
  const ranked = rankedIn(question).filter((one) => one !== box.value);
  if (box.checked) ranked.push(box.value);
  const left = values.filter((one) => !ranked.includes(one));
  showRanks(question, box.checked && left.length === 1 ? [...ranked, ...left] : ranked);
}

/** Choosing a label clears "None of these", and "None of these" clears all labels. */
export function keepNoneAlone(box) {
  if (!box.checked) return;
  for (const other of all("input", box.closest("[data-question]"))) if (!other.value !== !box.value) other.checked = false;
}

export function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.setProperty("height", "auto");
  area.style.setProperty("height", `${area.scrollHeight + 2}px`);
}

// -- messages at tasks and questions ------------------------------------------------------------------

export function showNote(task, words) {
  const place = task.querySelector(".task-note");
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

/** A reason in the language of the page; the stored reason is the same in all languages. */
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
