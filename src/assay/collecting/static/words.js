// Words to the person: the bar at the top, and the windows that ask for something.

import { say } from "./device.js";
import { all, byId } from "./form.js";

export const inWords = (count) => (count === 1 ? say("1 answer is") : say("{count} answers are", { count }));

let alertAction = null;
let alertStays = false;

/** A bar at the top, with a button where there is something to do. What is lost unseen `stays` until it is closed. */
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

/** The person goes on: what was said of the last step is over. */
export function hidePassingAlert() {
  if (!alertStays) hideAlert();
}

/** Open a dialog; the promise gives its answer once it is closed, and focus is back where it was. */
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

/** The reason that stands in the dialog for skipping or flagging. */
export function reasonIn(dialog) {
  const chosen = dialog.querySelector("input[type=radio]:checked")?.value ?? "";
  const words = dialog.querySelector("input[type=text]").value.trim();
  return [chosen, words].filter(Boolean).join(": ");
}
