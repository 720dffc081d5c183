// A file: preview, choice of the column, progress, and a file with the labels.
import { post, readRows } from "./api.js";
import { toCsv } from "./csv.js";
import { fillSelect, fillTable, find, make } from "./dom.js";

const TOGETHER = 200;
const PREVIEW = 5;
let model;
let rows = [];
let name = "";
let columns = [];
let stop = null;

export function show(chosen) {
  model = chosen;
  find("error-choice").hidden = !model.has_thresholds;
  find("file-result").hidden = true;
  if (rows.length) showPreview();
}

export async function open(file) {
  find("file-result").hidden = true;
  find("file-form").hidden = true;
  rows = await readRows(file);
  name = file.name;
  if (!rows.length) throw new Error(`${name} has no rows.`);
  columns = [...new Set(rows.slice(0, 100).flatMap(Object.keys))];
  showPreview();
}

function showPreview() {
  const needed = Object.values(model.columns).flat();
  const missing = needed.filter((column) => !columns.includes(column));
  if (missing.length) throw new Error(`${name} has no column ${missing[0]}, which the model needs.`);
  find("column-choice").hidden = model.kind !== "text";
  fillSelect("column", columns);
  find("column").value = guessColumn();
  const head = make("tr");
  head.append(...columns.map((column) => Object.assign(make("th", column), { scope: "col" })));
  find("preview").tHead.replaceChildren(head);
  const shown = rows.slice(0, PREVIEW);
  fillTable("preview", shown.map((row) => columns.map((column) => row[column] ?? "")),
    `First ${shown.length} of ${rows.length.toLocaleString("en")} rows of ${name}`);
  find("file-form").hidden = false;
}

// The column of the training file, or the one with the longest values.
function guessColumn() {
  const known = model.text_columns.find((column) => columns.includes(column));
  if (known) return known;
  const length = (column) => rows.slice(0, 100).reduce((sum, row) => sum + String(row[column] ?? "").length, 0);
  return columns.reduce((best, column) => (length(column) > length(best) ? column : best));
}

function toSamples(part) {
  if (model.kind === "text") return { texts: part.map((row) => String(row[find("column").value] ?? "")) };
  if (model.kind === "numeric") return { features: part.map((row) => columns.map((column) => Number(row[column]))) };
  return { rows: part.map((row) => Object.fromEntries(Object.values(model.columns).flat().map((column) => [column, row[column] ?? null]))) };
}

export async function classify() {
  stop = new AbortController();
  const options = { top: 1 };
  if (model.has_thresholds && find("max-error").value) options.max_error = Number(find("max-error").value);
  if (model.is_multilabel) delete options.top;
  const found = [];
  const start = performance.now();
  find("stop").hidden = find("progress-line").hidden = false;
  find("file-result").hidden = true;
  try {
    while (found.length < rows.length) {
      const part = rows.slice(found.length, found.length + TOGETHER);
      found.push(...(await post(model.name, "predict", { ...toSamples(part), ...options }, stop.signal)).predictions);
      showProgress(found.length, (performance.now() - start) / 1000);
    }
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  } finally {
    find("stop").hidden = find("progress-line").hidden = true;
  }
  showResult(found);
}

export function cancel() {
  stop?.abort();
}

function showProgress(done, seconds) {
  find("progress").value = done / rows.length;
  const left = Math.ceil(seconds * (rows.length / done - 1));
  find("left").textContent = `${done.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows, ${left} s left`;
}

function showResult(found) {
  const labelOf = (each) => (each.is_decided === false ? "__undecided__" : model.is_multilabel ? each.labels.join(";") : each.label);
  const counts = new Map();
  for (const each of found) {
    const labels = model.is_multilabel && each.is_decided !== false ? each.labels : [labelOf(each)];
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const undecided = found.filter((each) => each.is_decided === false).length;
  find("file-summary").textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows are classified`
    + (undecided ? `, ${undecided.toLocaleString("en")} of them undecided.` : ".");
  fillTable("counts", [...counts].sort((a, b) => b[1] - a[1]).map(([label, n]) => [label, n.toLocaleString("en")]));
  const rename = (column) => (columns.includes(column) ? `predicted_${column}` : column);
  const confidence = (each) => (model.is_multilabel ? each.labels.map((label) => each.probabilities[label].toFixed(6)).join(";") : each.probability.toFixed(6));
  const table = toCsv([...columns, rename("label"), rename("probability")],
    found.map((each, i) => [...columns.map((column) => rows[i][column]), labelOf(each), confidence(each)]));
  const link = find("download");
  if (link.href) URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([table], { type: "text/csv" }));
  link.download = `${name.replace(/\.[^.]*$/, "")}-labels.csv`;
  find("file-result").hidden = false;
}
