import type { Readable } from "node:stream";
import { afterAwake, type Cancel, type Clock, type Millis } from "#lib/base/index.ts";

/** From the first byte of a message. */
export const messageMs: Millis = 60_000;

export interface MessageCount {
  readonly messages: number;
  readonly isInside: boolean;
}

/** A message must be complete within one to two minutes; silence between messages and unread bytes are fine. */
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

  /** One timer serves all messages that begin while it runs. */
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
