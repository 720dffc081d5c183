// The list of texts, to find one and to change its label.
import { postTo } from "./api.js";
import { find, make } from "./dom.js";
import { makeLabel, readable } from "./label-sample.js";

const LIMIT = 50;
const STATES = { unlabelled: "not labelled", skipped: "skipped", unsure: "not sure" };
let offset = 0;

export function rewind() {
  offset = 0;
}

export async function showList(annotator, filter, open) {
  const { total, rows } = await postTo("/label/list", { annotator, filter, offset, limit: LIMIT });
  if (offset && !rows.length) {
    offset = 0;
    return showList(annotator, filter, open);
  }
  const range = rows.length ? `, ${offset + 1} to ${offset + rows.length}` : "";
  find("list-title").textContent = `${total.toLocaleString("en")} ${total === 1 ? "text" : "texts"}${total > LIMIT ? range : ""}`;
  find("rows").replaceChildren(...rows.map((row) => {
    const item = make("li");
    const button = make("button", "", "quiet");
    button.type = "button";
    button.dataset.id = row.id;
    const text = make("bdi", readable(row.text));
    text.dir = "auto";
    const about = make("span", "", "hint");
    about.append(...(row.labels ?? []).map(makeLabel), row.labels?.length ? "" : STATES[row.state] ?? "no class");
    if (row.suspicion) about.append(` ${readable(String(row.suspicion))}`);
    button.append(text, about);
    button.addEventListener("click", () => open(row.id));
    item.append(button);
    return item;
  }));
  find("previous").hidden = offset === 0;
  find("following").hidden = offset + rows.length >= total;
  const turn = (step) => async () => {
    offset = Math.max(0, offset + step);
    await showList(annotator, filter, open);
    find("list-title").focus();
  };
  return { previous: turn(-LIMIT), following: turn(LIMIT) };
}
