// The order of texts: the next one is requested while the user reads.
const MAX_SEEN = 300;

export class Flow {
  #ahead = null;
  #back = []; // texts that left the screen without a label
  #seen = []; // so that texts of a filter, which keep their state, do not come again

  constructor(request) {
    this.request = request; // of skipped ids: a promise of a sample, or of null at the end
  }

  clear() {
    this.#ahead = null;
    this.#back = [];
    this.#seen = [];
  }

  putBack(sample) {
    this.#back.unshift(sample);
  }

  see({ id }) {
    this.#seen = [id, ...this.#seen.filter((each) => each !== id)].slice(0, MAX_SEEN);
  }

  prefetch() {
    this.#ahead = this.request([...new Set([...this.#seen, ...this.#back.map((each) => each.id)])]);
    this.#ahead.catch(() => {}); // tried again when the text is needed
  }

  async next() {
    if (this.#back.length) return this.#back.shift();
    if (!this.#ahead) this.prefetch();
    try {
      return await this.#ahead;
    } catch {
      this.prefetch();
      return await this.#ahead;
    }
  }
}
