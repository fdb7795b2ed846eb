import type { Readable } from "node:stream";
import { afterAwake, type Cancel, type Clock, type Millis } from "#lib/base/index.ts";

/** For a message whose first byte has come. */
export const messageMs: Millis = 60_000;

/** What counts the messages of a stream. */
export interface MessageCount {
  readonly messages: number;
  readonly isInside: boolean;
}

/**
 * Watches over a stream of messages: one that has begun must be whole a minute later, two at the most. Between messages a stream may be
 * silent for as long as it likes. Bytes that wait to be read are not held against the sender.
 */
export class MessageDeadline {
  readonly #clock: Clock;
  readonly #stream: Readable;
  readonly #count: MessageCount;
  readonly #late: () => void;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, stream: Readable, count: MessageCount, late: () => void) {
    this.#clock = clock;
    this.#stream = stream;
    this.#count = count;
    this.#late = late;
  }

  /** Bytes have been counted. One timer serves all messages that begin while it runs. */
  noted(): void {
    if (this.#count.isInside && this.#cancel === undefined) this.#watch(this.#count.messages);
  }

  cancel(): void {
    this.#cancel?.();
  }

  #watch(messages: number): void {
    this.#cancel = afterAwake(this.#clock, messageMs, () => {
      this.#cancel = undefined;
      const { isInside, messages: now } = this.#count;
      if (!isInside) return;
      if (now === messages && this.#stream.readableLength === 0) this.#late();
      else this.#watch(now);
    });
  }
}
