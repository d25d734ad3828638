// Actions of keys, buttons and fields.

import { settings } from "./device.js";
import { all, byId, grow, keepNoneAlone, moveSlider, needsAnswer, questionsOf, rank, readSlider, showWrong, tasksOf } from "./form.js";
import { isPlayersKey, playByKey } from "./media.js";
import { activeQuestion, activeTask, changed, current, focusQuestion, previous } from "./pages.js";
import { closeMessage } from "./messages.js";
import { enter, save, undo } from "./saving.js";
import { refused } from "./sending.js";
import { clickSpans, markNothing, spanKey } from "./spans.js";
import { actOnAlert, ask, hideAlert, reasonIn } from "./words.js";

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
    "close-message": closeMessage,
    "alert-action": actOnAlert,
    fold: () => button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true"),
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

/** The key on a Latin keyboard: an Arabic keyboard has other letters and digits in the same positions. */
const keyInLatin = ({ key, code }) => (key > "~" && code.match(/^(?:Key|Digit)(.)$/)?.[1]) || key.toUpperCase();

/** Answer a question by key; true if the key has a function for it. */
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
  if (kind === "spans") {
    const choice = all("[data-key]", question).find((one) => one.dataset.key === key);
    choice?.click();
    return Boolean(choice);
  }
  if (kind === "several" || kind === "ranking") {
    const box = all("input", question).find((one) => one.dataset.key === key);
    box?.focus();
    box?.click();
    if (box && kind === "ranking" && !needsAnswer(question)) goToNext(question);
    return Boolean(box);
  }
  const radios = all("input[type=radio]", question);
  const arrow = { ARROWLEFT: "←", ARROWRIGHT: "→" }[key];
  if (arrow && kind !== "preference") return false;
  let radio = radios.find((one) => one.dataset.key === (arrow ?? key));
  if (!radio && /^[1-9]$/.test(key)) {
    const places = kind === "preference" ? [radios[0], radios[radios.length - 1]] : radios.some((one) => /^[0-9]$/.test(one.dataset.key)) ? [] : radios;
    radio = places[Number(key) - 1];
  }
  if (!radio) return false;
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("input", { bubbles: true }));
  goToNext(question);
  return true;
}

let reached = null; // the question that was focused after the last answer by key

/** After an answer by key, keys apply to the next question that needs an answer, if there is one. */
function goToNext(question) {
  const here = questionsOf(current);
  const next = here.slice(here.indexOf(question) + 1).find(needsAnswer);
  if (!next) return;
  focusQuestion(next);
  reached = next;
}

/** Enter: go to the next question, or save; after an answer by key the next question is already active. */
function onEnter() {
  const there = reached !== null && reached === activeQuestion() && needsAnswer(reached);
  reached = null;
  if (!there) enter();
}

const writes = (element) => element.matches("textarea, input:not([type=radio]):not([type=range]):not([type=checkbox])");

export function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const { target } = event;
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return keyInDialog(event, dialog);
  if (refused) {
    const looks = LETTERS[keyInLatin(event)];
    if (["previous", "instructions", "keys"].includes(looks)) take(event, () => act(looks)); // nothing can be answered
    return;
  }
  if (event.ctrlKey || event.metaKey) {
    if (event.key === "Enter" && !event.repeat && current?.contains(target)) take(event, onEnter);
    return;
  }
  if (writes(target)) {
    if (event.key === "Enter" && target.matches(".figure") && !event.repeat) take(event, onEnter);
    if (event.key === "Escape") take(event, () => leaveText(target));
    return;
  }
  if (isPlayersKey(target, event.key)) return;
  if (event.key === "Enter") {
    if (!target.closest("button, a, summary") && !event.repeat && current) take(event, onEnter);
    return;
  }
  const [key, plain] = [event.key.toUpperCase(), keyInLatin(event)];
  const question = activeQuestion();
  if (event.key.startsWith("Arrow") && target.matches("[type=range], .markup .table")) return; // it moves or scrolls
  const asks = question && current.dataset.phase === undefined;
  if (asks && spanKey(event, question)) {
    event.preventDefault();
    return;
  }
  if (event.repeat) {
    // A key that is held down answers one question only.
    if (target.matches("[type=radio]")) event.preventDefault();
    return;
  }
  if (asks && (answerByKey(question, key) || (plain !== key && answerByKey(question, plain)))) event.preventDefault();
  else if (["K", "J", "L"].includes(plain) && playByKey(current, plain)) event.preventDefault();
  else if (LETTERS[plain]) take(event, () => act(LETTERS[plain]));
}

function take(event, action) {
  event.preventDefault();
  action();
}

/** Leave a text field, so that keys answer again; the question stays active. */
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

export function onInput(event) {
  const { target } = event;
  const task = target.closest("[data-task]");
  if (!task) return;
  const question = target.closest("[data-question]");
  if (target.matches(".slider")) readSlider(target);
  if (target.matches("[type=checkbox]")) ({ ranking: rank, spans: markNothing }[question.dataset.kind] ?? keepNoneAlone)(target);
  if (target.matches(".figure")) moveSlider(question);
  if (target.matches("textarea")) grow(target);
  changed(task, question);
}

export function onClick(event) {
  const button = event.target.closest("[data-act]");
  if (button) {
    if (event.detail > 1 && button.dataset.act === "save") return; // the second half of a double click
    act(button.dataset.act, button);
  } else if (event.target.matches(".slider.unset")) {
    // A click on the exact middle of a slider causes no change event, but it chooses the middle.
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (event.target.closest("[data-kind=spans]")) {
    const wrong = clickSpans(event.target, event.shiftKey);
    if (wrong) showWrong(event.target.closest("[data-question]"), wrong);
  }
}

/** A dialog that asks for a reason closes only with one. */
export function onSubmit(event) {
  const { target } = event;
  if (target.matches("form.page")) event.preventDefault();
  const dialog = target.closest("#skip, #flag");
  if (!dialog || event.submitter?.value !== "yes" || reasonIn(dialog)) return;
  event.preventDefault();
  dialog.querySelector(".wrong").hidden = false;
  dialog.querySelector("input").focus();
}
