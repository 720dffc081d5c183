// Labels that the server has not confirmed: sent one by one, in their order, until it has.
import { NoReply, Unauthorized } from "./api.js";

const RETRY_MS = 2000;

export class Outbox {
  #sending = null;
  #timer = 0;

  constructor(send, { onSaved, onWaiting, onRejected }) {
    this.items = [];
    this.send = send;
    Object.assign(this, { onSaved, onWaiting, onRejected });
  }

  add(item) {
    this.items.push(item);
    return this.flush();
  }

  // Take back the newest item that is not being sent.
  takeLast() {
    return this.items.length > (this.#sending ? 1 : 0) ? this.items.pop() : undefined;
  }

  flush() {
    clearTimeout(this.#timer);
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendAll() {
    while (this.items.length) {
      const [item] = this.items;
      try {
        const reply = await this.send(item);
        this.items.shift();
        this.onSaved(item, reply);
      } catch (error) {
        if (error instanceof NoReply || error instanceof Unauthorized || error.retry || error.status >= 500) {
          if (!(error instanceof Unauthorized)) this.#timer = setTimeout(() => this.flush(), RETRY_MS);
          this.onWaiting(error, this.items.length);
          return;
        }
        this.items.shift();
        this.onRejected(item, error);
      }
    }
  }
}
