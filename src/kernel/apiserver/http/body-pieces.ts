/** Small pieces kept before they are joined. */
const mostRecent = 1024;

/** A body, possibly incomplete. Joins small pieces, because a client may send one byte at a time. */
export class BodyPieces {
  readonly #blocks: Buffer[] = [];
  #recent: Buffer[] = [];
  #size = 0;

  constructor(...pieces: readonly Buffer[]) {
    for (const piece of pieces) this.add(piece);
  }

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

  all(): readonly Buffer[] {
    return this.#blocks.length === 0 ? this.#recent : [...this.#blocks, ...this.#recent];
  }

  /** The first bytes, or fewer if the body is shorter. */
  start(bytes: number): Buffer {
    return Buffer.concat(this.all(), Math.min(bytes, this.#size));
  }

  joined(): Buffer {
    const all = this.all();
    return all.length === 1 && all[0] !== undefined ? all[0] : Buffer.concat(all);
  }

  /** A copy in a buffer of its own, to be transferred to another thread. */
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
