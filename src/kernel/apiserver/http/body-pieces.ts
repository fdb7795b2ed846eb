/** A body of 3 MiB in blocks of this many of the smallest pieces is 3,000 blocks. */
const mostRecent = 1024;

/**
 * What has come of a body. A piece costs a hundred bytes beside its own and keeps the buffer it was read into, and a client may send one
 * for every byte: therefore small ones are put together on the way. Each byte is copied twice at most.
 */
export class BodyPieces {
  readonly #blocks: Buffer[] = [];
  #recent: Buffer[] = [];
  #size = 0;

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

  /** The whole. One that came in one piece is not copied. */
  joined(): Buffer {
    const all = this.all();
    return all.length === 1 && all[0] !== undefined ? all[0] : Buffer.concat(all);
  }
}
