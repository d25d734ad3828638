// Spans of a text: words are selected by mouse, touch or keys, and given a label.

import { say } from "./device.js";

const wordsOf = (question) => [...question.querySelectorAll(".word")];
const textOf = (question) => question.querySelector(".spans");
const labelsOf = (question) => [...question.querySelectorAll("[data-span-label]")].map((one) => one.dataset.spanLabel);
const startOf = (word) => Number(word.dataset.from);
const endOf = (word) => startOf(word) + [...word.textContent].length; // in characters, as the server counts
const spansIn = (question) => JSON.parse(question.dataset.spans || "[]");
const touch = ([start, end], [from, to]) => start < to && from < end;

const picks = new WeakMap(); // by question: the selected words, from the start to the current position

// -- display ------------------------------------------------------------------------------------------

const colour = (place) => `hsl(${Math.round(210 + place * 137.5) % 360} 80% 50% / .3)`;

/** Paint a piece of the text with stripes of its labels. */
function paint(element, places) {
  const height = 100 / places.length;
  const stripes = places.map((place, k) => `${colour(place)} ${k * height}% ${(k + 1) * height}%`);
  element.style.setProperty("background-image", places.length ? `linear-gradient(to bottom, ${stripes.join(", ")})` : "none");
  element.classList.toggle("in-span", places.length > 0);
}

/** Show the spans of an answer as JSON; "" is none yet. */
export function showSpans(question, raw) {
  question.dataset.spans = raw;
  question.querySelector("input").checked = raw === "[]";
  const [spans, labels, words] = [spansIn(question), labelsOf(question), wordsOf(question)];
  const placesOf = (range, within) => [...new Set(spans.filter((one) => within(one, range)).map(([, , label]) => labels.indexOf(label)))].sort();
  for (const [k, word] of words.entries()) {
    const range = [startOf(word), endOf(word)];
    paint(word, placesOf(range, touch));
    word.dataset.tags = spans.filter((one) => touch(one, range) && !(words[k + 1] && startOf(words[k + 1]) < one[1])).map(([, , label]) => label).join(", ");
    const gap = word.previousElementSibling;
    if (k && gap?.matches(".gap")) paint(gap, placesOf([endOf(words[k - 1]), range[0]], ([start, end], [from, to]) => start < from && to < end));
  }
  for (const [place, button] of question.querySelectorAll("[data-span-label]").entries()) button.querySelector(".swatch").style.setProperty("background-color", colour(place));
  list(question, spans, labels);
}

function list(question, spans, labels) {
  const place = question.querySelector(".marked");
  const title = question.dataset.spanText;
  place.replaceChildren(...spans.map((span, at) => row(span, wordsWithin(question, span), labels.indexOf(span[2]), title && boxFor(question, at, title))));
  place.hidden = !spans.length;
}

/** A box for the text about a span; what is written becomes part of the answer. */
function boxFor(question, at, title) {
  const box = document.createElement("textarea");
  const [, , label, text] = spansIn(question)[at];
  Object.assign(box, { value: text ?? "", rows: 1, maxLength: 2000, dir: "auto", placeholder: title });
  box.className = "span-text";
  box.setAttribute("aria-label", `${title} ${label}: ${wordsWithin(question, spansIn(question)[at])}`);
  box.addEventListener("input", () => {
    const spans = spansIn(question);
    const said = box.value.trim();
    spans[at] = [...spans[at].slice(0, 3), ...(said ? [said] : [])];
    question.dataset.spans = JSON.stringify(spans);
    const button = box.closest("li").querySelector("button");
    button.dataset.span = JSON.stringify(spans[at]);
  });
  return box;
}

function row(span, words, place, box) {
  const [made, swatch, said, button] = ["li", "span", "span", "button"].map((name) => document.createElement(name));
  swatch.className = "swatch";
  swatch.style.setProperty("background-color", colour(place));
  said.dir = "auto";
  said.textContent = `${span[2]}: ${words}`;
  button.type = "button";
  button.className = "quiet";
  button.dataset.span = JSON.stringify(span);
  button.textContent = say("Remove");
  button.setAttribute("aria-label", say("Remove {label}: {words}", { label: span[2], words }));
  made.append(swatch, said, ...(box ? [box] : []), button);
  return made;
}

/** The text from one word to another. */
function between(first, last) {
  const range = document.createRange();
  range.setStartBefore(first);
  range.setEndAfter(last);
  return range.toString();
}

function wordsWithin(question, span) {
  const inside = wordsOf(question).filter((word) => touch(span, [startOf(word), endOf(word)]));
  return inside.length ? between(inside[0], inside[inside.length - 1]) : "";
}

function announce(question, words) {
  question.querySelector(".span-news").textContent = words;
}

// -- selected words -----------------------------------------------------------------------------------

function pick(question, anchor, head) {
  picks.set(question, { anchor, head });
  const [low, high] = [Math.min(anchor, head), Math.max(anchor, head)];
  for (const [k, word] of wordsOf(question).entries()) {
    word.classList.toggle("picked", low <= k && k <= high);
    const gap = word.previousElementSibling;
    if (gap?.matches(".gap")) gap.classList.toggle("picked", low < k && k <= high);
  }
}

/** The first and the last selected word; null if there is none. */
function picked(question) {
  const found = wordsOf(question).filter((word) => word.classList.contains("picked"));
  return found.length ? [found[0], found[found.length - 1]] : null;
}

function unpick(question) {
  for (const one of question.querySelectorAll(".picked")) one.classList.remove("picked");
  const selection = getSelection();
  if (selection.anchorNode && textOf(question).contains(selection.anchorNode)) selection.removeAllRanges();
}

/** Select all words that the browser's selection covers at least in part. */
function onSelection() {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const text = selection.anchorNode.parentElement?.closest(".spans");
  if (!text) return;
  const range = selection.getRangeAt(0);
  const question = text.closest("[data-question]");
  const found = [];
  const own = document.createRange();
  for (const [k, word] of wordsOf(question).entries()) {
    own.selectNodeContents(word.firstChild);
    if (range.compareBoundaryPoints(Range.START_TO_END, own) > 0 && range.compareBoundaryPoints(Range.END_TO_START, own) < 0) found.push(k);
  }
  if (found.length) pick(question, found[0], found[found.length - 1]);
}

export const listenToSelections = () => document.addEventListener("selectionchange", onSelection);

/** The word at the same position in the next or previous line. */
function onNextLine(words, from, step) {
  const here = words[from].getBoundingClientRect();
  let best = from;
  let nearest = Infinity;
  for (let k = from + step; words[k]; k += step) {
    const there = words[k].getBoundingClientRect();
    const lines = Math.abs(there.top - here.top) / here.height;
    if (lines > 2.5) break;
    const away = Math.abs(there.left + there.width / 2 - here.left - here.width / 2);
    if (lines > 0.5 && away < nearest) [best, nearest] = [k, away];
  }
  return best;
}

/** Move between words, extend the selection, remove spans; true if the key has such a function. */
export function spanKey(event, question) {
  if (question?.dataset.kind !== "spans") return false;
  const words = wordsOf(question);
  if (event.key === "Backspace" || event.key === "Delete") return removePicked(question);
  const upDown = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const right = getComputedStyle(textOf(question)).direction === "rtl" ? -1 : 1;
  const step = { ArrowLeft: -right, ArrowRight: right }[event.key];
  if (!words.length || (step === undefined && (upDown === undefined || event.target !== textOf(question)))) return false;
  const at = picks.get(question);
  let head = at ? at.head : step === -1 ? words.length - 1 : 0;
  if (at) head = upDown ? onNextLine(words, head, upDown) : Math.max(0, Math.min(words.length - 1, head + step));
  textOf(question).focus({ preventScroll: true });
  pick(question, event.shiftKey && picked(question) ? at.anchor : head, head);
  words[head].scrollIntoView({ block: "nearest" });
  announce(question, between(...picked(question)));
  return true;
}

// -- labels --------------------------------------------------------------------------------------------

function change(question, spans) {
  const labels = labelsOf(question);
  spans.sort((a, b) => a[0] - b[0] || a[1] - b[1] || labels.indexOf(a[2]) - labels.indexOf(b[2]));
  showSpans(question, spans.length ? JSON.stringify(spans) : "");
  textOf(question).dispatchEvent(new Event("input", { bubbles: true }));
}

/** Label the selected words, or remove exactly this span; false if no word is selected. */
function giveLabel(question, label) {
  const ends = picked(question);
  if (!ends) return false;
  const span = [startOf(ends[0]), endOf(ends[1]), label];
  const spans = spansIn(question);
  const joined = spans.filter((one) => one[2] === label && touch(one, span));
  const rest = spans.filter((one) => !joined.includes(one));
  const taken = joined.some((one) => one[0] === span[0] && one[1] === span[1]);
  const words = between(...ends);
  const about = joined.map((one) => one[3]).filter(Boolean).join("\n");
  const whole = [Math.min(span[0], ...joined.map((one) => one[0])), Math.max(span[1], ...joined.map((one) => one[1])), label, ...(about ? [about] : [])];
  unpick(question);
  change(question, taken ? rest : [...rest, whole]);
  announce(question, taken ? say("Removed: {words}", { words }) : `${label}: ${words}`);
  return true;
}

function removePicked(question) {
  const ends = picked(question);
  const spans = spansIn(question);
  const rest = ends ? spans.filter((one) => !touch(one, [startOf(ends[0]), endOf(ends[1])])) : spans;
  if (rest.length === spans.length) return false;
  change(question, rest);
  announce(question, say("Removed: {words}", { words: between(...ends) }));
  return true;
}

/** "Nothing to mark" removes all spans. */
export function markNothing(box) {
  showSpans(box.closest("[data-question]"), box.checked ? "[]" : "");
}

/** Handle a click on a word, a label or a remove button; return a message if it had no effect. */
export function clickSpans(target, extend) {
  const question = target.closest("[data-kind=spans]");
  const word = target.closest(".word");
  const button = target.closest("[data-span-label], [data-span]");
  if (question && word && getSelection().isCollapsed) {
    const place = wordsOf(question).indexOf(word);
    pick(question, extend ? (picks.get(question)?.anchor ?? place) : place, place);
  } else if (button?.dataset.span) {
    change(question, spansIn(question).filter((one) => JSON.stringify(one) !== button.dataset.span));
    textOf(question).focus({ preventScroll: true });
  } else if (button && !giveLabel(question, button.dataset.spanLabel)) {
    return say("Select words of the text first.");
  }
  return "";
}
