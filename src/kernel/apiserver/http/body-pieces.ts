/** A body of 3 MiB in blocks of this many of the smallest pieces is 3,000 blocks. */
const mostRecent = 1024;

/**
 * A body, or what has come of it. A piece costs a hundred bytes beside its own and keeps the buffer it was read into, and a client may send one
 * for every byte: therefore small ones are put together on the way. Each byte is copied twice at most.
 */
export class BodyPieces {
  readonly #blocks: Buffer[] = [];
  #recent: Buffer[] = [];
  #size = 0;

  constructor(...pieces: readonly Buffer[]) {
    for (const piece of pieces) this.add(piece);
  }

  /** Bytes in all. */
  get size(): number {
    return this.#size;
  }

  add(piece: Buffer): void {
    this.#size += piece.length;
    this.#recent.push(piece);
    if (this.#recent.length < mostRecent) return;
    this.#blocks.push(Buffer.concat(this.#recent));
    this.#recent = [];
  }

  /** In their order, fewer than came when many did. */
  all(): readonly Buffer[] {
    return this.#blocks.length === 0 ? this.#recent : [...this.#blocks, ...this.#recent];
  }

  /** The first bytes, as many as there are of them. */
  start(bytes: number): Buffer {
    return Buffer.concat(this.all(), Math.min(bytes, this.#size));
  }

  /** The whole. One that came in one piece is not copied; of others it is a buffer of its own, a millisecond for a megabyte. */
  joined(): Buffer {
    const all = this.all();
    return all.length === 1 && all[0] !== undefined ? all[0] : Buffer.concat(all);
  }

  /** A copy with a buffer of its own, which can be given to another thread: what was read shares its buffer with other requests. */
  copied(): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(this.#size);
    let at = 0;
    for (const piece of this.all()) {
      copy.set(piece, at);
      at += piece.length;
    }
    return copy;
  }
}
