// The page: its model, its forms, and its errors.
import { getModels, getReport, hasToken, setToken, Unauthorized } from "./api.js";
import { fillSelect, find } from "./dom.js";
import * as file from "./file.js";
import * as single from "./single.js";

let models = [];

function showProblem(error) {
  const needsToken = error instanceof Unauthorized;
  find("login").hidden = !needsToken;
  find("problem").hidden = needsToken && !hasToken();
  find("problem").textContent = error.message;
  if (needsToken) find("token").focus();
}

// Run a task of a form: one at a time, with its error shown.
async function run(task, form) {
  find("problem").hidden = true;
  const buttons = form ? [...form.querySelectorAll("button:not([type])")] : [];
  for (const button of buttons) button.disabled = true;
  try {
    await task();
  } catch (error) {
    showProblem(error);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

function on(id, task) {
  find(id).addEventListener("submit", (event) => {
    event.preventDefault();
    run(task, event.target);
  });
}

function choose() {
  const model = models[find("model").selectedIndex];
  const report = find("report");
  report.hidden = model.is_multilabel;
  report.href = `/models/${encodeURIComponent(model.name)}/report`;
  single.show(model);
  file.show(model);
}

async function start() {
  models = (await getModels()).models;
  find("login").hidden = true;
  fillSelect("model", models.map((model) => model.name));
  choose();
}

on("login", () => {
  setToken(find("token").value);
  return start();
});
on("single-form", single.classify);
on("file-form", file.classify);
find("problem").addEventListener("show", (event) => showProblem(event.detail));
find("stop").addEventListener("click", file.cancel);
find("model").addEventListener("change", () => run(choose));
find("chosen").addEventListener("change", (event) => run(() => file.open(event.target.files[0])));
find("single-form").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find("single-form").requestSubmit();
});
// A link cannot send the token: the report is loaded and saved instead.
find("report").addEventListener("click", (event) => {
  if (!hasToken()) return;
  event.preventDefault();
  run(async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await getReport(find("model").value));
    link.download = `${find("model").value}.html`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
});
const drop = find("drop");
for (const kind of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files.length) run(() => file.open(event.dataTransfer.files[0]));
  });
}
run(start);
