import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { StreamLine, Subscription } from "#app/ui/wire.ts";
import { readLines, Stream } from "./stream.ts";

/** Connections that a test feeds, cuts and refuses. */
class Wires {
  readonly opened: (readonly Subscription[])[] = [];
  readonly changes: (readonly Subscription[])[] = [];
  changesFail = false;
  #feed: (line: StreamLine | undefined) => void = () => undefined;

  async *open(subscriptions: readonly Subscription[], signal: AbortSignal): AsyncGenerator<StreamLine> {
    this.opened.push(subscriptions);
    const lines: (StreamLine | undefined)[] = [{ id: "", type: "HELLO", token: `t${this.opened.length}` }];
    let wake = (): void => undefined;
    this.#feed = (line) => {
      lines.push(line);
      wake();
    };
    signal.addEventListener("abort", () => this.#feed(undefined));
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (lines.length > 0 || signal.aborted) return;
      else await new Promise<void>((resolve) => (wake = resolve));
      if (lines[0] === undefined && lines.length > 0) return;
    }
  }

  change(_token: string, subscriptions: readonly Subscription[]): Promise<void> {
    this.changes.push(subscriptions);
    return this.changesFail ? Promise.reject(new Error("unknown")) : Promise.resolve();
  }

  say(line: StreamLine): void {
    this.#feed(line);
  }
  cut(): void {
    this.#feed(undefined);
  }
}

/** Long enough for every promise that can be settled. */
async function turn(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

function start() {
  const [wires, clock, lost] = [new Wires(), new FakeClock(), [] as number[]];
  const stream = new Stream({
    transport: wires,
    clock,
    random: () => 0,
    onConnected: () => undefined,
    onLost: (_, retryIn) => lost.push(retryIn),
  });
  return { wires, clock, lost, stream };
}

test("a lost connection is opened again after a pause, and each subscription resumes at its last version", async () => {
  const { wires, clock, lost, stream } = start();
  const seen: unknown[] = [];
  stream.subscribe({ what: "runs", params: {}, resourceVersion: "5" }, ({ object }) => seen.push(object));
  await turn();
  expect(wires.opened).toMatchObject([[{ id: "1", resourceVersion: "5" }]]);
  wires.say({ id: "1", type: "ADDED", object: "a", rv: "7" });
  await turn();
  wires.cut();
  await turn();
  expect(lost).toEqual([500]);
  await clock.advance(500);
  await turn();
  expect(wires.opened[1]).toMatchObject([{ id: "1", resourceVersion: "7" }]);
  expect(seen).toEqual(["a"]);
  stream.close();
});

test("subscriptions of one turn are one change, and those that ended hear nothing", async () => {
  const { wires, stream } = start();
  const seen: string[] = [];
  const first = stream.subscribe({ what: "runs", params: {} }, () => seen.push("first"));
  await turn();
  await turn();
  wires.changes.length = 0;
  stream.subscribe({ what: "fleet", params: {} }, () => seen.push("second"));
  first.close();
  await turn();
  expect(wires.changes).toMatchObject([[{ id: "2", what: "fleet" }]]);
  wires.say({ id: "1", type: "ADDED" });
  wires.say({ id: "2", type: "ADDED" });
  await turn();
  expect(seen).toEqual(["second"]);
  stream.close();
});

test("a server that does not know the connection any more is asked for a new one", async () => {
  const { wires, clock, stream } = start();
  stream.subscribe({ what: "runs", params: {} }, () => undefined);
  await turn();
  wires.changesFail = true;
  stream.subscribe({ what: "fleet", params: {} }, () => undefined);
  await turn();
  await turn();
  wires.changesFail = false;
  await clock.advance(1000);
  await turn();
  expect(wires.opened.at(-1)).toHaveLength(2);
  stream.close();
});

test("lines are read from pieces that end anywhere, also within a character", async () => {
  const bytes = new TextEncoder().encode('{"id":"1","type":"ADDED","object":"ü"}\n\n{"id":"2","type":"END"}\n');
  async function* pieces() {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  const lines: StreamLine[] = [];
  for await (const line of readLines(pieces())) lines.push(line);
  expect(lines).toEqual([{ id: "1", type: "ADDED", object: "ü" }, { id: "2", type: "END" }]);
});
