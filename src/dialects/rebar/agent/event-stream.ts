import type { Agent } from "node:http";
import {
  type Clock,
  deferred,
  type Deferred,
  isJsonObject,
  type JsonObject,
  type Millis,
  textAt,
} from "#lib/base/index.ts";
import { connectText, type TextSocket } from "#kernel/websocket/index.ts";

export interface StreamPlace {
  /** `https://HOST:PORT/api/v3/ws`. */
  readonly url: string;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Ends the handshake only. */
  readonly signal: AbortSignal;
}

/** How long a registration may stay unanswered. */
const answerLimit: Millis = 30_000;

/** The server's events over a websocket. Only what was registered arrives. */
export class EventStream {
  /** Resolves when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #socket: TextSocket;
  readonly #clock: Clock;
  /** By filter. */
  readonly #registering = new Map<string, Deferred<void>>();
  #listener: (event: JsonObject) => void = () => undefined;

  private constructor(socket: TextSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.ended = socket.closed.then(({ code, reason }) => {
      const failure = new Error(`the server closed the event stream (${code}${reason === "" ? "" : ` ${reason}`})`);
      for (const waiting of this.#registering.values()) waiting.reject(failure);
    });
    socket.listen((text) => this.#receive(text));
  }

  static async open(place: StreamPlace): Promise<EventStream> {
    return new EventStream(await connectText(place), place.clock);
  }

  /** Called for each event. One listener; it must not throw. */
  listen(listener: (event: JsonObject) => void): void {
    this.#listener = listener;
  }

  /** Resolves when the server sends events that match `TYPE.ACTION.KEY`. */
  async register(filter: string): Promise<void> {
    const registered = deferred<void>();
    registered.promise.catch(() => undefined);
    this.#registering.set(filter, registered);
    const cancel = this.#clock.after(answerLimit, () => registered.reject(new Error(`${filter} is not registered`)));
    try {
      if (!(await this.#socket.send(`register ${filter}`))) throw new Error("the event stream has ended");
      await registered.promise;
    } finally {
      cancel();
      this.#registering.delete(filter);
    }
  }

  close(): void {
    this.#socket.close();
  }

  #receive(text: string): void {
    const event: unknown = JSON.parse(text);
    if (!isJsonObject(event)) return;
    if (event["Type"] === "websocket") this.#registering.get(textAt(event, "Key") ?? "")?.resolve();
    else this.#listener(event);
  }
}
