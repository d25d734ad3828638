// Messages of the study lead, one at a time, until the person closes each.

import { keep, kept, say } from "./device.js";
import { byId } from "./form.js";

let list = JSON.parse(byId("message").dataset.messages);

const unread = () => list.filter((one) => one.id > (kept("message") ?? 0));

/** Show the first message that was not closed yet; `found` are the messages as the server has them now. */
export function showMessage(found = list) {
  list = found;
  const [first] = unread();
  const place = byId("message");
  if (place.hidden !== !first) place.hidden = !first;
  if (!first || place.dataset.shown === String(first.id)) return;
  place.dataset.shown = first.id;
  place.querySelector(".message-about").textContent = first.about
    ? say("Answer to your comment “{comment}”:", { comment: first.about })
    : say("Message from the study lead:");
  place.querySelector(".message-words").textContent = first.words;
}

/** Close the message, and show the next one. */
export function closeMessage() {
  const [first] = unread();
  if (first) keep("message", first.id);
  showMessage();
}
