// Additions to a page that is complete without a script: sorting, a filter for all tables, copy buttons, and printing
// of folded sections.
"use strict";

const all = (which, from = document) => [...from.querySelectorAll(which)];

function make(name, text, about = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  return Object.assign(element, about);
}

// -- sorting: the title of a column is a button; cells sort by their first number, otherwise by their text.
const known = (cell) => {
  const text = (cell?.textContent ?? "").trim().replace("−", "-").replace(/^< /, "");
  const number = /^[-+]?[\d.,]+/.exec(text)?.[0].replaceAll(",", "");
  return number !== undefined && number !== "" && !isNaN(number) ? [0, Number(number)] : text === "–" ? [2, 0] : [1, text];
};

function before(a, b) {
  if (a[0] !== b[0]) return a[0] - b[0];
  return typeof a[1] === "number" ? a[1] - b[1] : a[1].localeCompare(b[1], undefined, { numeric: true });
}

function sort(head, place) {
  const down = head.getAttribute("aria-sort") === "ascending";
  const tables = [head.closest("table"), ...all(`table[data-follows="${head.closest("table").dataset.name}"]`)];
  const rows = tables.flatMap((table) => all("tbody tr", table));
  const sizes = tables.map((table) => all("tbody tr", table).length);
  all("th", tables[0]).forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  rows.sort((a, b) => {
    const one = known(a.cells[place]), two = known(b.cells[place]);
    return one[0] === 2 || two[0] === 2 ? one[0] - two[0] : (down ? -1 : 1) * before(one, two);
  });
  tables.forEach((table, i) => table.tBodies[0].append(...rows.splice(0, sizes[i])));
}

for (const table of all("table.rows:not([data-follows])")) {
  if (all("tbody tr", table).length < 2) continue;
  all("thead th", table).forEach((head, place) => {
    const button = make("button", head.textContent, { type: "button", title: "Sort" });
    button.addEventListener("click", () => sort(head, place));
    head.replaceChildren(button);
  });
}

// -- filter: rows of another criterion, document or annotator are hidden in every table with the column.
const bar = document.getElementById("filter");
const chosen = new Map();

function narrow() {
  for (const row of all("table.rows tbody tr")) {
    row.hidden = [...chosen].some(([columns, value]) => {
      const cells = [...row.cells].filter((cell) => columns.includes(cell.dataset.column));
      return value !== "" && cells.length > 0 && !cells.some((cell) => cell.textContent.trim() === value);
    });
  }
}

for (const [words, columns] of JSON.parse(bar.dataset.filters)) {
  const cells = all("table.rows td").filter((cell) => columns.includes(cell.dataset.column));
  const values = [...new Set(cells.map((cell) => cell.textContent.trim()))].filter((value) => value !== "–");
  if (values.length < 2 || values.length > 500) continue;
  const select = make("select", "");
  select.append(make("option", "all", { value: "" }), ...values.map((value) => make("option", value, { value })));
  select.addEventListener("change", () => { chosen.set(columns, select.value); narrow(); });
  const label = make("label", words);
  label.append(select);
  bar.append(label);
}
bar.hidden = !bar.querySelector("select");

// -- copy buttons
for (const box of all(".copy")) {
  const button = make("button", "Copy", { type: "button" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector("pre").textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(box.querySelector("pre"));
      button.textContent = "Press Ctrl+C";
    }
  });
  box.append(button);
}

// -- folded sections are printed, and opened by a link into them
const folded = () => all("section.part details");
addEventListener("beforeprint", () => folded().forEach((one) => { one.dataset.was = one.open; one.open = true; }));
addEventListener("afterprint", () => folded().forEach((one) => { one.open = one.dataset.was === "true"; }));
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) all("details.whole", target).forEach((one) => { one.open = true; });
};
addEventListener("hashchange", reveal);
reveal();
