// Unsaved changes: stored on the device at once, and on the server when the typing pauses.

import { forget, keep, kept, say } from "./device.js";
import { fillTask, isChanged, numberOf, readTask, revisionOf, showNote } from "./form.js";
import { readJson, refuse, refused } from "./sending.js";
import { countFrom, secondsOn } from "./time.js";

const DRAFT_AFTER = 800; // ms without typing until a draft goes to the server
const draftTimers = new Map();
const waitingDrafts = new Map(); // by task: the draft to send

/** Store the content of a task at once, and send it when the typing pauses. */
export function keepDraft(task) {
  const id = task.dataset.task;
  const body = { ...readTask(task), revision: revisionOf(task), at: Date.now(), seconds: secondsOn(numberOf(task.closest("form"))) };
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
  options.keepalive = options.body.length < 20000; // browsers send at most 64 KiB after a page is closed
  fetch(`/drafts/${id}`, options).then(heard).catch(() => {}); // it is stored here, and the next draft is sent anyway
}

async function heard(reply) {
  if (reply.status === 401 || reply.status === 403) refuse((await readJson(reply)).message);
}

/** Send all waiting drafts, before the page is closed. */
export function sendDrafts() {
  for (const id of [...waitingDrafts.keys()]) sendDraft(id);
}

export function dropDraft(id) {
  clearTimeout(draftTimers.get(id));
  waitingDrafts.delete(id);
  forget(`draft:${id}`);
}

export function restoreDraft(task) {
  const id = task.dataset.task;
  const local = kept(`draft:${id}`);
  const served = task.dataset.draft ? JSON.parse(task.dataset.draft).body : null;
  const revision = revisionOf(task);
  const fitting = [local, served].filter((draft) => draft?.answers && draft.revision === revision);
  if (local && local.revision < revision) forget(`draft:${id}`);
  const draft = fitting.sort((a, b) => b.at - a.at)[0];
  if (!draft) return;
  fillTask(task, { answers: draft.answers, skip: draft.skip ?? "", flag: draft.flag ?? "", comment: draft.comment ?? "" });
  countFrom(numberOf(task.closest("form")), draft.seconds ?? 0);
  if (isChanged(task)) showNote(task, say("Your unsaved changes were restored."));
}
