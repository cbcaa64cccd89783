"use strict";
// Headings become buttons that sort their table; what is missing stays at the end.
const collator = new Intl.Collator("en", { numeric: true });

function key(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.querySelector("abbr") ? null : cell.textContent.trim();
}

function compare(left, right) {
  return typeof left === "number" && typeof right === "number"
    ? left - right
    : collator.compare(String(left), String(right));
}

function sort(table, column, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => [key(row, column), row]);
  rows.sort(([left], [right]) => {
    if (left === null || right === null) return (left === null) - (right === null);
    return direction * compare(left, right);
  });
  body.append(...rows.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(table, column, up ? 1 : -1);
    });
  });
}
