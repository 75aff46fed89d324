"use strict";
// Keys: everything here can be done with links and forms too.

function rows() {
  return Array.from(document.querySelectorAll(".listing tbody th a, .mistakes a"));
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
