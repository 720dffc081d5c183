// One text with its context, the suggestion, votes, and similar labelled texts.
import { find, make, markWords } from "./dom.js";

const MAX_SHOWN = 20000;
const MAX_ROW = 200;
// Characters that are invisible, or that stop the text, are shown by their symbols.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export function readable(text) {
  return text.replace(CONTROL, (each) => (each === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + each.charCodeAt(0))));
}

export function makeLabel(name) {
  const label = make("bdi", readable(name), "label");
  label.dir = "auto";
  return label;
}

export function nameLabels(labels) {
  return labels.length ? labels.map(readable).join(", ") : "no class";
}

export function inPercent(value) {
  return value < 0.005 ? "< 1 %" : `${Math.round(100 * value)} %`;
}

function describeSource(source) {
  if (source === "model") return "The model suggests";
  if (source === "classes") return "The names of the classes suggest";
  return `The ${source} suggests`;
}

// Labels that are given if the suggestion is accepted.
export function getProposal(sample, isMultilabel) {
  const labels = (sample.suggestion?.labels ?? []).map((each) => each.label);
  return isMultilabel ? labels : labels.slice(0, 1);
}

export function showSample(sample, { isHidden, proposal }) {
  const { suggestion } = sample;
  const isReview = Boolean(sample.question);
  const hasHints = isReview || !isHidden;
  find("context").replaceChildren(...Object.entries(sample.context).map(([column, value]) => {
    const line = make("div");
    line.append(make("dt", readable(column)), make("dd", readable(String(value ?? "")).slice(0, MAX_ROW)));
    return line;
  }));
  find("question").textContent = readable(sample.question ?? "");
  const words = hasHints && suggestion
    ? suggestion.words.filter((word) => proposal.includes(word.label)).sort((a, b) => a.start - b.start) : [];
  showText(readable(sample.text), words, MAX_SHOWN);
  find("reason").textContent = [
    isReview ? "" : readable(sample.reason_sentence ?? ""),
    sample.labels ? `Labelled: ${nameLabels(sample.labels)}.` : { skipped: "Skipped before.", unsure: "You were not sure before." }[sample.state] ?? "",
  ].join(" ").trim();
  find("legend").textContent = words.length
    ? `Underlined words argue for ${proposal.map(readable).join(" or ")}, dashed ones against.` : "";
  for (const id of ["suggestion", "votes", "neighbors"]) find(id).hidden = !hasHints;
  find("hide").hidden = isReview;
  if (hasHints) showHints(sample, proposal, isReview);
}

function showText(text, words, most) {
  const letters = text.length > most ? Array.from(text) : [];
  const isCut = letters.length > most;
  const shown = isCut ? letters.slice(0, most).join("") : text;
  markWords(find("text"), shown, words.filter((word) => !isCut || word.end <= most), (word) => word.share);
  find("text").classList.toggle("long", text.length > 600);
  find("text").scrollTop = 0;
  if (text.length > 600) find("text").tabIndex = 0;
  else find("text").removeAttribute("tabindex");
  const [about, button] = find("cut").children;
  find("cut").hidden = !isCut;
  about.textContent = `The first ${most.toLocaleString("en")} of ${letters.length.toLocaleString("en")} characters.`;
  button.onclick = () => showText(text, words, Infinity);
}

function showHints({ suggestion, votes, neighbors }, proposal, isReview) {
  const line = find("suggestion");
  line.replaceChildren();
  if (suggestion && suggestion.labels.length) {
    line.append(`${describeSource(suggestion.source)} `);
    const shown = proposal.length ? suggestion.labels.filter((each) => proposal.includes(each.label)) : [];
    for (const [i, each] of shown.entries()) {
      line.append(i ? ", " : "", makeLabel(each.label), each.probability === null ? "" : ` ${inPercent(each.probability)}`);
    }
    line.append(shown.length ? ". " : "no class.");
    if (shown.length && !isReview) {
      const button = make("button", "Accept ", "quiet");
      button.id = "accept";
      button.append(make("kbd", "a"));
      button.setAttribute("aria-keyshortcuts", "a");
      line.append(button);
    }
  }
  find("votes").replaceChildren(...(votes.length ? ["Imported: "] : []), ...votes.flatMap((vote, i) => [
    i ? "; " : "", `${readable(vote.source)} has `, makeLabel(vote.label), vote.confidence === null ? "" : ` ${inPercent(vote.confidence)}`,
  ]));
  const box = find("neighbors");
  box.hidden = !neighbors.length;
  box.open = isReview || (box.open && neighbors.length > 0);
  box.firstElementChild.textContent = neighbors.length === 1 ? "A similar labelled text" : `${neighbors.length} similar labelled texts`;
  box.lastElementChild.replaceChildren(...neighbors.map((each) => {
    const item = make("li");
    const text = make("bdi", readable(each.text.slice(0, MAX_ROW)));
    text.dir = "auto";
    item.append(...each.labels.map(makeLabel), " ", text);
    return item;
  }));
}
