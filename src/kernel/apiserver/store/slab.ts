const slabBytes = 64 * 1024;
// Larger pieces would waste the rest of a slab.
const ownBuffer = slabBytes / 8;

export interface Space {
  take(length: number): Buffer;
}

export const ownBuffers: Space = { take: (length) => Buffer.allocUnsafeSlow(length) };

/** Allocating per object costs as much as encoding it. A piece keeps its slab: `ownCopy` pieces that live longer. */
export class Slab implements Space {
  #slab = Buffer.alloc(0);
  #used = 0;

  take(length: number): Buffer {
    if (length > ownBuffer) return Buffer.allocUnsafeSlow(length);
    if (this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const piece = this.#slab.subarray(this.#used, this.#used + length);
    this.#used += length;
    return piece;
  }
}

/** The same bytes in memory of their own. */
export function ownCopy(piece: Buffer): Buffer {
  if (piece.buffer.byteLength === piece.length) return piece;
  const own = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(own);
  return own;
}
