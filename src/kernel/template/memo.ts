/** Keeps the values that were used last, up to a number of characters of keys and values together. */
export class Memo<V> {
  readonly #maxChars: number;
  readonly #entries = new Map<string, { readonly value: V; readonly chars: number }>();
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** `valueChars` is the size of the value. Values that are too large for all are not kept. */
  set(key: string, value: V, valueChars: number): void {
    const chars = key.length + valueChars;
    this.#forget(key);
    if (chars > this.#maxChars) return;
    this.#entries.set(key, { value, chars });
    this.#chars += chars;
    for (const oldest of this.#entries.keys()) {
      if (this.#chars <= this.#maxChars) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#entries.get(key)?.chars ?? 0;
    this.#entries.delete(key);
  }
}
