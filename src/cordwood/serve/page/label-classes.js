// The classes: buttons with keys, a field that finds one by its name, and new ones.
import { find, make } from "./dom.js";
import { inPercent, readable } from "./label-sample.js";

const MAX_BUTTONS = 20;
const MAX_OPTIONS = 50;
let classes = [];
let options = [];
let active = 0;
let choose;
let create;

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export function setClasses(found) {
  classes = found;
}

export function getNames() {
  return classes.map((each) => each.name);
}

// Draw the buttons; those of a text with several labels can be pressed and released.
export function showButtons({ suggestion, pressed, current }) {
  const shown = classes.length > MAX_BUTTONS ? classes.slice(0, 9) : classes;
  const extra = classes.filter((each) => !shown.includes(each) && (pressed?.has(each.name) ?? false));
  const shares = new Map((suggestion?.labels ?? []).map((each) => [each.label, each.probability]));
  find("classes").replaceChildren(...[...shown, ...extra].map((each, i) => {
    const button = make("button", "", "class");
    button.type = "button";
    if (i < 9) {
      button.append(make("kbd", String(i + 1)));
      button.setAttribute("aria-keyshortcuts", String(i + 1));
    }
    const name = make("bdi", readable(each.name), "name");
    name.dir = "auto";
    button.append(name);
    if (shares.get(each.name)) button.append(make("span", inPercent(shares.get(each.name)), "share"));
    if (each.description) button.title = readable(each.description);
    button.classList.toggle("suggested", suggestion?.labels[0]?.label === each.name);
    if (pressed) button.setAttribute("aria-pressed", String(pressed.has(each.name)));
    else if (current?.includes(each.name)) button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => choose(each.name));
    return button;
  }));
}

function findOptions(query) {
  const folded = fold(query.trim());
  const rank = (name) => {
    const place = fold(name).indexOf(folded);
    if (place <= 0) return place;
    return /[\s_/-]/.test(fold(name)[place - 1]) ? 1 : 2;
  };
  const ranked = classes.map((each) => ({ name: each.name, place: rank(each.name) })).filter((each) => each.place >= 0);
  ranked.sort((a, b) => a.place - b.place);
  const isNew = folded && !classes.some((each) => each.name === query.trim());
  return [...ranked.slice(0, MAX_OPTIONS), ...(isNew ? [{ name: query.trim(), isNew }] : [])];
}

function showOptions() {
  const field = find("type");
  options = findOptions(field.value);
  active = Math.min(active, Math.max(options.length - 1, 0));
  find("options").hidden = !options.length;
  field.setAttribute("aria-expanded", String(options.length > 0));
  find("options").replaceChildren(...options.map((each, i) => {
    const option = make("li", each.isNew ? `New class “${readable(each.name)}”` : readable(each.name));
    option.id = `option-${i}`;
    option.dir = "auto";
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", String(i === active));
    option.addEventListener("mousedown", (event) => {
      event.preventDefault(); // the field keeps the focus, and the list open
      pick(i);
    });
    return option;
  }));
  if (options.length) field.setAttribute("aria-activedescendant", `option-${active}`);
  else field.removeAttribute("aria-activedescendant");
  find(`option-${active}`)?.scrollIntoView({ block: "nearest" });
}

function close() {
  find("options").hidden = true;
  find("type").setAttribute("aria-expanded", "false");
  find("type").removeAttribute("aria-activedescendant");
  find("type").value = "";
}

function pick(i) {
  const option = options[i];
  close();
  if (option.isNew) create(option.name);
  else choose(option.name);
}

function onKey(event) {
  const isOpen = !find("options").hidden;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) {
    active = isOpen ? (active + steps[event.key] + options.length) % (options.length || 1) : 0;
    showOptions();
  } else if (event.key === "Enter" && isOpen && options.length) {
    pick(active);
  } else if (event.key === "Escape") {
    close();
    find("sample").focus();
  } else {
    return;
  }
  event.preventDefault();
}

export function connect(onChoose, onCreate) {
  choose = onChoose;
  create = onCreate;
  find("type").addEventListener("input", () => {
    active = 0;
    showOptions();
  });
  find("type").addEventListener("keydown", onKey);
  find("type").addEventListener("click", showOptions);
  find("type").addEventListener("blur", close);
}

// Ask for the name and the description of a class; `save` gets both, and may reject them.
export function openDialog(name, description, isNew, save) {
  const dialog = find("new-class");
  const form = dialog.querySelector("form");
  const problem = form.querySelector("[role=alert]");
  find("new-class-title").textContent = isNew ? "New class" : "Describe a class";
  find("class-name").value = name;
  find("class-name").readOnly = !isNew;
  find("class-description").value = description;
  problem.hidden = true;
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      await save(find("class-name").value.trim(), find("class-description").value.trim());
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  dialog.showModal();
  find(isNew && !name ? "class-name" : "class-description").focus();
}
