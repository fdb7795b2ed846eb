import { connect, type Socket } from "node:net";
import { deferred, type Deferred } from "#lib/base/index.ts";
import { encodeFrame, type Message, receiveFrames, type Request } from "./wire.ts";

type Value = Extract<Message, { readonly value: unknown }>["value"];
type WithoutSeq<R> = R extends unknown ? Omit<R, "seq"> : never;

/** A request as callers write it. */
export type Call = WithoutSeq<Request>;

/** The connection itself failed: whether the request was carried out is unknown, and it may be repeated. */
export class LinkLost extends Error {
  override readonly name = "LinkLost";
}

export interface LinkEvents {
  readonly onEvent: (message: Extract<Message, { readonly event: string }>) => void;
  /** Called once, before the pending requests are rejected. */
  readonly onLost: () => void;
}

/** One connection to a runner: requests with their answers, and its events in order. */
export class RunnerLink {
  readonly #socket: Socket;
  readonly #pending = new Map<number, Deferred<Value>>();
  readonly #events: LinkEvents;
  #seq = 0;
  #isLost = false;

  private constructor(socket: Socket, events: LinkEvents) {
    this.#socket = socket;
    this.#events = events;
    receiveFrames<Message>(socket, (message) => this.#receive(message));
    // The reason matters to nobody: a link that broke is made again.
    socket.on("error", () => undefined);
    socket.on("close", () => this.#lost());
  }

  static connect(path: string, events: LinkEvents): Promise<RunnerLink> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RunnerLink(socket, events));
      });
    });
  }

  /** Rejects with LinkLost when the connection breaks before the answer, with a plain Error when the runner refuses. */
  call(call: Call): Promise<Value> {
    const seq = ++this.#seq;
    const answer = deferred<Value>();
    if (this.#isLost) return Promise.reject(new LinkLost("the connection to the runner is gone"));
    // On a socket that is just breaking the answer is that it broke, once everybody knows it.
    this.#pending.set(seq, answer);
    this.#socket.write(encodeFrame({ ...call, seq }));
    return answer.promise;
  }

  /** Resolves when the connection is gone. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) return resolve();
      this.#socket.once("close", () => resolve());
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

  #lost(): void {
    this.#isLost = true;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    // First, so that who repeats a request finds the next connection under way.
    this.#events.onLost();
    for (const answer of pending) answer.reject(new LinkLost("the connection to the runner broke"));
  }
}
