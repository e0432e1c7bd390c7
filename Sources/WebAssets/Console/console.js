// The console works without this script. The script adds three things: "/" focuses the search, confirmations are checked
// during typing, and charts show the figures under the pointer.
"use strict";

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, textarea");
  const find = document.getElementById("find");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey || !find) return;
  event.preventDefault();
  find.focus();
  find.select();
});

for (const input of document.querySelectorAll("input[data-expected]")) {
  const button = input.form.querySelector("button[type=submit]");
  const check = () => { button.disabled = input.value !== input.dataset.expected; };
  input.addEventListener("input", check);
  check();
}

// Leaves empty choices out of the URL.
for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
  });
}

for (const chart of document.querySelectorAll(".chart")) {
  const plot = chart.querySelector(".plot");
  const readout = chart.querySelector(".readout");
  const initial = readout.textContent;
  const heads = [...chart.querySelectorAll("thead th")].slice(1).map((head) => head.textContent);
  const rows = new Map([...chart.querySelectorAll("tr[data-column]")].map((row) => [Number(row.dataset.column), row]));
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const index = Math.floor((event.clientX - box.left) / box.width * Number(chart.dataset.columns));
    const row = rows.get(index);
    if (!row) { readout.textContent = initial; return; }
    const counts = [...row.querySelectorAll("td")].map((cell) => cell.textContent);
    const parts = heads.map((head, place) => `${counts[place]} ${head}`).filter((part) => !part.startsWith("0 "));
    readout.textContent = `${row.querySelector("th").textContent}: ${parts.join(", ")}`;
  });
  plot.addEventListener("pointerleave", () => { readout.textContent = initial; });
}
