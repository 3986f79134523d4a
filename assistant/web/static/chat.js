// What htmx does not do: copying, closing a document, scrolling to the sentence, emptying the question.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("copy")) {
    await copy(button.dataset.text);
    button.textContent = button.dataset.copied;
  } else if (button.classList.contains("close")) {
    document.getElementById("document").replaceChildren();
  }
});

async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.elt.id === "asking" && event.detail.successful) {
    document.getElementById("question").value = "";
    event.detail.elt.scrollIntoView({ block: "end" });
  }
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "document") {
    const mark = event.target.querySelector("mark");
    if (mark) mark.scrollIntoView({ block: "center" });
  }
});

document.addEventListener("htmx:sseMessage", (event) => {
  if (event.detail.type === "answer") {
    const turn = event.target.closest(".turn");
    const draft = turn && turn.querySelector(".draft");
    if (draft) draft.remove();
    document.getElementById("document").replaceChildren();
  }
});
