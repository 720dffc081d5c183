// Requests to the server. The token stays in memory: no cookies, no storage.
let token = "";

export class Unauthorized extends Error {}
export class NoReply extends Error {}

export function setToken(value) {
  token = value;
}

export function hasToken() {
  return token !== "";
}

export async function send(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new NoReply("The server does not answer; is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const sentence = body.error || `The server answered ${response.status}`;
  const error = response.status === 401 ? new Unauthorized(sentence) : new Error(sentence);
  error.status = response.status;
  error.retry = response.status === 429 || response.status === 503;
  throw error;
}

export async function getModels() {
  return (await send("/models")).json();
}

export async function getReport(name) {
  return (await send(`/models/${encodeURIComponent(name)}/report`)).blob();
}

export function post(model, action, values, signal) {
  return postTo(`/models/${encodeURIComponent(model)}/${action}`, values, signal);
}

export async function postTo(path, values, signal) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(values), signal };
  // A busy server asks to come again.
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await (await send(path, options)).json();
    } catch (error) {
      if (!error.retry || attempt === 5) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
    }
  }
}

export async function readRows(file) {
  const response = await send(`/rows?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  const lines = (await response.text()).split("\n").filter((line) => line);
  return lines.map((line) => JSON.parse(line));
}
