import { type Clock, formatInstant, isJsonObject, textAt } from "#lib/base/index.ts";
import type { TextSocket } from "#kernel/websocket/index.ts";
import type { Caller } from "../api/callers.ts";
import { isCollection } from "../kinds.ts";
import { jsonOnWire } from "../api/wire.ts";
import type { RebarEvent, RebarStore } from "../store.ts";
import { principalText } from "../world.ts";
import { type EventFilter, matches, readFilter } from "./filter.ts";

const mostQueued = 1000;
const mostQueuedBytes = 64 * 2 ** 20;
const mostFilters = 1000;
const longestFilter = 4096;

type Socket = Pick<TextSocket, "send" | "listen" | "close" | "cut" | "closed" | "backlog">;

/** Fans events out to connections; each event is encoded once. Most agents wait for one machine: found by its key. */
export class EventStreams {
  readonly #store: Pick<RebarStore, "listen">;
  readonly #clock: Clock;
  readonly #open = new Set<EventStream>();
  /** Those that wait for any key. */
  readonly #ofAllKeys = new Set<EventStream>();
  readonly #byKey = new Map<string, Set<EventStream>>();
  #stop: (() => void) | undefined;

  constructor(store: Pick<RebarStore, "listen">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes the connection over until it ends. */
  add(socket: Socket, caller: Caller): void {
    let keys: ReadonlySet<string> | undefined = noKeys;
    const stream: EventStream = new EventStream(socket, caller, this.#clock, (wanted) => {
      this.#unindex(stream, keys);
      keys = wanted;
      this.#index(stream, keys);
    });
    this.#open.add(stream);
    this.#stop ??= this.#store.listen((event) => this.#send(event));
    void socket.closed.then(() => {
      this.#open.delete(stream);
      this.#unindex(stream, keys);
      if (this.#open.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    });
  }

  close(): void {
    this.#stop?.();
    for (const stream of this.#open) stream.close(1001, "the server stops");
  }

  #index(stream: EventStream, keys: ReadonlySet<string> | undefined): void {
    if (keys === undefined) this.#ofAllKeys.add(stream);
    for (const key of keys ?? []) {
      const streams = this.#byKey.get(key);
      if (streams === undefined) this.#byKey.set(key, new Set([stream]));
      else streams.add(stream);
    }
  }

  #unindex(stream: EventStream, keys: ReadonlySet<string> | undefined): void {
    if (keys === undefined) this.#ofAllKeys.delete(stream);
    for (const key of keys ?? []) {
      const streams = this.#byKey.get(key);
      streams?.delete(stream);
      if (streams?.size === 0) this.#byKey.delete(key);
    }
  }

  #send(event: RebarEvent): void {
    let text: string | undefined;
    for (const streams of [this.#ofAllKeys, this.#byKey.get(event.Key) ?? []])
      for (const stream of streams) if (stream.wants(event)) stream.send((text ??= encode(event)));
  }
}

const noKeys: ReadonlySet<string> = new Set();

/** Undefined: any. */
function keysOf(filters: Iterable<EventFilter>): ReadonlySet<string> | undefined {
  const all = new Set<string>();
  for (const { keys } of filters) {
    if (keys === undefined) return undefined;
    for (const key of keys) all.add(key);
  }
  return all;
}

const encode = (event: RebarEvent): string => {
  const { Type, Object, Original } = event;
  const shown = (value: RebarEvent["Object"]) =>
    isCollection(Type) && isJsonObject(value) ? jsonOnWire(Type, value) : value;
  return JSON.stringify({ ...event, Object: shown(Object), Original: shown(Original) });
};

class EventStream {
  readonly #socket: Socket;
  readonly #caller: Caller;
  readonly #clock: Clock;
  readonly #filters = new Map<string, EventFilter>();
  readonly #waitsFor: (keys: ReadonlySet<string> | undefined) => void;
  #queued = 0;
  #isEnding = false;

  constructor(socket: Socket, caller: Caller, clock: Clock, waitsFor: (keys: ReadonlySet<string> | undefined) => void) {
    this.#waitsFor = waitsFor;
    this.#socket = socket;
    this.#caller = caller;
    this.#clock = clock;
    socket.listen((text) => this.#receive(text));
  }

  /** Ends the connection if the caller's credentials were revoked. */
  wants(event: RebarEvent): boolean {
    if (this.#isEnding || !this.#isRegistered(event)) return false;
    if (this.#caller.isValid()) return mayGet(this.#caller, event);
    this.close(1008, "the credentials were revoked");
    return false;
  }

  #isRegistered(event: RebarEvent): boolean {
    for (const filter of this.#filters.values()) if (matches(filter, event)) return true;
    return false;
  }

  send(text: string): void {
    if (this.#isEnding) return;
    if (this.#queued >= mostQueued || this.#socket.backlog > mostQueuedBytes) {
      this.close(1013, "the connection is too slow");
      // What is queued is lost anyway: the client reads everything again.
      this.#clock.after(1000, () => this.#socket.cut());
      return;
    }
    this.#queued += 1;
    void this.#socket.send(text).then(() => (this.#queued -= 1));
  }

  close(code: number, reason: string): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#socket.close(code, reason);
  }

  /** Every registration is acknowledged, also a repeated or useless one: clients wait for it. */
  #receive(text: string): void {
    const [, verb = "", filter = ""] = /^(register|deregister) (.*)$/s.exec(text) ?? [];
    if (verb === "" || filter.length > longestFilter) return;
    if (verb === "deregister") this.#filters.delete(filter);
    else if (this.#filters.size >= mostFilters && !this.#filters.has(filter))
      return this.close(1008, `more than ${mostFilters} registrations`);
    else {
      const read = readFilter(filter);
      if (read !== undefined) this.#filters.set(filter, read);
    }
    this.#waitsFor(keysOf(this.#filters.values()));
    const Time = formatInstant(this.#clock.now());
    const Principal = principalText(this.#caller.principal);
    this.send(
      JSON.stringify({ Time, Type: "websocket", Action: verb, Key: filter, Principal, Object: null, Original: null }),
    );
  }
}

/** Claims on jobs may name their machine. */
function mayGet(caller: Caller, { Type, Key, Object }: RebarEvent): boolean {
  if (caller.may(Type, "get", Key)) return true;
  if (Type !== "jobs" || !isJsonObject(Object)) return false;
  const machine = textAt(Object, "Machine");
  return machine !== undefined && caller.may("jobs", "get", machine);
}
