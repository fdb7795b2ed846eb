import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { beforeEach, describe, expect, test } from "vitest";
import { ApiError } from "#kernel/model/index.ts";
import type { Entry, StoreEvent } from "../store/store.ts";
import { type TestContext, testContext } from "../testing/index.ts";
import { selectorOf } from "../verbs/selector.ts";
import type { WatchChange } from "../watch/transitions.ts";
import type { Form } from "./accept.ts";
import type { View } from "./representation.ts";
import { SlowReaders } from "./slow-readers.ts";
import { TurnCache } from "./chunk.ts";
import { WatchReply } from "./watch-reply.ts";

/** What tests look at in an event's object. */
interface Line {
  readonly columnDefinitions?: readonly unknown[] | null;
  readonly rows?: readonly { readonly cells: readonly unknown[] }[];
}

/** The part of a response that a stream uses, with a reader that takes as much as the test says. */
class Wire extends EventEmitter {
  readonly writes: Buffer[] = [];
  writableLength = 0;
  writableNeedDrain = false;
  destroyed = false;
  isEnded = false;

  write(data: Buffer | string): boolean {
    this.writes.push(Buffer.from(data));
    return true;
  }
  end(): void {
    this.isEnded = true;
  }
  destroy(): void {
    this.destroyed = true;
  }
  lines(): readonly { readonly type: string; readonly object: Line }[] {
    return Buffer.concat(this.writes)
      .toString()
      .trimEnd()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as never);
  }
}

let context: TestContext;
let shared: TurnCache;
let meter: { open: number; events: number; dropped: number };
beforeEach(() => {
  context = testContext();
  shared = new TurnCache();
  meter = { open: 0, events: 0, dropped: 0 };
});

function replyOn(wire: Wire, form: Form = "json", maxBuffer = 1000): WatchReply {
  const resource = context.served("configmaps");
  return new WatchReply({
    response: wire as unknown as ServerResponse,
    view: (): View => ({ resource, form, include: "Metadata", now: context.clock.now() }),
    selector: selectorOf({}, resource, context.limits),
    maxBuffer,
    maxBuffers: 3000,
    shared,
    meter,
    readers: new SlowReaders(context.clock),
  });
}
const put = (name: string): Promise<Entry> =>
  context.put("configmaps", { kind: "ConfigMap", metadata: { name }, data: { a: "1" } });
const added = (entry: Entry): WatchChange => ({ type: "ADDED", entry });
/** What a commit publishes; only its identity matters here. */
const commit = (): readonly StoreEvent[] => [];

describe("events", () => {
  test("are lines of JSON with the stored text in them, one write for a commit", async () => {
    const wire = new Wire();
    const [a, b] = [await put("a"), await put("b")];
    replyOn(wire).changes([added(a), { type: "DELETED", entry: b }], commit());
    expect(wire.writes).toHaveLength(1);
    expect(wire.writes[0]?.toString()).toBe(
      `{"type":"ADDED","object":${a.bytes.toString()}}\n{"type":"DELETED","object":${b.bytes.toString()}}\n`,
    );
    expect(meter).toEqual({ open: 1, events: 2, dropped: 0 });
  });

  test("are encoded once for all watchers that see the same, in one turn", async () => {
    const entry = await put("a");
    const [one, two, tabular] = [new Wire(), new Wire(), new Wire()];
    const source = commit();
    const sinks = [replyOn(one), replyOn(two), replyOn(tabular, "partial")];
    for (const sink of sinks) sink.changes([added(entry)], source);
    expect(one.writes[0]).toEqual(two.writes[0]);
    expect(tabular.lines()[0]?.object).toHaveProperty("kind", "PartialObjectMetadata");
    expect(meter.events).toBe(3);
  });

  test("of the beginning are not shared: each watcher has its own", async () => {
    const wire = new Wire();
    replyOn(wire).changes([added(await put("a"))], undefined);
    expect(wire.lines()).toHaveLength(1);
  });

  test("as tables carry their columns in the first event only", async () => {
    const wire = new Wire();
    const reply = replyOn(wire, "table");
    const [a, b, c] = [await put("a"), await put("b"), await put("c")];
    reply.changes([added(a), added(b)], undefined);
    reply.changes([added(c)], commit());
    const columns = wire.lines().map(({ object }) => object.columnDefinitions);
    expect(columns[0]).toHaveLength(3);
    expect(columns.slice(1)).toEqual([null, null]);
    expect(wire.lines().map(({ object }) => object.rows?.[0]?.cells[0])).toEqual(["a", "b", "c"]);
  });

  test("a table watcher that comes later gets columns of its own, and changes nobody else's bytes", async () => {
    const [early, late] = [new Wire(), new Wire()];
    const [first, second] = [replyOn(early, "table"), replyOn(late, "table")];
    first.changes([added(await put("a"))], commit());
    const source = commit();
    const entry = await put("b");
    first.changes([added(entry)], source);
    second.changes([added(entry)], source);
    const columnsOf = (wire: Wire) => wire.lines().map(({ object }) => object.columnDefinitions === null);
    expect(columnsOf(early)).toEqual([false, true]);
    expect(columnsOf(late)).toEqual([false]);
  });
});

describe("a reader that does not read", () => {
  test("is cut when more than its budget was left from before", async () => {
    const wire = new Wire();
    const reply = replyOn(wire, "json", 1000);
    const entry = await put("a");
    wire.writableLength = 1000;
    reply.changes([added(entry)], commit());
    expect(wire.destroyed).toBe(false);
    wire.writableLength = 1001;
    reply.changes([added(entry)], commit());
    expect(wire.destroyed).toBe(true);
    expect(wire.writes).toHaveLength(1);
    expect(meter).toEqual({ open: 1, events: 1, dropped: 1 });
  });

  test("has no more than its share of what all watchers may have, and more when others end", async () => {
    const wires = Array.from({ length: 6 }, () => new Wire());
    const replies = wires.map((wire) => replyOn(wire, "json", 1000));
    const [one, two] = wires;
    const entry = await put("a");
    // Six share 3000 bytes.
    for (const wire of wires) wire.writableLength = 600;
    replies[0]?.changes([added(entry)], commit());
    expect(one?.destroyed).toBe(true);
    for (const wire of wires.slice(2)) wire.emit("close");
    replies[1]?.changes([added(entry)], commit());
    expect([two?.destroyed, meter.open]).toEqual([false, 2]);
  });

  test("is not cut by the size of one commit, nor while it gets what was there before", async () => {
    const wire = new Wire();
    const reply = replyOn(wire, "json", 10);
    const entry = await put("a");
    reply.changes(
      Array.from({ length: 100 }, () => added(entry)),
      commit(),
    );
    wire.writableLength = 1_000_000;
    reply.changes([added(entry)], undefined);
    expect(wire.destroyed).toBe(false);
  });

  test("holds up who sends the beginning until it has taken that", async () => {
    const wire = new Wire();
    const reply = replyOn(wire);
    await reply.drained();
    wire.writableNeedDrain = true;
    let isDrained = false;
    const waiting = reply.drained().then(() => (isDrained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).toBe(false);
    wire.emit("drain");
    await waiting;
    // The one for its end stays.
    expect(wire.listenerCount("drain") + wire.listenerCount("close")).toBe(1);
  });

  test("and goes away ends the wait as well", async () => {
    const wire = new Wire();
    wire.writableNeedDrain = true;
    const waiting = replyOn(wire).drained();
    wire.emit("close");
    await waiting;
    expect(wire.listenerCount("drain")).toBe(0);
  });
});

describe("bookmarks", () => {
  test.each<[Form, object]>([
    ["json", { kind: "ConfigMap", apiVersion: "v1" }],
    ["partial", { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }],
    ["yaml", { kind: "ConfigMap" }],
  ])("as %s carry a revision and nothing else", (form, expected) => {
    const wire = new Wire();
    replyOn(wire, form).bookmark(42, false);
    expect(wire.lines()).toMatchObject([
      { type: "BOOKMARK", object: { ...expected, metadata: { resourceVersion: "42" } } },
    ]);
    expect(JSON.stringify(wire.lines())).not.toContain("initial-events-end");
  });

  test("of a table are a row without cells, whose object says that the beginning is over", () => {
    const wire = new Wire();
    replyOn(wire, "table").bookmark(42, true);
    expect(wire.lines()).toMatchObject([
      {
        type: "BOOKMARK",
        object: {
          kind: "Table",
          metadata: { resourceVersion: "42" },
          rows: [
            {
              cells: [null, null, null],
              object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
            },
          ],
        },
      },
    ]);
  });
});

describe("the end", () => {
  test("is plain", () => {
    const wire = new Wire();
    replyOn(wire).end();
    expect([wire.isEnded, wire.writes.length]).toEqual([true, 0]);
  });

  test.each<Form>(["json", "table"])("for a reason is an ERROR with a Status, in the form %s too", (form) => {
    const wire = new Wire();
    replyOn(wire, form).end(new ApiError("Expired", "too old"));
    expect(wire.lines()).toMatchObject([
      { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } },
    ]);
    expect(wire.isEnded).toBe(true);
  });
});
