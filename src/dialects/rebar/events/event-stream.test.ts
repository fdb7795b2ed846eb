import { expect, test } from "vitest";
import { deferred, FakeClock, isJsonObject } from "#lib/base/index.ts";
import type { TextSocket } from "#kernel/websocket/index.ts";
import type { Caller } from "../api/callers.ts";
import type { RebarEvent } from "../store.ts";
import { EventStreams } from "./event-stream.ts";
import { matches, readFilter } from "./filter.ts";

type Fake = Pick<TextSocket, "send" | "listen" | "close" | "cut" | "closed" | "backlog">;

/** A connection whose other end reads nothing until `drain`. */
class FakeSocket implements Fake {
  readonly sent: string[] = [];
  readonly #end = deferred<{ readonly code: number; readonly reason: string }>();
  readonly closed = this.#end.promise;
  backlog = 0;
  wasCut = false;
  receive: (text: string) => void = () => undefined;
  #waiting: (() => void)[] = [];

  send(text: string): Promise<boolean> {
    this.sent.push(text);
    return new Promise((resolve) => this.#waiting.push(() => resolve(true)));
  }
  listen(receive: (text: string) => void): void {
    this.receive = receive;
  }
  async drain(): Promise<void> {
    for (const taken of this.#waiting) taken();
    this.#waiting = [];
    await Promise.resolve();
  }
  close(code = 1000, reason = ""): void {
    this.#end.resolve({ code, reason });
  }
  cut(): void {
    this.wasCut = true;
  }
}

const admin: Caller = {
  principal: { kind: "user", name: "anna" },
  subject: { kind: "user", name: "anna" },
  may: () => true,
  isValid: () => true,
};

function streaming() {
  const listeners = new Set<(event: RebarEvent) => void>();
  const clock = new FakeClock(0);
  const streams = new EventStreams(
    {
      listen(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    clock,
  );
  const socket = new FakeSocket();
  streams.add(socket, admin);
  const tell = (Key: string) => {
    const event = {
      Time: "",
      Type: "profiles",
      Action: "create",
      Key,
      Principal: "internal",
      Object: {},
      Original: null,
    };
    for (const listener of listeners) listener(event);
  };
  return { socket, tell, clock, listeners };
}

test("a client that is 1,000 messages behind is disconnected with 1013, and cut if it does not take that", async () => {
  const { socket, tell, clock, listeners } = streaming();
  socket.receive("register profiles.*.*");
  await socket.drain();
  for (let count = 0; count < 1000; count++) tell(`p${count}`);
  await socket.drain();
  for (let count = 0; count < 1000; count++) tell(`q${count}`);
  expect(socket.sent).toHaveLength(2001);
  tell("one too many");
  expect(await socket.closed).toMatchObject({ code: 1013 });
  tell("after the end");
  expect(socket.sent).toHaveLength(2001);
  await clock.advance(1000);
  expect(socket.wasCut).toBe(true);
  expect(listeners.size).toBe(0);
});

test("an event that several registrations match is sent once; registrations are bounded", async () => {
  const { socket, tell } = streaming();
  for (const filter of ["profiles.*.*", "*.create.*", "*.*.pp"]) socket.receive(`register ${filter}`);
  tell("pp");
  expect(socket.sent).toHaveLength(4);
  for (let count = 0; count < 997; count++) {
    socket.receive(`register a.b.${count}`);
    await socket.drain();
  }
  socket.receive("register one.too.many");
  expect(await socket.closed).toMatchObject({ code: 1008 });
});

test("a stream gets the events of the keys that it waits for, as long as it waits for them", () => {
  const { socket, tell } = streaming();
  const told = (verb: string): readonly string[] => {
    socket.receive(verb);
    socket.sent.length = 0;
    for (const key of ["a", "b", "c"]) tell(key);
    return socket.sent.map((text) => (JSON.parse(text) as RebarEvent).Key);
  };
  expect(told("register profiles.*.a,b")).toEqual(["a", "b"]);
  expect(told("register *.*.b,c")).toEqual(["a", "b", "c"]);
  expect(told("deregister profiles.*.a,b")).toEqual(["b", "c"]);
  expect(told("register profiles.*.*")).toEqual(["a", "b", "c"]);
  expect(told("deregister profiles.*.*")).toEqual(["b", "c"]);
  expect(told("deregister *.*.b,c")).toEqual([]);
});

test.each<[string, string, boolean]>([
  ["machines.*.*", "machines.update.u", true],
  ["machines.update,save.u", "machines.save.u", true],
  ["machines.update,save.u", "machines.create.u", false],
  ["params.*.a.b/c", "params.update.a.b/c", true],
  ["*.*.a\\1b\\2c\\3", "x.y.a.b,c*", true],
  ["*.*.x, y", "a.b.y", true],
])("the filter %s and the event %s: %s", (filter, event, isMatch) => {
  const [, Type = "", Action = "", Key = ""] = /^([^.]*)\.([^.]*)\.(.*)$/.exec(event) ?? [];
  const read = readFilter(filter);
  expect(read !== undefined && matches(read, { Type, Action, Key })).toBe(isMatch);
});

test("what is no filter is none", () => {
  expect([readFilter(""), readFilter("machines"), readFilter("machines.update"), readFilter("a..c")]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(isJsonObject(readFilter("a.b.c"))).toBe(true);
});
