// What is known of the project: progress, model, guidelines, spellings, agreement.
import { drawCurve } from "./label-chart.js";
import { find, make } from "./dom.js";
import { readable } from "./label-sample.js";

const drawnValues = {};
const kept = new Set(); // spellings that this person wants to keep apart
let drawn = () => {};

const count = (n, name) => `${n.toLocaleString("en")} ${name}`;

function showReview({ open, done }) {
  find("review-count").textContent = open ? open.toLocaleString("en") : "";
  find("reviewed").textContent = open + done ? `${count(done, "of")} ${count(open + done, "suspicious labels reviewed")}` : "";
}

export function showProgress(progress) {
  const { labelled, skipped, unsure, total } = progress;
  find("progress").max = Math.max(total, 1);
  find("progress").value = labelled;
  find("counts").textContent = `${count(labelled, "of")} ${count(total, "labelled")}`;
  const people = Object.entries(progress.by_annotator);
  find("others").textContent = [
    ...(skipped ? [count(skipped, "skipped")] : []), ...(unsure ? [count(unsure, "not sure")] : []),
    ...(people.length > 1 ? people.map(([name, n]) => `${readable(name)} ${n.toLocaleString("en")}`) : []),
  ].join(" · ");
}

function showModel({ model, curve, forecast, agreement }) {
  const { value, low, high } = model.accuracy ?? {};
  const words = model.accuracy
    ? `About ${Math.round(100 * value)} of 100 right, give or take ${Math.max(1, Math.round(50 * (high - low)))}, after ${count(model.n_labelled, "labels")}.` : "";
  find("accuracy").textContent = words;
  const line = find("model-sentence");
  line.textContent = readable(model.sentence);
  line.classList.toggle("failed", model.state === "failed");
  find("forecast").textContent = forecast?.sentence ?? "";
  find("agreement").textContent = readable(agreement?.sentence ?? "");
  const draw = () => drawCurve(find("chart"), curve, forecast, [words, forecast?.sentence ?? ""].join(" "));
  drawn = draw;
  draw();
}

window.addEventListener("resize", () => drawn());

function showGuidelines({ guidelines, classes }, describe) {
  find("guidelines").hidden = !guidelines && !classes.length;
  find("guideline-text").textContent = readable(guidelines ?? "");
  find("descriptions").replaceChildren(...classes.flatMap((each) => {
    const term = make("dt");
    const button = make("button", each.description ? "Edit" : "Describe", "quiet");
    button.type = "button";
    button.setAttribute("aria-label", `${button.textContent} ${readable(each.name)}`);
    button.addEventListener("click", () => describe(each));
    const name = make("bdi", readable(each.name));
    term.append(name, ` (${each.n.toLocaleString("en")}) `, button);
    return [term, make("dd", readable(each.description ?? ""))];
  }));
}

function showSpellings(spellings, merge) {
  const open = spellings.filter(({ names }) => !kept.has(names.join("\n")));
  find("spellings").replaceChildren(...open.map(({ names, into, n }) => {
    const notice = make("div", "", "notice");
    const listed = names.map((name, i) => `“${readable(name)}” (${count(n[i], n[i] === 1 ? "text" : "texts")})`).join(", ");
    const yes = make("button", `Merge into “${readable(into)}”`);
    const no = make("button", "Keep apart", "quiet");
    yes.type = no.type = "button";
    yes.addEventListener("click", () => merge(names, into));
    no.addEventListener("click", () => {
      kept.add(names.join("\n"));
      notice.remove();
    });
    notice.append(make("span", `Another spelling of “${readable(into)}”? ${listed}.`), yes, no);
    return notice;
  }));
}

export function showProject(project, { describe, merge }) {
  find("name").textContent = readable(project.name);
  showReview(project.review);
  showProgress(project.progress);
  showModel(project);
  // Only after a change: buttons that are drawn again lose the focus.
  const draws = { classes: () => showGuidelines(project, describe), spellings: () => showSpellings(project.spellings, merge) };
  for (const [name, draw] of Object.entries(draws)) {
    const value = JSON.stringify(project[name]);
    if (drawnValues[name] !== value) draw();
    drawnValues[name] = value;
  }
}
