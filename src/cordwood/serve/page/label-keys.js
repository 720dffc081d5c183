// Single keys, outside of fields and dialogs.
import { fillTable, find, make } from "./dom.js";

const KEYS = [
  ["1 … 9", "choose one of the first nine classes"], ["/", "type the name of a class, or of a new one"],
  ["a", "accept the suggestion"], ["Enter", "accept the suggestion; with several labels, save them"],
  ["k", "keep the label in question"], ["s", "skip"], ["n", "not sure"], ["u", "undo"], ["c", "new class"],
  ["h", "hide or show suggestions and similar texts"], ["f", "search and filter"], ["g", "guidelines"],
  ["l, r, t", "label, review, list of texts"], ["?", "this help"],
];

export function connectKeys(actions) {
  fillTable("keys", KEYS.map(([key, words]) => [make("kbd", key), words]));
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    // A key that is held down must not label text after text.
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
    if (find("work").hidden || document.querySelector("dialog[open]") || !find("single-keys").checked) return;
    if (target.closest("input, textarea, select") || (key === "Enter" && target.closest("button, summary"))) return;
    const button = /^[1-9]$/.test(key) && !find("sample-view").hidden ? find("classes").children[key - 1] : null;
    const action = button ? () => button.click() : Object.hasOwn(actions, key) && actions[key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
