/* The report on the dashboard: loads the page again when the report is made. */

async function wait() {
  const reply = await fetch("/lead/report/state", { headers: { Accept: "application/json" } }).catch(() => null);
  if (reply?.ok && !(await reply.json()).running) location.reload();
  else setTimeout(wait, 1000);
}
setTimeout(wait, 1000);
