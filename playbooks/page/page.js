"use strict";
// Sorts a table by a column: numbers by value, a dash last.
function valueOf(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = /^-?[\d,]+(\.\d+)?/.exec(text);
  return { text, number: number ? parseFloat(number[0].replace(/,/g, "")) : null, empty: text === "" || text === "-" };
}
function compare(a, b) {
  if (a.empty !== b.empty) return a.empty ? 1 : -1;
  if (a.number !== null && b.number !== null && a.number !== b.number) return a.number - b.number;
  return a.text.localeCompare(b.text);
}
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending";
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row, column) }));
      rows.sort((a, b) => (down && a.value.empty === b.value.empty ? compare(b.value, a.value) : compare(a.value, b.value)));
      table.tBodies[0].append(...rows.map((item) => item.row));
    });
  });
}
