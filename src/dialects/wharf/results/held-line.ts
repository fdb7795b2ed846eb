export const lineFeed = 10;
export const carriageReturn = 13;
const nothing = Buffer.alloc(0);

/** Room is given back when a line that needed more than this is over. */
const keptRoom = 64 * 1024;

/**
 * Where a message that is too long is cut: before the character that would not fit whole, unless what stands there is no text. Nobody
 * sees half a character on each side then.
 */
export function cutOf(bytes: Buffer, most: number): number {
  for (let at = most; at > most - 4 && at > 0; at--) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  return most;
}

/**
 * The beginning of a line whose end has not come yet. Of what a program overwrites (`10 %\r20 %\r`) only the last is held, and of a long
 * line no more than its last piece, so that it takes no more room than one message whatever is printed.
 *
 * A carriage return at its end is kept: it may be part of CRLF, and then says nothing.
 */
export class HeldLine {
  readonly #most: number;
  #room: Buffer = nothing;
  #length = 0;
  /** Set by the first byte, also when all of them were overwritten since. */
  isBegun = false;

  constructor(maxLineBytes: number) {
    this.#most = maxLineBytes;
  }

  /** Takes bytes without a line feed; answers with the pieces that are full. */
  add(bytes: Buffer): readonly Buffer[] {
    if (bytes.length === 0) return [];
    this.isBegun = true;
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length; ) {
      // What was there before a return is overwritten by what comes behind it.
      if (this.#endsInReturn) this.#length = 0;
      const found = bytes.indexOf(carriageReturn, from);
      const end = found < 0 ? bytes.length : found;
      this.#fill(bytes, from, end, pieces);
      if (found >= 0) this.#push(bytes, found, found + 1);
      from = found < 0 ? end : found + 1;
    }
    return pieces;
  }

  /** The last piece, the line being over. */
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

  /** Appends text, giving away what is too much for one message. Each byte is copied twice at most. */
  #fill(bytes: Buffer, start: number, end: number, pieces: Buffer[]): void {
    for (let from = start; from < end; ) {
      // One more than fits: only then it is known that the piece is over.
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

  /** The room doubles, up to one message and two bytes: the one that shows it is full, and a return. */
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
