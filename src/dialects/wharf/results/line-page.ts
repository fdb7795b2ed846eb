/**
 * Lines ready for the file, one after the other in one buffer that grows: stamps before short lines can be many times longer than the lines.
 * Doubling keeps it linear in what is put into it.
 */
export class LinePage {
  #bytes: Buffer;
  #length = 0;
  lines = 0;

  /** For about so many bytes of text. */
  constructor(textLength: number) {
    this.#bytes = Buffer.allocUnsafe(textLength + (textLength >> 1) + 64);
  }

  /** A line: its time, what stands in `source` between two places, and a line feed. */
  add(time: Buffer, source: Buffer, from: number, to: number): void {
    const length = time.length + to - from + 1;
    if (this.#length + length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(time, this.#length);
    source.copy(this.#bytes, this.#length + time.length, from, to);
    this.#length += length;
    this.#bytes[this.#length - 1] = 10;
    this.lines++;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(more: number): void {
    const wider = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#bytes.copy(wider, 0, 0, this.#length);
    this.#bytes = wider;
  }
}
