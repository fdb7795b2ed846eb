/** As much as an answer hands to its connection at once. */
const sendBufferBytes = 64 * 1024;
/** Kept for the next answers: as many as are sent at once on an ordinary day. */
const mostFree = 32;

/**
 * Memory that large answers are sent from: one piece for each answer under way, filled again when the connection has taken it. Fresh memory
 * for every 64 KiB of a list would wait for the garbage collector, a few hundred megabytes of it when many lists are sent at once, and
 * would make it stop everybody. The connection has a copy of its own, encrypted.
 */
export class SendBuffers {
  readonly #free: Buffer[] = [];

  /** What is in it is anything. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(sendBufferBytes);
  }

  /** Nobody may look at it any more, a connection that was cut included. */
  give(buffer: Buffer): void {
    if (this.#free.length < mostFree) this.#free.push(buffer);
  }
}
