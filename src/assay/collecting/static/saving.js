// Saving a page, and handling the server's response: practice feedback, refusals, newer answers, undo.

import { keep, kept, nameInQueue, newKey, queue, say } from "./device.js";
import { dropDraft } from "./drafts.js";
import {
  fillTask, given, holds, isAnswered, isChanged, isOpen, labelOf, needsAnswer, numberOf, questionsOf, readTask, revisionOf,
  saved, showNote, showWrong, taskOf, tasksOf, wrongNow,
} from "./form.js";
import {
  activeQuestion, changed, current, fetchMore, focusQuestion, goOn, goTo, isClosed, isCounted, isShown, progress, sayWaiting,
  session, show, showAlertAbout, showPhase, takeIn,
} from "./pages.js";
import { send, showStatusOnce } from "./sending.js";
import { endTime, secondsOn, secondsToWait, signOfLife } from "./time.js";
import { hideAlert, hidePassingAlert, showAlert } from "./words.js";

const savedPages = kept("saved") ?? []; // for undo: the numbers of the pages saved here, in order
const replies = new Map(); // by key: callbacks that wait for the server's response to an answer

/** Enter: go to the next unanswered question of the page; save if there is none. */
export function enter() {
  const question = activeQuestion();
  const next = current && questionsOf(current).find((one) => one !== question && needsAnswer(one));
  if (next && !needsAnswer(question) && !wrongNow(question)) focusQuestion(next);
  else save();
}

/** Add the answers of this page to the queue and continue; in practice, wait for the server's feedback. */
export async function save() {
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
  const seconds = secondsToWait(tasksOf(form).filter((task) => isOpen(task) && !readTask(task).skip).length);
  if (seconds > 0) {
    showAlert(seconds > 1 ? say("Please read the item again. You can save in {count} seconds.", { count: seconds }) : say("Please read the item again. You can save in 1 second."));
    return;
  }
  const entries = makeEntries(form);
  if (!entries.length) {
    goOn();
    return;
  }
  savedPages.push(numberOf(form));
  keep("saved", savedPages.slice(-50));
  hidePassingAlert();
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
  const seconds = Math.round((secondsOn(numberOf(form)) / tasks.length) * 10) / 10;
  let turn = 1 + Math.max(0, ...queue().map((entry) => entry.turn));
  const entries = tasks.filter((task) => isOpen(task) || isChanged(task)).map((task) => {
    const state = readTask(task);
    const answered = state.skip ? [] : questionsOf(task).filter(isAnswered);
    const labels = Object.fromEntries(answered.map((question) => [question.dataset.question, labelOf(question)]));
    const about = { task: Number(task.dataset.task), page: numberOf(form), revision: revisionOf(task) };
    const entry = { key: newKey(), turn: turn++, ...about, labels, state, seconds };
    entry.counts = isOpen(task) && task.dataset.practice === undefined;
    entry.session = session();
    keep(nameInQueue(entry), entry);
    task.dataset.key = entry.key;
    task.dataset.state = state.skip ? "skipped" : "answered";
    saved.set(task.dataset.task, state);
    dropDraft(task.dataset.task);
    showNote(task, "");
    return entry;
  });
  if (entries.length) endTime(numberOf(form));
  return entries;
}

/** Show the feedback on a practice item: which labels were correct, and why. */
function showFeedback(form, found) {
  form.dataset.phase = "feedback";
  showPhase();
  for (const { question: name, right, expected, words } of found) {
    const question = questionsOf(form).find((one) => one.dataset.name === name);
    const place = question?.querySelector(".feedback");
    if (!place) continue;
    const verdict = right ? say("Correct.") : expected ? say("Expected here: {expected}.", { expected }) : say("This is not the expected answer.");
    place.textContent = [verdict, words].filter(Boolean).join(" ");
    place.className = `feedback ${right ? "right" : "not-right"}`;
    place.hidden = false;
  }
  form.querySelector(".feedback:not([hidden])")?.focus();
}

/** Handle the server's response to an answer. */
export function follow(entry, status, reply) {
  const task = taskOf(entry.task);
  const shows = task?.dataset.key === entry.key;
  if (shows) delete task.dataset.key;
  if (status === 200) {
    if (shows) task.dataset.revision = reply.revision;
    progress(isCounted(entry) ? 1 : 0);
  } else if (status === 409 && reply.error === "closed") {
    dropDraft(entry.task);
    showAlert(say("{words} The change was not saved.", { words: reply.message }), { stays: true });
  } else if (status === 409) {
    takeNewer(entry, reply);
  } else if (status === 422 || status === 400) {
    giveBack(entry, reply);
  } else {
    const words = reply.message || say("The server did not accept an answer ({status}).", { status });
    showAlertAbout(entry.page, say("{words} It was not saved.", { words }), { stays: true });
  }
  replies.get(entry.key)?.(reply);
  replies.delete(entry.key);
  if (current !== null) return;
  sayWaiting();
  if (!queue().length) fetchMore({ anyway: true });
}

/** Show a newer answer that was given elsewhere. The answer from this page can be restored as unsaved. */
function takeNewer(entry, reply) {
  dropDraft(entry.task);
  const shown = isShown(entry.page);
  if (reply.html) takeIn(reply.html, entry.page);
  if (shown) show(current, { push: false });
  progress();
  const words = say("{words} Your answer from this page was not saved.", { words: reply.message || say("A newer answer to this item was saved elsewhere.") });
  const goThere = async () => {
    if (!isShown(entry.page)) await goTo(entry.page);
    return isShown(entry.page);
  };
  const putBack = async () => (await goThere()) && putInto([[taskOf(entry.task), entry.state]]);
  const offer = () => {
    const same = holds(taskOf(entry.task), entry.state);
    showAlert(words, same ? {} : { label: say("Restore my answer"), action: putBack, stays: true });
  };
  const lead = async () => (await goThere()) && offer();
  if (shown) offer();
  else showAlert(words, { label: say("Show page {number}", { number: entry.page }), action: lead, stays: true });
}

/** Fill in unsaved answers. */
function putInto(states) {
  for (const [task, state] of states) {
    fillTask(task, state);
    changed(task);
  }
  hideAlert();
}

/** Handle a refused answer: show its page, with the message at the question. */
function giveBack(entry, reply) {
  for (const later of queue()) {
    if (later.task === entry.task) keep(nameInQueue(later), { ...later, revision: later.revision - 1 });
  }
  keep(`draft:${entry.task}`, { ...entry.state, revision: entry.revision, at: Date.now(), seconds: entry.seconds });
  progress();
  const words = reply.message || say("An answer was not accepted.");
  const task = taskOf(entry.task);
  if (!task) {
    showAlertAbout(entry.page, words, { stays: true });
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

/** Undo unsaved changes on this page; without any, go to the page saved last. */
export function undo() {
  const form = current;
  const unsaved = form ? tasksOf(form).filter(isChanged) : [];
  if (!unsaved.length) {
    const passed = (number) => isClosed(number) || (form && number === numberOf(form));
    while (savedPages.length && passed(savedPages.at(-1))) savedPages.pop();
    if (savedPages.length) goTo(savedPages.pop());
    else if (form) showStatusOnce(say("Nothing to undo"));
    return;
  }
  const before = unsaved.map((task) => [task, readTask(task)]);
  for (const task of unsaved) {
    fillTask(task, saved.get(task.dataset.task));
    for (const question of questionsOf(task)) showWrong(question, "");
    changed(task);
  }
  showAlert(say("Unsaved changes were undone."), { label: say("Restore"), action: () => putInto(before) });
  form.querySelector(".page-title").focus({ preventScroll: true });
}
