// The page of `cordwood label`: what is on the screen, and what is sent.
import { hasToken, NoReply, postTo, send, setToken, Unauthorized } from "./api.js";
import { fillSelect, find, make } from "./dom.js";
import * as classes from "./label-classes.js";
import { Flow } from "./label-flow.js";
import { connectKeys } from "./label-keys.js";
import { rewind, showList } from "./label-list.js";
import { Outbox } from "./label-outbox.js";
import * as panels from "./label-project.js";
import { getProposal, nameLabels, readable, showSample } from "./label-sample.js";

const FORMATS = { csv: "CSV", xlsx: "Excel", jsonl: "JSON lines", "label-studio": "Label Studio", prodigy: "Prodigy", doccano: "doccano" };
const REVIEW_STATES = {
  ready: "No suspicious label is left.", failed: "Without a model, no suspicious labels are found.",
  none: "Suspicious labels are found as soon as there is a model.",
};
const SAVE_MS = 20000;
const RETRY_MS = 2000;
const POLL_MS = 5000;
const FITTING_MS = 1500;

let annotator = "";
let project = null;
let view = "label";
let filter = {};
let sample = null; // on the screen
let shownAt = 0;
let pressed = null; // labels that are not saved yet, if there may be several
let isHidden = false;
let isBusy = false;
let isOffline = false; // this is the problem that is shown
let isStalled = false; // the next text could not be loaded
let wasListed = false;
let pages = {};
let refreshing = 0;

const flow = new Flow(async (skip) => (await postTo("/label/next", { annotator, filter, skip })).sample);
const outbox = new Outbox(({ body }) => postTo("/label/labels", body, AbortSignal.timeout(SAVE_MS)), {
  onSaved({ words }, reply) {
    panels.showProgress(reply.progress);
    announce(words, false);
    refreshIn(300);
    if (!outbox.items.length) find("problem").hidden = true;
  },
  onWaiting(error, n) {
    const labels = n === 1 ? "1 label is" : `${n} labels are`;
    announce(`${labels} not saved yet.`, true);
    showProblem(error, ` ${labels} kept in this window, and sent again until the server replies; do not close it.`);
  },
  onRejected(item, error) {
    flow.putBack(item.sample);
    announce("Not saved.", true);
    showProblem(error, ` The label of “${readable(item.sample.text.slice(0, 60))}” is not saved; this text comes next.`);
  },
});

function announce(words, isWaiting) {
  find("saved").textContent = words;
  find("saved").classList.toggle("waiting", isWaiting);
}

function showProblem(error, more = "") {
  const needsToken = error instanceof Unauthorized;
  find("login").hidden = !needsToken;
  find("problem").hidden = needsToken && !hasToken();
  isOffline = error instanceof NoReply;
  const words = readable(error.message.replace(/[^.?!]$/, "$&.")) + more;
  if (find("problem-text").textContent !== words) find("problem-text").textContent = words; // is announced once
  if (needsToken) find("token").focus();
}

// Run a task that changes the screen, one at a time; its error is shown.
async function run(task) {
  if (isBusy) return;
  isBusy = true;
  try {
    await task();
  } catch (error) {
    if (!outbox.items.length) showProblem(error); // otherwise what is kept is more important
  } finally {
    isBusy = false;
  }
}

function refreshIn(milliseconds) {
  clearTimeout(refreshing);
  refreshing = setTimeout(() => refresh().catch((error) => {
    if (!outbox.items.length) showProblem(error);
    if (!(error instanceof Unauthorized)) refreshIn(POLL_MS);
  }), milliseconds);
}

async function refresh() {
  clearTimeout(refreshing);
  const known = project;
  project = await (await send(`/label/project?annotator=${encodeURIComponent(annotator)}`)).json();
  document.title = `${project.progress.labelled} of ${project.progress.total} · ${readable(project.name)}`;
  classes.setClasses(project.classes);
  panels.showProject(project, { describe, merge });
  if (JSON.stringify(known?.classes.map((each) => each.name)) !== JSON.stringify(classes.getNames())) {
    const chosen = find("class").value;
    fillSelect("class", ["", ...classes.getNames()], (name) => (name ? readable(name) : "any"));
    find("class").value = classes.getNames().includes(chosen) ? chosen : "";
    if (sample) showButtons();
  }
  if (isOffline && !outbox.items.length) find("problem").hidden = true;
  if (annotator) refreshIn(project.model.state === "fitting" ? FITTING_MS : POLL_MS);
  if (!known || (known.model.n_labelled === project.model.n_labelled && known.review.open <= project.review.open)) return;
  if (sample) flow.prefetch(); // with the new suggestions
  else if (view !== "list" && !isStalled) run(reload);
}

async function changeClasses(values) {
  await postTo("/label/classes", { annotator, ...values });
  await refresh();
}

function describe({ name, description }) {
  classes.openDialog(name, description ?? "", false, (_, given) => changeClasses({ action: "describe", name, description: given }));
}

function addClass(name) {
  classes.openDialog(name, "", true, async (given, description) => {
    await changeClasses({ action: "add", name: given, description });
    if (name) choose(given);
  });
}

function merge(names, into) {
  run(async () => {
    await outbox.flush();
    for (const name of names) await changeClasses({ action: "merge", name, into });
    await (view === "list" ? openList() : reload());
  });
}

async function next() {
  wasListed = false;
  try {
    const found = await flow.next();
    if (isStalled && !outbox.items.length) find("problem").hidden = true;
    isStalled = false;
    show(found);
  } catch (error) {
    isStalled = true;
    show(null);
    setTimeout(() => isStalled && run(next), RETRY_MS);
    throw error;
  }
}

function show(found) {
  sample = found;
  find("sample-view").removeAttribute("aria-busy");
  find("sample-view").hidden = !sample;
  find("empty").hidden = Boolean(sample);
  find("list-view").hidden = true;
  if (!sample) return showEmpty();
  flow.see(sample);
  shownAt = performance.now();
  pressed = project.is_multilabel ? new Set(sample.labels ?? []) : null;
  draw();
  find("sample").focus();
  flow.prefetch();
}

function draw() {
  const proposal = getProposal(sample, project.is_multilabel);
  const isReview = Boolean(sample.question);
  showSample(sample, { isHidden, proposal });
  find("review-actions").hidden = !isReview;
  find("accept-proposal").hidden = !proposal.length;
  find("accept-proposal").replaceChildren(`Change to ${nameLabels(proposal)} `, make("kbd", "a"));
  find("keep").hidden = !sample.labels;
  find("keep").replaceChildren(`Keep ${nameLabels(sample.labels ?? [])} `, make("kbd", "k"));
  find("save").hidden = !pressed;
  find("accept")?.addEventListener("click", accept);
  showButtons();
}

function showButtons() {
  // In a review, the suggestion has a button of its own.
  const suggestion = isHidden || sample.question ? null : sample.suggestion;
  classes.showButtons({ suggestion, pressed, current: sample.labels });
}

function showEmpty() {
  const { skipped, unsure } = project.progress;
  const isFiltered = Object.keys(filter).length > 0;
  const actions = [
    [isFiltered && !project.is_review, "Label other texts", openTexts],
    [project.review.open && view !== "review", `Review ${project.review.open} suspicious`, openReview],
    [skipped, `Look at ${skipped} skipped`, () => setFilter({ state: "skipped" })],
    [unsure, `Look at ${unsure} not sure`, () => setFilter({ state: "unsure" })],
    [true, "Show the list", () => openList()],
  ].filter(([isOffered]) => isOffered && !isStalled);
  find("empty-title").textContent = isStalled ? "The next text comes when the server replies."
    : view === "review" ? REVIEW_STATES[project.model.state] ?? "Suspicious labels are being looked for."
      : isFiltered ? "No further text fits the filter." : "No text without a label is left.";
  find("empty-actions").replaceChildren(...actions.map(([, words, task]) => {
    const button = make("button", words);
    button.type = "button";
    button.addEventListener("click", () => run(task));
    return button;
  }));
  find("empty-title").focus();
}

function save(action, labels) {
  if (!sample || isBusy) return;
  const words = { label: `Saved: ${nameLabels(labels)}.`, skip: "Skipped.", unsure: "Marked as not sure.", keep: `Kept: ${nameLabels(labels)}.` }[action];
  const seconds = Math.round(performance.now() - shownAt) / 1000;
  const suggestion_shown = Boolean(sample.suggestion && (sample.question || !isHidden));
  const { id } = sample;
  announce("Saving…", true);
  const saved = outbox.add({ body: { annotator, id, action, labels, seconds, suggestion_shown }, sample, words });
  find("sample-view").setAttribute("aria-busy", "true");
  run(async () => {
    if (!wasListed) return next();
    await saved;
    await openList(id);
  });
}

function choose(name) {
  if (!sample) return;
  if (!pressed) return save("label", [name]);
  if (!pressed.delete(name)) pressed.add(name);
  showButtons();
  if (document.activeElement === find("type")) find("sample").focus();
}

function accept() {
  if (!sample || (isHidden && !sample.question)) return;
  const proposal = getProposal(sample, project.is_multilabel);
  if (!proposal.length) return;
  if (!pressed || sample.question) return save("label", proposal);
  for (const name of proposal) pressed.add(name);
  showButtons();
}

async function undo() {
  let back = outbox.takeLast()?.sample;
  if (!back) {
    await outbox.flush();
    if (outbox.items.length) return; // it is shown that they are not saved
    back = (await postTo("/label/undo", { annotator })).sample;
    refreshIn(0);
    if (!back) return announce("Undone; the text is not in the data.", true);
  }
  if (sample && sample.id !== back.id && !wasListed) flow.putBack(sample);
  wasListed = view === "list";
  show(back);
  announce("Undone.", true);
}

const ACTIONS = {
  a: accept,
  Enter: () => (pressed && sample ? save("label", [...pressed]) : accept()),
  // Labels that were given here are confirmed by giving them again.
  k: () => sample?.question && sample.labels && save(project.is_review && view === "review" ? "keep" : "label", sample.labels),
  s: () => save("skip", []),
  n: () => save("unsure", []),
  u: () => run(undo),
  c: () => addClass(""),
  h() {
    isHidden = !isHidden;
    find("hide").setAttribute("aria-pressed", String(isHidden));
    if (sample) draw();
  },
  f() {
    find("filter-panel").open = true;
    find("search").focus();
  },
  g() {
    find("guidelines").open = !find("guidelines").open;
    if (find("guidelines").open) find("guidelines").firstElementChild.focus();
  },
  l: () => run(openTexts),
  r: () => run(openReview),
  t: () => run(() => openList()),
  "/": () => find("type").focus(),
  "?": () => find("help").showModal(),
};

async function openList(id) {
  mark("list");
  sample = null;
  isStalled = false;
  find("sample-view").hidden = find("empty").hidden = true;
  find("list-view").hidden = false;
  find("filter-panel").open = true;
  pages = await showList(annotator, filter, openListed);
  (find("rows").querySelector(`[data-id="${CSS.escape(id ?? "")}"]`) ?? find("list-title")).focus();
}

function openListed(id) {
  run(async () => {
    show((await postTo("/label/sample", { annotator, id })).sample);
    wasListed = true;
  });
}

function mark(name) {
  view = name;
  find("any-state").textContent = name === "list" ? "any" : "to be labelled";
  for (const button of document.querySelectorAll("[data-view]")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
}

function useFilter(values) {
  filter = Object.fromEntries(Object.entries(values).filter(([, value]) => value));
  for (const name of ["search", "state", "class"]) find(name).value = filter[name] ?? "";
  const words = [filter.search && `“${filter.search}”`, filter.state && find("state").selectedOptions[0].text, filter.class && readable(filter.class)];
  find("filter-words").textContent = words.filter(Boolean).join(", ");
}

// Go on with the texts of a filter, from its first one.
async function setFilter(values) {
  find("filter-panel").open = false;
  useFilter(values);
  mark(filter.state === "suspicious" ? "review" : "label");
  await reload();
}

// The default texts of a review are the suspicious ones.
const openTexts = () => setFilter(project.is_review ? { state: "unlabelled" } : {});
const openReview = () => setFilter({ state: "suspicious" });

async function reload() {
  await outbox.flush();
  flow.clear();
  await next();
}

async function exportTo(format) {
  await outbox.flush();
  if (outbox.items.length) return;
  const response = await send(`/label/export?format=${format}`);
  const name = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get("content-disposition"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = decodeURIComponent(name[1]);
  link.click();
  URL.revokeObjectURL(link.href);
  find("export").open = false;
}

async function start() {
  await refresh();
  find("login").hidden = true;
  find("start").hidden = Boolean(annotator);
  find("top").hidden = find("work").hidden = !annotator;
  if (annotator) return project.is_review ? openReview() : openTexts();
  find("start-title").textContent = `Label ${readable(project.name)}`;
  fillSelect("annotators", project.annotators);
  find("annotator").value = decodeURIComponent(location.hash.slice(1)) || project.annotators[0];
  find("annotator").select();
}

function onSubmit(id, task) {
  find(id).addEventListener("submit", (event) => {
    event.preventDefault();
    find("problem").hidden = true;
    run(task);
  });
}

onSubmit("login", async () => {
  setToken(find("token").value);
  if (find("work").hidden) await start();
  find("login").hidden = true;
  refreshIn(0);
  await outbox.flush();
});
onSubmit("start", () => {
  annotator = find("annotator").value.trim();
  history.replaceState(null, "", `#${encodeURIComponent(annotator)}`);
  return start();
});
onSubmit("filter", async () => {
  const values = Object.fromEntries(["search", "state", "class"].map((name) => [name, find(name).value.trim()]));
  if (view !== "list" || sample) return setFilter(values);
  useFilter(values);
  rewind();
  await openList();
});
find("retry").addEventListener("click", () => run(async () => {
  find("problem").hidden = true;
  await outbox.flush();
  if (outbox.items.length) return;
  if (annotator) refreshIn(0);
  if (find("work").hidden) await start();
  else if (view === "list") await openList();
  else if (!sample) await next();
}));
find("clear").addEventListener("click", () => {
  find("filter").reset();
  find("filter").requestSubmit();
});
for (const name of ["previous", "following"]) find(name).addEventListener("click", () => run(async () => {
  pages = await pages[name]();
}));
for (const button of document.querySelectorAll("[data-key]")) button.addEventListener("click", ACTIONS[button.dataset.key]);
for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
find("formats").replaceChildren(...Object.entries(FORMATS).map(([format, name]) => {
  const item = make("li");
  const button = make("button", name, "quiet");
  button.type = "button";
  button.addEventListener("click", () => run(() => exportTo(format)));
  item.append(button);
  return item;
}));
classes.connect(choose, addClass);
connectKeys(ACTIONS);
window.addEventListener("beforeunload", (event) => {
  if (outbox.items.length) event.preventDefault();
});
run(start);
