"use strict";
// Keys: everything here can be done with links and forms too.

function rows() {
  const found = document.querySelectorAll(".listing tbody th a, .mistakes .what a");
  return Array.from(found).filter((link) => link.checkVisibility());
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const now = all.indexOf(document.activeElement);
  const next = now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by));
  all[next].focus();
}

const KEYS = {
  "/": () => document.getElementById("find").focus(),
  "j": () => step(1),
  "k": () => step(-1),
  "?": () => {
    const help = document.getElementById("help");
    help.open = !help.open;
    if (help.open) help.scrollIntoView({ block: "nearest" });
  },
};

function press(key) {
  const button = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const field = document.querySelector(`[data-focus="${CSS.escape(key)}"]`);
  if (button) return () => button.click();
  return field ? () => field.focus() : KEYS[key];
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches("input, textarea, select")) {
    const isDone = event.key === "Escape" || (event.key === "Enter" && event.target.matches("[data-focus]"));
    if (!isDone) return;
    event.preventDefault();
    event.target.blur();
    return;
  }
  const act = press(event.key);
  if (!act) return;
  event.preventDefault();
  act();
});

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.isSent) event.preventDefault();
  event.target.dataset.isSent = "yes";
});

// Judging: the next questions are fetched before they are asked, so that one follows at once when an answer is acknowledged.
const ahead = new Map();

async function lookAhead() {
  const place = document.getElementById("asked");
  if (!place) return;
  const answer = await fetch(place.dataset.ahead).catch(() => null);
  if (!answer || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const arrived = performance.now();
  ahead.clear();
  for (const form of page.querySelectorAll("form.judge")) ahead.set(form.id, { form, arrived });
  document.getElementById("standing").replaceWith(page.getElementById("standing"));
}

function showNext(found) {
  const form = document.importNode(found.form, true);
  // The clock of an answer starts now, not when its question was fetched.
  form.elements.since.value = Number(form.elements.since.value) + Math.round(performance.now() - found.arrived);
  document.getElementById("said").replaceChildren();
  document.getElementById("asked").replaceChildren(form);
  document.querySelector("h1").scrollIntoView({ block: "nearest" });
  lookAhead();
}

async function sendAnswer(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  body.set("ahead", "1");
  const answer = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } });
  if (!answer.ok) {
    ahead.clear();
    delete form.dataset.isSent;
    return form.requestSubmit(button); // which shows what is wrong; an answer that did arrive is recorded once
  }
  const { next } = await answer.json();
  const found = ahead.get(next.split("#")[1]);
  if (found) return showNext(found);
  window.location.assign(next.split("#")[0]);
}

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  const isAnswer = event.target.matches("form.judge") && button && ["yes", "no", "unsure", "flag", "skip"].includes(button.value);
  if (event.defaultPrevented || !isAnswer || !ahead.size) return;
  event.preventDefault();
  sendAnswer(event.target, button);
});

lookAhead();
