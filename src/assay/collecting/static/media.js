// Recordings, which keys can play, and pictures, which open enlarged.

import { all, byId } from "./form.js";

// -- recordings ----------------------------------------------------------------------------------------

const STEP = 5; // seconds

let last = null; // the recording played last

/** The recording that keys control: the one that plays, else the one played last, else the first on the page. */
function recordingOf(form) {
  const here = form ? all("audio, video", form) : [];
  return here.find((one) => !one.paused) ?? here.find((one) => one === last) ?? here[0] ?? null;
}

/** Play, pause or go back or forward by some seconds; false if the page has no recording. */
export function playByKey(form, key) {
  const one = recordingOf(form);
  if (!one) return false;
  if (key !== "K") one.currentTime = Math.max(0, one.currentTime + (key === "J" ? -STEP : STEP));
  else if (one.paused) one.play().catch(() => {}); // it cannot be played: its controls show the error
  else one.pause();
  return true;
}

/** Keys that a focused player handles. */
export const isPlayersKey = (target, key) => target.matches("audio, video") && /^(?: |Enter|Home|End|Arrow.*|Page.*)$/.test(key);

/** Play one recording at a time. */
function onPlay(event) {
  last = event.target;
  for (const other of all("audio, video")) if (other !== last) other.pause();
}

/** Show the captions of an audio recording, which has no picture. */
function onCue(event) {
  const place = event.target.parentElement.nextElementSibling;
  if (!place?.matches(".captions")) return;
  place.textContent = [...event.target.track.activeCues].map((cue) => cue.getCueAsHTML().textContent).join("\n");
}

/** Pause all recordings when another page is shown. */
export function pauseAll() {
  for (const one of all("audio, video")) one.pause();
}

// -- pictures ------------------------------------------------------------------------------------------

const FACTOR = 1.5;
const MOST = 12;

let scale = 1; // of the picture, relative to the largest size that fits

function zoomTo(wanted) {
  const [place, picture] = [byId("zoom-place"), byId("zoom-picture")];
  const before = scale;
  scale = Math.min(Math.max(wanted, 1), MOST);
  const fits = Math.min(place.clientWidth / picture.naturalWidth, place.clientHeight / picture.naturalHeight);
  const [middle, high] = [place.scrollLeft + place.clientWidth / 2, place.scrollTop + place.clientHeight / 2];
  picture.style.width = `${Math.floor(picture.naturalWidth * fits * scale)}px`;
  place.scrollTo((middle * scale) / before - place.clientWidth / 2, (high * scale) / before - place.clientHeight / 2);
  byId("zoom-scale").textContent = `${Math.round(100 * scale)} %`;
}

function openPicture(link) {
  const [dialog, picture, from] = [byId("zoom"), byId("zoom-picture"), link.querySelector("img")];
  Object.assign(picture, { src: from.src, alt: from.alt });
  dialog.showModal();
  byId("zoom-place").focus();
  dialog.addEventListener("close", () => link.isConnected && link.focus({ preventScroll: true }), { once: true });
  picture.decode().then(() => zoomTo(1), () => dialog.close());
}

/** A click on a picture; with a modifier key the browser opens it in a new tab. */
function onPicture(event) {
  const act = event.target.closest("[data-zoom]")?.dataset.zoom;
  if (act) zoomTo({ in: scale * FACTOR, out: scale / FACTOR, fit: 1 }[act]);
  const link = event.target.closest("a.picture");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openPicture(link);
}

function onZoomKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const to = { "+": scale * FACTOR, "=": scale * FACTOR, "-": scale / FACTOR, 0: 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  zoomTo(to);
}

export function listenToMedia() {
  document.addEventListener("play", onPlay, { capture: true });
  document.addEventListener("cuechange", onCue, { capture: true });
  document.addEventListener("click", onPicture);
  byId("zoom").addEventListener("keydown", onZoomKey);
  byId("zoom-picture").addEventListener("dblclick", () => zoomTo(scale > 1 ? 1 : FACTOR ** 2));
  addEventListener("resize", () => byId("zoom").open && zoomTo(scale));
}
