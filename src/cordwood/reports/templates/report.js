"use strict";
// Adds sorting and filters to tables, and unfolds parts for links and printing. Without it the page shows the same content.
(() => {
  const MIN_FILTER_ROWS = 12;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

  const valueOf = (cell) => cell.dataset.sort ?? cell.textContent.trim();

  const compare = (a, b, isNumber) => {
    if (!isNumber) return collator.compare(a, b);
    const [x, y] = [parseFloat(a), parseFloat(b)];
    // Unknown values stay at the end.
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return x - y;
  };

  const sortBy = (table, header, index) => {
    const isNumber = ["number", "bar"].includes(header.dataset.kind);
    const current = header.getAttribute("aria-sort");
    const first = isNumber ? "descending" : "ascending";
    const second = isNumber ? "ascending" : "descending";
    const direction = current === first ? second : first;
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    rows.sort((r, s) => {
      const [a, b] = [valueOf(r.cells[index]), valueOf(s.cells[index])];
      if (isNumber && (Number.isNaN(parseFloat(a)) || Number.isNaN(parseFloat(b))))
        return compare(a, b, true);
      return sign * compare(a, b, isNumber);
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
    body.append(...rows);
  };

  const addFilter = (table) => {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < MIN_FILTER_ROWS) return;
    const line = document.createElement("div");
    line.className = "filter";
    const label = document.createElement("label");
    label.textContent = "Filter rows ";
    const input = document.createElement("input");
    input.type = "search";
    label.append(input);
    const status = document.createElement("span");
    status.className = "muted";
    status.setAttribute("role", "status");
    line.append(label, status);
    table.closest(".scroll").before(line);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        if (!row.hidden) shown += 1;
      }
      status.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
    });
  };

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tHead.rows[0].cells).forEach((header, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sortBy(table, header, index));
    });
    addFilter(table);
  }

  // Only what scrolls needs to be reached by the keyboard.
  const setTabStops = () => {
    for (const area of document.querySelectorAll(".scroll, .plot"))
      area.tabIndex = area.scrollWidth > area.clientWidth ? 0 : -1;
  };
  addEventListener("resize", setTabStops);
  document.addEventListener("toggle", setTabStops, true);
  setTabStops();

  // Links into folded parts open them, also in browsers that do not do so by themselves.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement)
      if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // Printed pages contain the folded parts, except the numbers of figures.
  addEventListener("beforeprint", () => {
    for (const node of document.querySelectorAll("details:not([open], figure details)")) {
      node.open = true;
      node.dataset.folded = "";
    }
  });
  addEventListener("afterprint", () => {
    for (const node of document.querySelectorAll("details[data-folded]")) {
      node.open = false;
      delete node.dataset.folded;
    }
  });
})();
