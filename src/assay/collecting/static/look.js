/* The page of assay look --browser: files are dropped, roles are changed, and the page waits for the report. */

const base = document.body.dataset.base;
const drop = document.querySelector("#drop"), file = document.querySelector("#file");
const reading = document.querySelector("#reading");

async function send(files) {
  if (!files.length) return;
  reading.textContent = reading.dataset.reading;
  try {
    for (const one of files) {
      await fetch(`${base}/files?name=${encodeURIComponent(one.name)}`, { method: "POST", body: one, redirect: "manual" });
    }
    location.reload();
  } catch (error) { reading.textContent = reading.dataset.stopped; }
}

file.addEventListener("change", () => send([...file.files]));
for (const kind of ["dragover", "dragleave", "drop"]) document.addEventListener(kind, (event) => {
  event.preventDefault();
  drop.classList.toggle("over", kind === "dragover");
  if (kind === "drop") send([...event.dataTransfer.files]);
});

// A role is changed by its button, which appears next to another choice.
for (const form of document.querySelectorAll("form.role")) {
  const select = form.querySelector("select"), button = form.querySelector("button");
  const show = () => { button.hidden = select.options[select.selectedIndex].defaultSelected; };
  select.addEventListener("change", show);
  show();
}

// After a form, the page is loaded again at the same place, with the same control in focus.
const kept = JSON.parse(sessionStorage.getItem("look") || "{}");
sessionStorage.removeItem("look");
document.addEventListener("submit", (event) => {
  const control = event.target.querySelector("select, input:not([type='hidden'])") || event.submitter;
  const id = event.submitter?.id || control?.id;
  sessionStorage.setItem("look", JSON.stringify({ id, top: scrollY }));
});
if (kept.top) scrollTo(0, kept.top);
if (kept.id) document.getElementById(kept.id)?.focus({ preventScroll: true });

const running = document.querySelector("#running"), seconds = document.querySelector("#seconds");
async function wait() {
  try {
    const state = await (await fetch(`${base}/running`)).json();
    if (!state.running) {
      sessionStorage.setItem("look", JSON.stringify({ id: "made", top: scrollY }));
      location.reload();
      return;
    }
    seconds.textContent = `${state.seconds} s`;
    setTimeout(wait, 700);
  } catch (error) { running.textContent = reading.dataset.stopped; }
}
if (running) wait();
