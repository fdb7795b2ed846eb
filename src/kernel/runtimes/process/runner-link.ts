import { connect, type Socket } from "node:net";
import { deferred, type Deferred } from "#lib/base/index.ts";
import { answerLimit, type Patience } from "./patience.ts";
import { encodeFrame, type Message, receiveFrames, type Request } from "./wire.ts";

type Value = Extract<Message, { readonly value: unknown }>["value"];
type WithoutSeq<R> = R extends unknown ? Omit<R, "seq"> : never;

const silence = `the runner has not answered for ${answerLimit / 1_000} s`;

export type Call = WithoutSeq<Request>;

/** The connection failed: the request may or may not have been executed, and may be repeated. */
export class LinkLost extends Error {
  override readonly name = "LinkLost";
}

/** The runner does not answer; an immediate retry would only wait again. */
export class LinkSilent extends LinkLost {}

export interface LinkEvents {
  /** In the order in which the runner sent them, relative to answers too. */
  readonly onEvent: (message: Extract<Message, { readonly event: string }>) => void;
  /** Called once, before pending requests are rejected; with `silence` if the runner did not answer. */
  readonly onLost: (silence?: LinkSilent) => void;
}

/** A connection to a runner: requests and events in order. A runner that hangs counts as a lost connection. */
export class RunnerLink {
  readonly #socket: Socket;
  readonly #patience: Patience;
  readonly #pending = new Map<number, Deferred<Value>>();
  readonly #events: LinkEvents;
  #seq = 0;
  #isLost = false;

  private constructor(socket: Socket, patience: Patience, events: LinkEvents) {
    this.#socket = socket;
    this.#patience = patience;
    this.#events = events;
    receiveFrames<Message>(socket, (message) => this.#receive(message));
    let reason: Error | undefined;
    socket.on("error", (failure) => (reason = failure));
    socket.on("close", () => this.#lost(reason));
  }

  /** Rejects as connect(2) does (ENOENT, ECONNREFUSED). A runner that hangs still connects, but does not answer. */
  static connect(path: string, patience: Patience, events: LinkEvents): Promise<RunnerLink> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const cancel = patience.limit(() => socket.destroy(new LinkSilent("the runner accepts no connection")));
      const fail = (failure: Error) => {
        cancel();
        reject(failure);
      };
      socket.once("error", fail);
      socket.once("connect", () => {
        cancel();
        socket.off("error", fail);
        resolve(new RunnerLink(socket, patience, events));
      });
    });
  }

  /**
   * Rejects with LinkLost if the connection breaks first; with LinkSilent if no answer comes in time, which breaks the
   * connection for all calls; with a plain Error if the runner refuses; with `frame-too-long` if nothing was sent.
   */
  async call(call: Call): Promise<Value> {
    if (this.#isLost) throw new LinkLost("the connection to the runner is gone");
    const seq = ++this.#seq;
    const frame = encodeFrame({ ...call, seq });
    const answer = deferred<Value>();
    // On a breaking socket, the call is rejected when its end is reported.
    this.#pending.set(seq, answer);
    this.#socket.write(frame);
    const cancel = this.#patience.limit(() => this.#socket.destroy(new LinkSilent(silence)));
    try {
      return await answer.promise;
    } finally {
      cancel();
    }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) return resolve();
      const cancel = this.#patience.limit(() => this.#socket.destroy());
      this.#socket.once("close", () => {
        cancel();
        resolve();
      });
      this.#socket.end();
    });
  }

  #receive(received: Message): void {
    if ("event" in received) return this.#events.onEvent(received);
    const answer = this.#pending.get(received.seq);
    this.#pending.delete(received.seq);
    if ("error" in received) answer?.reject(new Error(received.error));
    else answer?.resolve(received.value);
  }

  #lost(reason: Error | undefined): void {
    this.#isLost = true;
    const silence = reason instanceof LinkSilent ? reason : undefined;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    // First, so that a repeated request finds the next connection under way.
    this.#events.onLost(silence);
    for (const answer of pending) answer.reject(silence ?? new LinkLost("the connection to the runner broke"));
  }
}
