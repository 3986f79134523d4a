// What htmx does not do: keys, dates that submit themselves, rows that are opened, questions before an undo, a page
// that renews itself.
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
  } else if (event.key === "x") {
    document.querySelector("tr.chosen input[name=chosen]")?.click();
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
    if (event.submitter?.matches("[data-stays]")) return; // a file: the page stays
    for (const button of event.target.querySelectorAll("button:not([type])")) setTimeout(() => { button.disabled = true; button.dataset.sent = ""; });
  }
});

// Back to a form that was sent, as the browser kept it: it can be sent again.
window.addEventListener("pageshow", () => {
  leaving = false;
  for (const button of document.querySelectorAll("button[data-sent]")) button.disabled = false;
});

// The answer to a form has no address of its own: reloading it, or coming back to it, asks for the page of the form
// instead of sending the form again, or asking whether to.
if (document.body.dataset.cameFrom) history.replaceState(history.state, "", document.body.dataset.cameFrom);

// What was refused is in sight as soon as the market's text is there.
document.addEventListener("htmx:afterSwap", (event) => {
  const mark = event.target.querySelector("pre.source mark");
  if (!mark) return;
  const box = mark.closest("pre");
  box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
});

// Who works without a mouse stays where they were: what had the focus gets it back after an answer, or, where the answer
// took its place, the first thing to do in it.
let held = null;
const hold = (piece) => { if (piece?.contains(document.activeElement) && document.activeElement !== document.body) held = document.activeElement; };
document.addEventListener("htmx:beforeRequest", (event) => hold(event.detail.elt));
document.addEventListener("htmx:beforeSwap", (event) => hold(event.detail.target));
document.addEventListener("htmx:afterSettle", (event) => {
  if (!held) return;
  if (document.activeElement === document.body) {
    const next = held.isConnected ? held : event.target.querySelector("a, button, input, summary") || event.target;
    if (!held.isConnected && !next.matches("a, button, input, summary")) next.tabIndex = -1;
    next.focus({ preventScroll: true });
  }
  held = null;
});

// What was typed outlives a session that ends meanwhile: this tab keeps what differs from the form as it came, until it
// is saved or given up, or its person signs out. It was saved when the next page neither refuses it nor is the same form.
const written = document.querySelector("form[data-draft]");
const refused = document.querySelector("[data-refused]") !== null;
const draftOf = (form) => `draft ${form.dataset.draft}`;
const fields = (form) => [...form.elements].filter((one) => one.name && one.type !== "hidden");
const cameAs = (one) => (one.options ? ([...one.options].find((each) => each.defaultSelected) || one.options[0])?.value : one.defaultValue);
const typedInto = (form) => fields(form).filter((one) => one.value !== cameAs(one));

function keptDraft(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null; // it is none of ours
  }
}

function keepDraft() {
  const values = Object.fromEntries(typedInto(written).map((one) => [one.name, one.value]));
  try {
    sessionStorage.setItem(draftOf(written), JSON.stringify({ version: written.dataset.version, values }));
  } catch {
    // More than a browser keeps: it is as it was without drafts.
  }
}

const sent = sessionStorage.getItem("sent");
sessionStorage.removeItem("sent");
if (sent !== null && !refused) {
  const again = written && draftOf(written) === sent && keptDraft(sent)?.version === written.dataset.version;
  if (!again) sessionStorage.removeItem(sent);
}
if (written) {
  const kept = keptDraft(draftOf(written));
  if (kept && !refused) {
    for (const one of fields(written)) if (one.name in kept.values) one.value = kept.values[one.name];
    const told = written.querySelector("[data-restored]");
    if (told) told.hidden = !typedInto(written).length;
  }
  written.addEventListener("input", keepDraft);
  written.addEventListener("submit", () => { keepDraft(); sessionStorage.setItem("sent", draftOf(written)); });
  written.querySelector("[data-gives-up]")?.addEventListener("click", () => { leaving = true; sessionStorage.removeItem(draftOf(written)); });
}
document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action")?.endsWith("/logout")) sessionStorage.clear();
});

// It is not lost by going away either; saving it is no going away.
let leaving = false;
document.addEventListener("submit", (event) => { leaving = !event.defaultPrevented; });
window.addEventListener("beforeunload", (event) => {
  const texts = [...document.querySelectorAll("textarea")].some((one) => one.value !== cameAs(one));
  if (!leaving && (texts || (written && typedInto(written).length))) event.preventDefault();
});

// A frame that scrolls is reached by keyboard, under the heading that it stands below.
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    const scrolls = box.scrollWidth > box.clientWidth;
    if (scrolls === box.hasAttribute("tabindex")) continue;
    const title = box.closest("section")?.querySelector("h2, h3") || document.querySelector("h1");
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", title ? title.innerText : document.title]]) {
      if (scrolls) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
  }
}
for (const event of ["pageshow", "resize"]) window.addEventListener(event, reach);
document.addEventListener("htmx:afterSettle", reach);

// Suggestions below the search: up and down choose one, Enter opens it, Escape puts them away.
const field = () => document.getElementById("find");
const suggestions = () => document.getElementById("suggestions");

function choose(option) {
  for (const one of suggestions().querySelectorAll("[role=option]")) one.setAttribute("aria-selected", String(one === option));
  if (option) field().setAttribute("aria-activedescendant", option.id);
  else field().removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function unfold(shown) {
  if (!suggestions()) return;
  suggestions().hidden = !shown;
  field().setAttribute("aria-expanded", String(shown));
  if (!shown) choose(null);
}

document.addEventListener("keydown", (event) => {
  if (event.target !== field() || suggestions().hidden) return;
  const all = [...suggestions().querySelectorAll("[role=option]")];
  const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    if (all.length) choose(all[(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step + all.length) % all.length]);
  } else if (event.key === "Enter" && at >= 0) {
    event.preventDefault();
    window.location.href = all[at].href;
  } else if (event.key === "Escape") {
    event.preventDefault();
    unfold(false);
  }
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target === suggestions()) unfold(document.activeElement === field() && suggestions().children.length > 0);
});

document.addEventListener("focusout", (event) => {
  if (event.target.closest(".find") && !event.relatedTarget?.closest?.(".find")) unfold(false);
});

// A refusal is shown where the answer would have been.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status >= 400 && event.detail.xhr.status < 500) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

// A page that renews itself: while it is seen, nobody works in it, and nobody stopped it. What has not changed is
// neither sent nor drawn again.
let tag = "";
const renewing = () => localStorage.getItem("renews") !== "no";

function renew() {
  const piece = document.querySelector("[data-renews]");
  if (!piece || !renewing() || document.visibilityState !== "visible") return;
  const typed = [...piece.querySelectorAll("input, textarea")].some((one) => one.value !== one.defaultValue);
  if (!typed && !piece.contains(document.activeElement) && !String(window.getSelection())) htmx.trigger(piece, "renew");
}

const renewed = document.querySelector("[data-renews]");
const stopping = document.querySelector("button.renewing");
if (renewed && stopping) {
  stopping.hidden = false;
  stopping.setAttribute("aria-pressed", String(renewing()));
  stopping.addEventListener("click", () => {
    localStorage.setItem("renews", renewing() ? "no" : "yes");
    stopping.setAttribute("aria-pressed", String(renewing()));
    renew();
  });
  setInterval(renew, Number(renewed.dataset.renews) * 1000);
  document.addEventListener("visibilitychange", renew);
}

document.addEventListener("htmx:configRequest", (event) => {
  if (tag && event.target.matches("[data-renews]")) event.detail.headers["If-None-Match"] = tag;
});

document.addEventListener("htmx:beforeSwap", (event) => {
  if (!event.detail.requestConfig.elt.matches("[data-renews]")) return;
  const answer = event.detail.xhr;
  const renews = answer.status === 200 && answer.responseText.includes('id="live"');
  event.detail.shouldSwap = renews;
  if (renews) tag = answer.getResponseHeader("ETag") || "";
  else if (answer.status === 200) window.location.reload(); // the session ended
});

// Rows are chosen by their boxes: one by one, with shift all between two, or all that are shown.
const boxes = () => [...document.querySelectorAll("input[name=chosen]")];
let former = null;

function count() {
  const told = document.querySelector("[data-counts]");
  if (!told) return;
  const all = boxes();
  const number = all.filter((box) => box.checked).length;
  const { none, one, many } = told.dataset;
  told.textContent = number === 0 ? none : number === 1 ? one : many.replace("#", String(number));
  for (const button of told.closest("form").querySelectorAll("button")) button.disabled = !number;
  for (const box of all) box.closest("tr").classList.toggle("marked", box.checked);
  const whole = document.querySelector("[data-chooses-all]");
  whole.hidden = false;
  whole.checked = number === all.length;
  whole.indeterminate = number > 0 && number < all.length;
}

document.addEventListener("click", (event) => {
  const box = event.target.closest("input[name=chosen]");
  if (box && event.shiftKey && former) {
    const all = boxes();
    const [low, high] = [all.indexOf(former), all.indexOf(box)].sort((a, b) => a - b);
    for (const between of all.slice(low, high + 1)) between.checked = box.checked;
  }
  if (box) former = box;
  const whole = event.target.closest("[data-chooses-all]");
  if (whole) for (const one of boxes()) one.checked = whole.checked;
  if (box || whole) count();
});

document.addEventListener("htmx:afterSettle", count);
window.addEventListener("pageshow", count);
