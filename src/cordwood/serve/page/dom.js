// Small helpers; all texts are set by textContent, never as HTML.
export const find = (id) => document.getElementById(id);

export function make(tag, text = "", className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

export function fillTable(id, rows, caption) {
  const table = find(id);
  if (caption !== undefined) table.caption.textContent = caption;
  table.tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => {
      const element = document.createElement("td");
      element.append(cell instanceof Node ? cell : String(cell));
      if (typeof cell === "number" || /^[-+−]?[\d.,]+ ?%?$/.test(cell)) element.className = "number";
      return element;
    }));
    return row;
  }));
  table.hidden = rows.length === 0;
}

export function fillSelect(id, values, label = (value) => value) {
  find(id).replaceChildren(...values.map((value) => {
    const option = make("option", label(value));
    option.value = value;
    return option;
  }));
}

export const percent = (value) => `${(100 * value).toFixed(1)} %`;
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
