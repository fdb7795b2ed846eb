export const lineFeed = 10;
export const carriageReturn = 13;
const nothing = Buffer.alloc(0);

/** Larger buffers are released after their line. */
const keptRoom = 64 * 1024;

/** Cuts at a character boundary. */
export function cutOf(bytes: Buffer, most: number): number {
  for (let at = most; at > most - 4 && at > 0; at--) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return most;
}

/** The beginning of an incomplete line. Only the last overwritten part (`10 %\r20 %\r`) and the last piece of a long
 * line are held, so memory is bounded by one message. A trailing carriage return is kept because it may belong to CRLF.
 */
export class HeldLine {
  readonly #most: number;
  #room: Buffer = nothing;
  #length = 0;
  /** True even if all bytes were overwritten. */
  isBegun = false;

  constructor(maxLineBytes: number) {
    this.#most = maxLineBytes;
  }

  add(bytes: Buffer): readonly Buffer[] {
    if (bytes.length === 0) return [];
    this.isBegun = true;
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length; ) {
      // The text before a carriage return is overwritten.
      if (this.#endsInReturn) this.#length = 0;
      const found = bytes.indexOf(carriageReturn, from);
      const end = found < 0 ? bytes.length : found;
      this.#fill(bytes, from, end, pieces);
      if (found >= 0) this.#push(bytes, found, found + 1);
      from = found < 0 ? end : found + 1;
    }
    return pieces;
  }

  take(): Buffer {
    const end = this.#endsInReturn ? this.#length - 1 : this.#length;
    const bytes = Buffer.from(this.#room.subarray(0, end));
    this.#length = 0;
    this.isBegun = false;
    if (this.#room.length > keptRoom) this.#room = nothing;
    return bytes;
  }

  get #endsInReturn(): boolean {
    return this.#length > 0 && this.#room[this.#length - 1] === carriageReturn;
  }

  #fill(bytes: Buffer, start: number, end: number, pieces: Buffer[]): void {
    for (let from = start; from < end; ) {
      const upTo = Math.min(end, from + this.#most + 1 - this.#length);
      this.#push(bytes, from, upTo);
      from = upTo;
      if (this.#length <= this.#most) continue;
      const cut = cutOf(this.#room, this.#most);
      pieces.push(Buffer.from(this.#room.subarray(0, cut)));
      this.#room.copy(this.#room, 0, cut, this.#length);
      this.#length -= cut;
    }
  }

  #push(bytes: Buffer, from: number, to: number): void {
    const needed = this.#length + to - from;
    if (needed > this.#room.length) {
      const wider = Buffer.allocUnsafe(Math.max(256, Math.min(2 * needed, this.#most + 2), needed));
      this.#room.copy(wider, 0, 0, this.#length);
      this.#room = wider;
    }
    bytes.copy(this.#room, this.#length, from, to);
    this.#length = needed;
  }
}
