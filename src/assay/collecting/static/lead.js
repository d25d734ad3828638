// The dashboard updates itself without disturbing reading or typing.

const EVERY = 5000; // milliseconds between updates
const SHOWN_FOR = 6000; // milliseconds for which a message of success is shown
const live = document.getElementById("live");
const connection = document.getElementById("connection");
let timer = null;
let updating = false;
let again = false; // something changed during an update
let ended = false;

// -- updating -------------------------------------------------------------------------------------

/** Fetch the current state and show it. */
async function update() {
  clearTimeout(timer);
  again = updating;
  if (updating || ended) return;
  updating = true;
  const [status, html] = await fetched();
  updating = false;
  ended = status === 401 || status === 403;
  if (!document.hidden && !ended) timer = setTimeout(update, again ? 0 : EVERY);
  if (status === 200) {
    renew(html);
    connect("live", "Live");
  } else if (ended) {
    connect("lost", "This link no longer works; open the study lead's link again");
  } else {
    const why = status === 503 ? wordsOf(html) : status ? "The server cannot answer" : "Cannot reach the server";
    connect("lost", `${why || "The server cannot answer"}; trying again`);
  }
}

/** Status and text of the live part; status 0 without a response. */
async function fetched() {
  try {
    const answer = await fetch(`/lead/live${location.search}`, { cache: "no-store" });
    return [answer.status, await answer.text()];
  } catch {
    return [0, ""];
  }
}

function connect(state, words) {
  connection.classList.toggle("is-live", state === "live");
  connection.classList.toggle("is-lost", state === "lost");
  const place = document.getElementById("connection-words");
  if (place.textContent !== words) place.textContent = words; // announced only when it changes
}

function renew(html) {
  const fresh = new DOMParser().parseFromString(`<div id="live">${html}</div>`, "text/html").getElementById("live");
  become(live, fresh);
  completeLinks();
  showLocalTimes();
}

/** Change an element into another, keeping its own nodes: focus, open details and typed text stay. */
function become(old, fresh) {
  // By name: `form.attributes` is the field of that name, if there is one.
  for (const name of old.getAttributeNames()) {
    if (!fresh.hasAttribute(name) && !isOwn(old, name)) old.removeAttribute(name);
  }
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name);
    if (old.getAttribute(name) !== value && !isOwn(old, name)) old.setAttribute(name, value);
  }
  const wantedKeys = new Set([...fresh.children].map((child) => child.dataset.key));
  const keyed = new Map();
  for (const child of [...old.children]) {
    const key = child.dataset.key;
    if (key === undefined) continue;
    if (wantedKeys.has(key)) keyed.set(key, child);
    else child.remove(); // first, so that later ones stay in place and keep the focus
  }
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = wanted.dataset?.key;
    let found = key === undefined ? at : keyed.get(key);
    if (key === undefined) while (found && found.dataset?.key !== undefined && !alike(found, wanted)) found = found.nextSibling;
    if (found && alike(found, wanted)) {
      if (key !== undefined) at = withoutStrays(at, found);
      if (found !== at) old.insertBefore(found, at);
      if (found.nodeType === Node.ELEMENT_NODE) become(found, wanted);
      else if (found.data !== wanted.data) found.data = wanted.data;
      at = found.nextSibling;
    } else {
      old.insertBefore(document.importNode(wanted, true), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Remove nodes without a key before a node, instead of moving the node; return the node at that position. */
function withoutStrays(at, found) {
  const strays = [];
  let one = at;
  for (; one && one !== found && one.dataset?.key === undefined; one = one.nextSibling) strays.push(one);
  if (one !== found) return at;
  for (const stray of strays) stray.remove();
  return found;
}

const alike = (one, other) => one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;

/** Attributes that the user or this script sets, and not the server. */
function isOwn(element, name) {
  if (element.localName === "details") return name === "open";
  if (element.localName === "button") return name === "disabled" || name === "hidden";
  return false;
}

// -- links ----------------------------------------------------------------------------------------

/** Complete the links with this page's address, if the server does not know its own. */
function completeLinks() {
  for (const field of live.querySelectorAll("input[data-link]")) {
    // The placeholders in the address for a platform must not be encoded.
    const whole = /^https?:/.test(field.dataset.link) ? field.dataset.link : new URL(field.dataset.link, location.href).href;
    if (field.value !== whole && field !== document.activeElement) field.value = whole;
  }
  for (const button of live.querySelectorAll("[data-copy]")) button.hidden = false;
}

async function copy(button) {
  const field = button.closest(".panel").querySelector("input[data-link]");
  try {
    await navigator.clipboard.writeText(field.value);
    say("The link is copied.");
  } catch {
    field.focus();
    field.select();
    say("The link is selected; copy it with Ctrl+C or ⌘C.");
  }
}

// -- actions --------------------------------------------------------------------------------------

/** Send a form without leaving the page. */
async function send(form) {
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body, redirect: "manual" });
    if (answer.type === "opaqueredirect" || answer.ok) {
      form.closest("details")?.removeAttribute("open");
      form.reset();
      say(form.dataset.done);
    } else {
      say(await reasonIn(answer), true);
    }
  } catch {
    say("The server cannot be reached; nothing was changed. Try again.", true);
  } finally {
    button.disabled = false;
  }
  update();
}

/** The text of the notice in a response. */
async function reasonIn(answer) {
  return wordsOf(await answer.text()) || `The server refused the request (${answer.status}).`;
}

/** Show times in local time: as text, or in the tooltip of a relative time. */
function showLocalTimes() {
  for (const one of document.querySelectorAll("time[datetime]")) {
    const local = new Date(one.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
    if (one.dataset.local !== undefined) one.textContent = local;
    else one.title = local;
  }
}

function wordsOf(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  return (page.querySelector(".notice p")?.textContent ?? page.body.textContent).trim().replace(/\.$/, "");
}

let silence = null;
function say(words, wrong = false) {
  clearTimeout(silence);
  const [place, other] = wrong ? ["wrong", "said"] : ["said", "wrong"];
  document.getElementById(other).textContent = "";
  document.getElementById(place).textContent = words;
  if (!wrong) silence = setTimeout(() => say(""), SHOWN_FOR);
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-live]")) return;
  event.preventDefault();
  send(event.target);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden) update();
});

completeLinks();
showLocalTimes();
connect("live", "Live");
timer = setTimeout(update, EVERY);
