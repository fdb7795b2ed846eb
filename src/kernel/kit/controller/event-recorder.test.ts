import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock, type Logger, silentLog } from "#lib/base/index.ts";
import { ConfigMap, Event, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { memoryClient, chaosClient } from "../testing/index.ts";
import { type EventNote, type EventRecorder, eventRecorder, regardingOf } from "./event-recorder.ts";

type StoredEvent = KubeObject & {
  readonly reason: string;
  readonly note: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
};

let clock: FakeClock;
let client: ApiClient;
let object: Stored;

beforeEach(async () => {
  clock = new FakeClock();
  client = memoryClient({ clock });
  const metadata = { name: "thing", namespace: "default" };
  object = await client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
});

const recorderThrough = (through: ApiClient = client, log: Logger = silentLog): EventRecorder =>
  eventRecorder({ client: through, clock, log, controller: "slipway.dev/test", instance: "test-0" });

/** The client with a way to create many at once, which `refuse` may close. */
const together = (refuse: (objects: readonly KubeObject[]) => void = () => undefined) => {
  const batches: number[] = [];
  const through: ApiClient = {
    ...chaosClient(client, { clock, random: () => 0, faults: {} }),
    createMany: async (type, objects) => {
      refuse(objects);
      batches.push(objects.length);
      for (const given of objects) await client.create(type, given);
    },
  };
  return { through, batches };
};

const note = (more: Partial<EventNote> = {}): EventNote => ({
  regarding: regardingOf(object),
  type: "Normal",
  reason: "Started",
  action: "Start",
  note: "step a started",
  ...more,
});

const events = async (): Promise<readonly Stored<StoredEvent>[]> => (await client.list<StoredEvent>(Event)).items;

describe("writing", () => {
  test("an event carries everything events.k8s.io/v1 asks for", async () => {
    const recorder = recorderThrough();
    recorder.record(note({ related: { kind: "Pod", name: "p" } }));
    await clock.advance(0);
    const [event] = await events();
    expect(event).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace: "default", name: expect.stringMatching(/^thing\.[0-9a-f]{16}$/) },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "slipway.dev/test",
      reportingInstance: "test-0",
      regarding: { apiVersion: "v1", kind: "ConfigMap", namespace: "default", name: "thing", uid: object.metadata.uid },
      related: { kind: "Pod", name: "p" },
      type: "Normal",
      reason: "Started",
      action: "Start",
      note: "step a started",
    });
    expect(event?.series).toBeUndefined();
  });

  test("events of cluster-scoped objects live in the default namespace", async () => {
    const recorder = recorderThrough();
    recorder.record(note({ regarding: { apiVersion: "v1", kind: "Namespace", name: "work", uid: "u" } }));
    await clock.advance(0);
    expect((await events())[0]?.metadata.namespace).toBe("default");
  });

  test("a note too long for the API is cut", async () => {
    const recorder = recorderThrough();
    recorder.record(note({ note: "x".repeat(5000) }));
    await clock.advance(0);
    expect((await events())[0]?.note).toHaveLength(1024);
    recorder.record(note({ note: "é".repeat(600) }));
    await clock.advance(0);
    expect((await events())[1]?.note).toBe("é".repeat(512));
  });

  test("the event of an object with the longest of names has a name, too", async () => {
    const recorder = recorderThrough();
    recorder.record(note({ regarding: { ...regardingOf(object), name: `${"x".repeat(235)}.y${"z".repeat(16)}` } }));
    await recorder.flush();
    expect((await events())[0]?.metadata.name).toMatch(/^x{235}\.[0-9a-f]{16}$/);
  });

  test("events recorded in one turn are written side by side, at most eight at once", async () => {
    let open = 0;
    let most = 0;
    const slow: ApiClient = {
      ...chaosClient(client, { clock, random: () => 0, faults: {} }),
      create: async (type, given, options) => {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        return client.create(type, given, options);
      },
    };
    const recorder = recorderThrough(slow);
    for (let index = 0; index < 20; index++) recorder.record(note({ note: `step ${index} started` }));
    expect(open).toBe(0);
    await recorder.flush();
    expect(most).toBe(8);
    expect(await events()).toHaveLength(20);
  });
});

describe("a client that creates many at once", () => {
  test("is given all new events of a turn together, 256 at a time", async () => {
    const { through, batches } = together();
    const recorder = recorderThrough(through);
    for (let index = 0; index < 600; index++)
      recorder.record(note({ regarding: { ...regardingOf(object), uid: `u${index}` } }));
    await recorder.flush();
    expect(batches).toEqual([256, 256, 88]);
    expect(await events()).toHaveLength(600);
    expect(recorder.dropped).toBe(0);
  });

  test("gets frozen events, which it need not copy", async () => {
    const { through } = together((objects) => expect(objects.every(Object.isFrozen)).toBe(true));
    const recorder = recorderThrough(through);
    recorder.record(note());
    await recorder.flush();
    expect(await events()).toHaveLength(1);
  });

  test("is not asked about repetitions, which extend the event that was created so", async () => {
    const { through, batches } = together();
    const recorder = recorderThrough(through);
    recorder.record(note());
    await recorder.flush();
    recorder.record(note());
    recorder.record(note({ note: "other" }));
    await recorder.flush();
    expect(batches).toEqual([1, 1]);
    expect((await events()).map((event) => event.series?.count)).toEqual([2, undefined]);
  });

  test("that refuses a batch is asked for each event alone: one that is wrong takes no other along", async () => {
    const { through } = together(() => {
      throw new Error("one of them is wrong");
    });
    const recorder = recorderThrough(through);
    recorder.record(note());
    recorder.record(note({ regarding: { kind: "Thing", namespace: "no such", name: "NOT A NAME", uid: "u" } }));
    await recorder.flush();
    expect(await events()).toHaveLength(1);
    expect(recorder.dropped).toBe(1);
  });
});

describe("series", () => {
  test("equal events become one event with a count, in few writes", async () => {
    let writes = 0;
    const counting: ApiClient = {
      ...chaosClient(client, { clock, random: () => 0, faults: {} }),
      create: (type, given, options) => {
        writes++;
        return client.create(type, given, options);
      },
      patch: (ref, patch, options) => {
        writes++;
        return client.patch(ref, patch, options);
      },
    };
    const recorder = recorderThrough(counting);
    for (let second = 0; second < 100; second++) {
      recorder.record(note());
      await clock.advance(100);
    }
    await clock.advance(2000);
    const [event, ...more] = await events();
    expect(more).toEqual([]);
    expect(event?.series).toEqual({ count: 100, lastObservedTime: "2026-01-01T00:00:09.900000Z" });
    expect(writes).toBeLessThan(25);
  });

  test("repetitions in one turn are one write with the count", async () => {
    const recorder = recorderThrough();
    for (let index = 0; index < 5; index++) recorder.record(note());
    await clock.advance(0);
    expect((await events()).map((event) => event.series?.count)).toEqual([5]);
  });

  test.each([
    ["reason", { reason: "Other" }],
    ["note", { note: "other" }],
    ["type", { type: "Warning" as const }],
    ["action", { action: "Other" }],
  ])("an event with another %s is another event", async (_field, more) => {
    const recorder = recorderThrough();
    recorder.record(note());
    recorder.record(note(more));
    await clock.advance(0);
    expect(await events()).toHaveLength(2);
  });

  test("an event that came before 8 others of its object begins a new series", async () => {
    const recorder = eventRecorder({
      client,
      clock,
      log: silentLog,
      controller: "slipway.dev/test",
      instance: "test-0",
      perObject: {
        perSecond: 1,
        burst: 100,
      },
    });
    for (const index of [0, ...Array.from({ length: 8 }, (_, other) => other), 0])
      recorder.record(note({ note: `event ${index}` }));
    await recorder.flush();
    expect(await events()).toHaveLength(8);
    recorder.record(note({ note: "event 8" }));
    recorder.record(note({ note: "event 0" }));
    await recorder.flush();
    expect(await events()).toHaveLength(10);
  });

  test.each([
    [1023, 1],
    [1024, 2],
  ])("an event repeated after events of %d other objects is %d events", async (others, expected) => {
    const recorder = recorderThrough(together().through);
    recorder.record(note());
    for (let index = 0; index < others; index++)
      recorder.record(note({ regarding: { ...regardingOf(object), uid: `u${index}` } }));
    await recorder.flush();
    recorder.record(note());
    await recorder.flush();
    expect(await events()).toHaveLength(others + expected);
  });

  test("after six quiet minutes a new event begins", async () => {
    const recorder = recorderThrough();
    recorder.record(note());
    await clock.advance(6 * 60_000);
    recorder.record(note());
    await clock.advance(0);
    expect(await events()).toHaveLength(2);
  });

  test("a series whose event has gone is written anew", async () => {
    const recorder = recorderThrough();
    recorder.record(note());
    await clock.advance(2000);
    await client.deleteCollection(Event, { namespace: "default" });
    recorder.record(note());
    await clock.advance(2000);
    expect((await events()).map((event) => event.series?.count)).toEqual([2]);
  });
});

describe("limits", () => {
  test("an object gets 25 different events at once, then one every five minutes", async () => {
    const recorder = recorderThrough();
    for (let index = 0; index < 40; index++) recorder.record(note({ note: `event ${index}` }));
    await recorder.flush();
    expect(await events()).toHaveLength(25);
    expect(recorder.dropped).toBe(15);
    await clock.advance(300_000);
    recorder.record(note({ note: "later" }));
    recorder.record(note({ note: "later still" }));
    await recorder.flush();
    expect(await events()).toHaveLength(26);
  });

  test("another object is not held to account for it", async () => {
    const recorder = recorderThrough();
    for (let index = 0; index < 40; index++) recorder.record(note({ note: `event ${index}` }));
    recorder.record(note({ regarding: { ...regardingOf(object), name: "other", uid: "other" } }));
    await recorder.flush();
    expect(await events()).toHaveLength(26);
  });

  test("more events than the queue holds are dropped, never waited for, and the log says so once a minute", async () => {
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (_text: string, fields?: unknown) => warnings.push(fields) };
    const recorder = recorderThrough(client, log);
    const recordMany = (count: number) => {
      for (let index = 0; index < count; index++)
        recorder.record(note({ regarding: { kind: "Thing", namespace: "default", name: "t", uid: `u${index}` } }));
    };
    recordMany(16_384 + 100);
    expect(recorder.dropped).toBe(100);
    expect(warnings).toEqual([{ controller: "slipway.dev/test", dropped: 1 }]);
    await recorder.flush();
    expect(await events()).toHaveLength(16_384);
  });

  test("a server that refuses costs events and nothing else", async () => {
    const chaos = chaosClient(client, { clock, random: () => 0, faults: { internal: 1 } });
    const recorder = recorderThrough(chaos);
    recorder.record(note());
    await recorder.flush();
    expect(recorder.dropped).toBe(1);
    chaos.setFaults();
    recorder.record(note());
    await recorder.flush();
    expect((await events()).map((event) => event.series?.count)).toEqual([2]);
  });
});

test("close writes what is left, without waiting for the pause of a series, and then takes nothing more", async () => {
  const recorder = recorderThrough();
  recorder.record(note());
  await clock.advance(0);
  recorder.record(note());
  recorder.record(note());
  await recorder.close();
  expect((await events()).map((event) => event.series?.count)).toEqual([3]);
  recorder.record(note({ note: "late" }));
  await recorder.flush();
  expect(await events()).toHaveLength(1);
});
