import { type Clock, messageOf } from "#lib/base/index.ts";
import type { WebSocket } from "ws";
import { cutReason, type Ending, endOf } from "./ending.ts";

/**
 * An open WebSocket whose messages are texts, the same on both sides. Nothing is read before `listen`. It pings and
 * gives up an other end that is silent for a minute; the owner calls `close` even after the other end has closed.
 */
export class TextSocket {
  /** Resolves with the end of the connection, whatever the reason. */
  readonly closed: Promise<Ending>;
  readonly #socket: WebSocket;

  /** `socket` must be open and unread: it is paused here. */
  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    socket.pause();
    this.closed = endOf(socket, clock);
  }

  /** Begins to read; called once. Binary messages are ignored. If it throws, the connection is closed with 1011. */
  listen(receive: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (isBinary) return;
      try {
        receive((data as Buffer).toString("utf8"));
      } catch (thrown) {
        this.close(1011, messageOf(thrown));
      }
    });
    this.#socket.resume();
  }

  /** Bytes that were sent and not yet taken by the system. */
  get backlog(): number {
    return this.#socket.bufferedAmount;
  }

  /** Resolves true once the system has taken it; false if the connection has ended. */
  send(text: string): Promise<boolean> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) => socket.send(text, (failure) => resolve(!(failure instanceof Error))));
  }

  /** Ends the connection after what was sent. The reason has at most 123 bytes. */
  close(code = 1000, reason = ""): void {
    this.#socket.close(code, cutReason(reason));
    this.#socket.resume();
  }

  /** Ends it at once. */
  cut(): void {
    this.#socket.terminate();
  }
}
