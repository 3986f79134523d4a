// What htmx does not do: keys, dates that submit themselves, rows that are opened, questions before an undo.
"use strict";

const editing = (element) => element.closest("input, select, textarea, [contenteditable]") !== null;
let awaited = false;

function rows() {
  return [...document.querySelectorAll("tr[data-href]")];
}

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.indexOf(document.querySelector("tr.chosen"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
  for (const row of all) row.classList.toggle("chosen", row === next);
  next.querySelector("a")?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || editing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const link = awaited && document.querySelector(`nav.side a[data-key="${CSS.escape(event.key)}"]`);
  const followed = awaited;
  awaited = false;
  if (link) {
    event.preventDefault();
    link.click();
  } else if (followed) {
    return;
  } else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find")?.focus();
  } else if (event.key === "g") {
    awaited = true;
    setTimeout(() => { awaited = false; }, 1500);
  } else if (event.key === "?") {
    document.getElementById("shortcuts")?.showModal();
  } else if (event.key === "j" || event.key === "k") {
    move(event.key === "j" ? 1 : -1);
  }
});

document.addEventListener("click", (event) => {
  const opens = event.target.closest("[data-shows]");
  if (opens) document.getElementById(opens.dataset.shows).showModal();
  const row = event.target.closest("tr[data-href]");
  const other = event.target.closest("a, button, input, select, summary");
  if (row && !other && !String(window.getSelection())) window.location.href = row.dataset.href;
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.submit();
});

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.asks;
  if (question && !window.confirm(question)) {
    event.preventDefault();
    return;
  }
  // A second click sends nothing: the first one is on its way.
  if (event.target.method === "post") {
    for (const button of event.target.querySelectorAll("button:not([type])")) setTimeout(() => { button.disabled = true; });
  }
});

// A refusal is shown where the answer would have been.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400 && event.detail.xhr.status < 500) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
