"use strict";
// Sorting, searching and opening rows. Everything is in the page already; this only moves and shows it.

function orderOf(body, column) {
  const cell = body.rows[0].cells[column];
  const order = cell.dataset.order;
  if (order === "") return null;
  const number = Number(order);
  return Number.isNaN(number) ? order : number;
}

function compare(a, b) {
  const isNumber = typeof a === "number" && typeof b === "number";
  return isNumber ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sort(table, head, column) {
  const isDown = head.getAttribute("aria-sort") !== "descending" && head.classList.contains("number")
    || head.getAttribute("aria-sort") === "ascending";
  const bodies = Array.from(table.tBodies, (body) => ({ body, order: orderOf(body, column) }));
  bodies.sort((a, b) => {
    if (a.order === null || b.order === null) return (a.order === null) - (b.order === null); // no value: at the end
    return isDown ? compare(b.order, a.order) : compare(a.order, b.order);
  });
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  table.append(...bodies.map((entry) => entry.body));
}

function search(input) {
  const grid = document.getElementById(input.dataset.searches);
  const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const bodies = Array.from(grid.querySelector("table.sortable").tBodies);
  let found = 0;
  for (const body of bodies) {
    const text = body.textContent.toLocaleLowerCase();
    body.hidden = !words.every((word) => text.includes(word));
    found += body.hidden ? 0 : 1;
  }
  const status = grid.querySelector("[data-found]");
  status.textContent = words.length ? `${found} of ${bodies.length} rows` : "";
}

function toggle(button) {
  const detail = document.getElementById(button.getAttribute("aria-controls"));
  detail.hidden = !detail.hidden;
  button.setAttribute("aria-expanded", String(!detail.hidden));
}

document.addEventListener("click", (event) => {
  const sorter = event.target.closest("[data-sorts]");
  if (sorter) sort(sorter.closest("table"), sorter.closest("th"), Number(sorter.dataset.sorts));
  const opener = event.target.closest(".opens");
  if (opener) toggle(opener);
});

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-searches]")) search(event.target);
});
