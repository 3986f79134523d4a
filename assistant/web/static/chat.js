// What htmx does not do: copying, focus, what is told to those who do not see the page, refusals, one's place in the page.
"use strict";

const told = document.getElementById("told");
let opener = null; // what opened the document: the focus goes back to it

if (window.matchMedia("(max-width: 62rem)").matches) document.getElementById("conversations").open = false;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("copy")) {
    await copy(button.dataset.text);
    button.textContent = button.dataset.copied;
    tell(button.dataset.copied);
  } else if (button.classList.contains("close")) {
    closeDocument();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.getElementById("document").firstChild) closeDocument();
});

function closeDocument() {
  document.getElementById("document").replaceChildren();
  if (opener && document.contains(opener)) opener.focus();
}

function tell(words) {
  told.textContent = words;
}

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt;
  if (event.detail.target.id === "document") opener = form.closest("#document") ? opener : form;
  const file = form.dataset.most && form.querySelector("input[type=file]").files[0];
  if (file && file.size > Number(form.dataset.most)) {
    event.preventDefault();
    refuse(form, told.dataset.large);
  }
});

// A refusal is shown where its form is; what is no part of a page (a fault, a bound of the service) in its own words.
document.addEventListener("htmx:beforeSwap", (event) => {
  const answer = event.detail.xhr;
  if (answer.status < 400) return;
  const part = (answer.getResponseHeader("Content-Type") || "").startsWith("text/html");
  event.detail.isError = false;
  if (part && event.detail.target.id === "attached") event.detail.shouldSwap = true;
  else refuse(event.detail.elt, part ? words(answer.responseText) : told.dataset.failed);
});

function words(page) {
  const part = new DOMParser().parseFromString(page, "text/html");
  return (part.querySelector(".trouble") || part.body).textContent.trim();
}

function refuse(element, text) {
  const place = element.closest("form, .foot, #past, #sources, .answer") || element;
  let said = place.querySelector(":scope > .trouble");
  if (!said) {
    said = document.createElement("p");
    said.className = "trouble";
    said.setAttribute("role", "alert");
    place.append(said);
  }
  said.textContent = text;
}

// What is typed and not asked yet outlives a reload, a way back, and a question that did not arrive: this tab keeps it.
const question = document.getElementById("question");
const HALF = "half a question";
let asked = "";
const keep = () => (question.value ? sessionStorage.setItem(HALF, question.value) : sessionStorage.removeItem(HALF));
if (question) {
  question.value ||= sessionStorage.getItem(HALF) ?? "";
  question.addEventListener("input", keep);
}
document.addEventListener("htmx:beforeSend", (event) => {
  if (event.detail.elt.id === "asking") asked = question.value;
});
document.addEventListener("htmx:sendError", (event) => refuse(event.detail.elt, told.dataset.failed));

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id !== "asking" || !event.detail.successful) return;
  if (question.value === asked) question.value = ""; // else the next one is being typed
  keep();
  event.detail.elt.querySelectorAll(".trouble").forEach((one) => one.remove());
  const hint = document.getElementById("hint");
  if (hint) hint.remove();
  const turns = document.querySelectorAll("#turns .turn");
  if (turns.length) turns[turns.length - 1].scrollIntoView({ block: "nearest" });
  const reading = document.querySelector("#turns .turn:last-child .draft p");
  if (reading) tell(reading.textContent);
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "document") return;
  const title = event.target.querySelector("h2");
  if (title) title.focus({ preventScroll: true });
  const mark = event.target.querySelector("rect.mark, mark") || title;
  if (mark) mark.scrollIntoView({ block: "center" });
});

document.addEventListener("htmx:sseMessage", (event) => {
  if (event.detail.type !== "answer") return;
  const turn = event.target.closest(".turn");
  turn.querySelectorAll(".draft").forEach((one) => one.remove());
  document.getElementById("document").replaceChildren();
  const lines = [...turn.querySelectorAll(".answer p, .trouble")].slice(0, 3);
  tell(lines.map((one) => one.textContent).join(" "));
  const place = new URL(window.location.href);
  place.search = "?open=" + encodeURIComponent(document.getElementById("conversation").dataset.name);
  if (turn.querySelector(".rating")) window.history.replaceState(null, "", place);
  turn.scrollIntoView({ block: "nearest" });
});

// The stream ended or broke before the answer came: it is not asked for a second time.
for (const kind of ["htmx:sseError", "htmx:sseClose"]) {
  document.addEventListener(kind, (event) => {
    const turn = event.target.closest(".turn");
    if (!turn || !turn.querySelector(".draft")) return;
    if (event.detail.source) event.detail.source.close();
    turn.querySelectorAll("[sse-connect]").forEach((one) => one.remove());
    refuse(turn, told.dataset.failed);
    tell(told.dataset.failed);
  });
}
