import type { RawData, WebSocket } from "ws";
import { type Clock, messageOf } from "#lib/base/index.ts";
import { encodeMessage } from "./channels.ts";
import { cutReason, type Ending, endOf } from "./ending.ts";

/**
 * Called for each message in order, one at a time. Nothing more is read while its promise is pending; if it throws, the
 * connection is closed with 1011.
 */
export type Receive = (channel: number, payload: Buffer) => void | Promise<void>;

/** Longer payloads go out as several messages so that pings get through. */
const longestPiece = 256 * 1024;

/**
 * An open WebSocket with numbered channels, the same on both sides. Nothing is read before `listen`. It pings and gives
 * up an other end that is silent for a minute; the owner calls `close` even after the other end has closed.
 */
export class ChannelSocket {
  /** The agreed protocol. */
  readonly protocol: string;
  /** Resolves with the end of the connection, whatever the reason. */
  readonly closed: Promise<Ending>;
  readonly #socket: WebSocket;
  /** Messages that were read and not yet handled. */
  #pending = 0;
  #turn: Promise<void> = Promise.resolve();
  #isClosing = false;

  /** `socket` must be open and unread: it is paused here. */
  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.protocol = socket.protocol;
    socket.pause();
    this.closed = endOf(socket, clock);
  }

  /** Begins to read; called once. Empty messages are ignored. */
  listen(receive: Receive): void {
    this.#socket.on("message", (data) => {
      const message = bytesOf(data);
      if (message.length === 0 || this.#isClosing) return;
      this.#take(receive, message[0] ?? 0, message.subarray(1));
    });
    this.#socket.resume();
  }

  /** Resolves when every message read so far is handled. Does not delay `closed`. */
  get settled(): Promise<void> {
    return this.#turn;
  }

  /**
   * Resolves true once the system has taken the payload, at the pace of the other end; false if the connection has
   * ended. Await it to keep one piece in memory.
   */
  async send(channel: number, payload: Uint8Array): Promise<boolean> {
    for (let at = 0; at < payload.length || at === 0; at += longestPiece) {
      if (!(await this.#sendPiece(encodeMessage(channel, payload.subarray(at, at + longestPiece))))) return false;
    }
    return true;
  }

  /** Ends the connection after what was sent and drops what still comes in. The reason is cut to fit a frame. */
  close(code = 1000, reason = ""): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#socket.close(code, cutReason(reason));
    // Reads the other end's answer.
    this.#socket.resume();
  }

  /** Ends it at once. */
  cut(): void {
    this.#isClosing = true;
    this.#socket.terminate();
  }

  #take(receive: Receive, channel: number, payload: Buffer): void {
    if (this.#pending === 0) {
      const work = this.#attempt(() => receive(channel, payload));
      if (work === undefined) return;
      this.#turn = work;
    } else {
      this.#turn = this.#turn.then(() => this.#attempt(() => receive(channel, payload)));
    }
    this.#pending += 1;
    this.#socket.pause();
    void this.#turn.then(() => {
      this.#pending -= 1;
      if (this.#pending === 0) this.#socket.resume();
    });
  }

  #attempt(work: () => void | Promise<void>): Promise<void> | undefined {
    const fail = (thrown: unknown) => this.close(1011, messageOf(thrown));
    if (this.#isClosing) return undefined;
    try {
      return work()?.catch(fail);
    } catch (thrown) {
      fail(thrown);
      return undefined;
    }
  }

  #sendPiece(message: Buffer): Promise<boolean> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) =>
      socket.send(message, { binary: true }, (failure) => resolve(!(failure instanceof Error))),
    );
  }
}

/** The library delivers one buffer by default. */
function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
