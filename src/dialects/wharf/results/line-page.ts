export class LinePage {
  #bytes: Buffer;
  #length = 0;
  lines = 0;

  constructor(textLength: number) {
    this.#bytes = Buffer.allocUnsafe(textLength + (textLength >> 1) + 64);
  }

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
