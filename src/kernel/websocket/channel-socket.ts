import type { RawData, WebSocket } from "ws";
import { type Cancel, type Clock, deferred, type Millis, messageOf } from "#lib/base/index.ts";
import { encodeMessage } from "./channels.ts";

/** How a connection has ended. RFC 6455, 7.4.1: 1000 as agreed, 1001 one side stops, 1006 it broke. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/**
 * Called for each message with its channel and the rest of it, in order, one at a time. While what it returned is pending nothing
 * more is read from the connection; what it throws closes the connection with 1011.
 */
export type Receive = (channel: number, payload: Buffer) => void | Promise<void>;

/** A longer payload goes out as several messages, so that pings come in between. */
const longestPiece = 256 * 1024;
/** RFC 6455, 5.5: 125 bytes, two of which are the code. */
const longestReason = 123;
const pingEvery: Millis = 30_000;

/**
 * One open WebSocket whose messages belong to numbered channels; the same on both sides. Nothing is read before `listen`. It pings,
 * and gives up an other end that does not answer for a minute; it is closed with `close`, also after the other end has closed.
 */
export class ChannelSocket {
  /** The protocol both sides have agreed on. */
  readonly protocol: string;
  /** Resolves with the end of the connection, however it comes. */
  readonly closed: Promise<Ending>;
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  /** Messages that were read and not dealt with yet: as many as fit into one read of the system. */
  #pending = 0;
  #turn: Promise<void> = Promise.resolve();
  #isClosing = false;
  #isAnswered = true;
  #nextPing: Cancel = () => undefined;

  /** `socket` must be open, and nothing read of it yet: it is paused here. */
  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.protocol = socket.protocol;
    socket.pause();
    const closed = deferred<Ending>();
    this.closed = closed.promise;
    // What is wrong with a connection is its end, which is told.
    socket.on("error", () => undefined);
    socket.on("pong", () => (this.#isAnswered = true));
    socket.once("close", (code, reason) => {
      this.#nextPing();
      closed.resolve({ code, reason: reason.toString("utf8") });
    });
    this.#nextPing = clock.after(pingEvery, () => this.#ping());
  }

  /** Begins to read. Called once. Messages without a first byte say nothing and are passed over. */
  listen(receive: Receive): void {
    this.#socket.on("message", (data) => {
      const message = bytesOf(data);
      if (message.length === 0 || this.#isClosing) return;
      this.#take(receive, message[0] ?? 0, message.subarray(1));
    });
    this.#socket.resume();
  }

  /** Resolves when the receiver has dealt with every message that was read so far. The end of the connection does not wait for that. */
  get settled(): Promise<void> {
    return this.#turn;
  }

  /**
   * Resolves true once the system has taken the payload, at the pace of the other end: who waits for it holds one piece in memory.
   * False when the connection has ended.
   */
  async send(channel: number, payload: Uint8Array): Promise<boolean> {
    for (let at = 0; at < payload.length || at === 0; at += longestPiece) {
      if (!(await this.#sendPiece(encodeMessage(channel, payload.subarray(at, at + longestPiece))))) return false;
    }
    return true;
  }

  /** Ends the connection after what was sent; what still comes in is dropped. The reason is cut where it is too long for a frame. */
  close(code = 1000, reason = ""): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#socket.close(code, cut(reason));
    // The other end's answer has to be read.
    this.#socket.resume();
  }

  /** Ends it where it is. */
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

  /**
   * An answer cannot be read while messages wait here, and no ping while what was sent before waits at the other end; then the system's own look
   * at the connection has to do.
   */
  #ping(): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const mayBeLate = socket.isPaused || socket.bufferedAmount > 0;
    if (!this.#isAnswered && !mayBeLate) return this.cut();
    this.#isAnswered = mayBeLate;
    socket.ping();
    this.#nextPing = this.#clock.after(pingEvery, () => this.#ping());
  }
}

/** The library gives one buffer unless it is told otherwise. */
function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

function cut(reason: string): string {
  let text = reason.slice(0, longestReason);
  while (Buffer.byteLength(text) > longestReason) text = text.slice(0, -1);
  return text;
}
