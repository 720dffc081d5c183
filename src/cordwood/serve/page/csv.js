// CSV that spreadsheets open: UTF-8 with a mark, and no cell that they would evaluate.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/;

export function escapeCell(value) {
  let cell = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && FORMULA.test(cell) && !NUMBER.test(cell)) cell = `'${cell}`;
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export function toCsv(columns, rows) {
  const lines = [columns, ...rows].map((row) => row.map(escapeCell).join(","));
  return `\ufeff${lines.join("\n")}\n`;
}
