// Messages to the person: the alert at the top, and dialogs.

import { say } from "./device.js";
import { all, byId } from "./form.js";

export const inWords = (count) => (count === 1 ? say("1 answer is") : say("{count} answers are", { count }));

let alertAction = null;
let alertStays = false;

/** Show an alert at the top, with a button if there is an action. An important alert `stays` until it is closed. */
export function showAlert(words, { label = "", action = null, stays = false } = {}) {
  const button = document.querySelector("[data-act=alert-action]");
  alertAction = action;
  alertStays = stays;
  button.hidden = !action;
  button.textContent = label;
  byId("alert").querySelector(".alert-words").textContent = words;
  byId("alert").hidden = false;
}

export const actOnAlert = () => alertAction?.();

export function hideAlert() {
  byId("alert").hidden = true;
  alertStays = false;
}

/** Hide an alert about the last step when the person continues. */
export function hidePassingAlert() {
  if (!alertStays) hideAlert();
}

/** Open a dialog; the promise resolves to its answer when it is closed and the focus is restored. */
export function ask(id) {
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

/** The reason entered in the dialog for skipping or flagging. */
export function reasonIn(dialog) {
  const chosen = dialog.querySelector("input[type=radio]:checked")?.value ?? "";
  const words = dialog.querySelector("input[type=text]").value.trim();
  return [chosen, words].filter(Boolean).join(": ");
}
