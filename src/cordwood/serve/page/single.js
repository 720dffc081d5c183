// One text, or one row of a table: probabilities, and why.
import { post } from "./api.js";
import { fillSelect, fillTable, find, make, markWords, percent, signed } from "./dom.js";

const MAX_LABELS = 20;
const MAX_WORDS = 10;
let model;
let sample;

export function show(chosen) {
  model = chosen;
  find("result").hidden = true;
  find("single").hidden = model.kind === "numeric";
  find("single-title").textContent = model.kind === "table" ? "Classify a row" : "Classify a text";
  const names = model.kind === "table" ? Object.values(model.columns).flat() : ["Text"];
  const long = model.kind === "table" ? model.columns.text : names;
  find("fields").replaceChildren(...names.map((name, i) => {
    const line = make("p");
    const label = make("label", name);
    label.htmlFor = `field-${i}`;
    const field = document.createElement(long.includes(name) ? "textarea" : "input");
    field.id = `field-${i}`;
    field.name = name;
    line.append(label, " ", field);
    return line;
  }));
}

function readSample() {
  const fields = [...find("fields").querySelectorAll("textarea, input")];
  if (model.kind === "text") return { texts: [fields[0].value] };
  return { rows: [Object.fromEntries(fields.map((field) => [field.name, field.value === "" ? null : field.value]))] };
}

export async function classify() {
  sample = readSample();
  const reply = await post(model.name, "predict", sample);
  const [found] = reply.predictions;
  const labels = model.is_multilabel ? found.labels : [found.label];
  find("summary").textContent = labels.length
    ? labels.map((label) => `${label}, ${percent(found.probabilities[label])}`).join("; ")
    : "No label is probable enough.";
  const ranked = Object.entries(found.probabilities).slice(0, MAX_LABELS);
  fillTable("probabilities", ranked.map(([label, value]) => {
    const meter = make("meter");
    meter.value = value;
    meter.setAttribute("aria-label", `share of ${label}`);
    return [label, percent(value), meter];
  }));
  find("result").hidden = false;
  find("explanation").hidden = true;
  const best = String(labels[0] ?? ranked[0][0]);
  const others = Object.keys(found.probabilities).filter((label) => label !== best).slice(0, 200);
  fillSelect("versus", ["", ...others], (label) => label || "(any other)");
  await explain(best);
  find("versus").onchange = () => explain(best).catch((error) => find("problem").dispatchEvent(new CustomEvent("show", { detail: error })));
}

async function explain(best) {
  const other = find("versus").value;
  const labels = other ? [best, other] : [best];
  const [found] = (await post(model.name, "explain", { ...sample, labels })).explanations;
  const value = ({ contributions }) => contributions[0] - (other ? contributions[1] : 0);
  const than = other ? `${best} rather than ${other}` : best;
  find("legend").textContent = `Underlined words argue for ${than}, dashed ones against it.`;
  markWords(find("marked"), found.text, found.words, value);
  const parts = [
    ...found.words.map((word) => [word.word, value(word)]),
    ...found.columns.map((column) => [`${column.column} = ${column.value}`, value(column)]),
  ];
  const totals = new Map();
  for (const [name, each] of parts) totals.set(name, (totals.get(name) ?? 0) + each);
  const top = [...totals].filter(([, each]) => each !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, MAX_WORDS);
  const unit = found.output === "log_odds" ? "log-odds" : "probability";
  fillTable("words", top.map(([name, each]) => [name, signed(each)]), `Contributions to the ${unit} of ${than}`);
  const neighbors = found.members.flatMap((member) => member.neighbors).slice(0, 5);
  fillTable("neighbors", neighbors.map((each) => [
    each.index + 1, each.label, each.similarity.toFixed(2), each.shared_terms.slice(0, 8).join(", "),
  ]));
  find("explanation").hidden = false;
}
