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

// Set a text in which words are marked by their contribution, for or against.
export function markWords(element, text, words, value) {
  const letters = Array.from(text); // offsets count characters, not UTF-16 units
  const largest = Math.max(...words.map((word) => Math.abs(value(word))), 0);
  const parts = [];
  let end = 0;
  for (const word of words) {
    parts.push(letters.slice(end, word.start).join(""));
    const share = largest ? value(word) / largest : 0;
    const marked = letters.slice(word.start, word.end).join("");
    const kind = share > 0 ? "for" : "against";
    parts.push(Math.abs(share) < 0.1 ? marked : make("mark", marked, Math.abs(share) > 0.5 ? `${kind} strong` : kind));
    end = word.end;
  }
  element.replaceChildren(...parts, letters.slice(end).join(""));
}

export const percent = (value) => `${(100 * value).toFixed(1)} %`;
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
