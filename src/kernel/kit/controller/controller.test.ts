// Long, because every law of one reconciler's life is here, each a short test; they share the manager and the keys.
import { beforeEach, describe, expect, test } from "vitest";
import { deferred, FakeClock, type Logger, silentLog } from "#lib/base/index.ts";
import {
  ApiError,
  ConfigMap,
  controllerReference,
  Event,
  type KubeObject,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { type MemoryClient, memoryClient } from "../testing/index.ts";
import { controllerFor } from "./builder.ts";
import type { Election } from "./election.ts";
import { Manager } from "./manager.ts";
import { annotationsChanged, anyOf, generationChanged, labelsChanged, statusChanged } from "./predicates.ts";
import {
  type ReconcileContext,
  type ReconcileRequest,
  type Reconciler,
  requeueAt,
  TerminalError,
} from "./reconciler.ts";
import { requestChannel, requestKey } from "./source.ts";

const Widget: ResourceType = {
  group: "demo.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

const widget = (name: string, size = 1): KubeObject & { readonly spec: { readonly size: number } } => ({
  apiVersion: "demo.slipway.dev/v1",
  kind: "Widget",
  metadata: { name, namespace: "default" },
  spec: { size },
});

let clock: FakeClock;
let client: MemoryClient;
let logged: string[];
let manager: Manager;
let stop: AbortController;

const recordingLog = (): Logger => {
  const log: Logger = {
    ...silentLog,
    warn: (message) => logged.push(message),
    error: (message) => logged.push(message),
    with: () => log,
  };
  return log;
};

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [Widget] });
  logged = [];
  stop = new AbortController();
  manager = managerWith();
});

function managerWith(election?: Election): Manager {
  const log = recordingLog();
  return new Manager({ client, clock, log, random: () => 0, ...(election === undefined ? {} : { election }) });
}

/** Lets everything happen that needs no time. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await clock.advance(0);
};

/** Notes the keys it is asked for, and does `act` for each. */
function recording(act: (key: string, context: ReconcileContext) => Promise<unknown> = async () => undefined) {
  const keys: string[] = [];
  const reconciler: Reconciler = {
    async reconcile(request: ReconcileRequest, context) {
      keys.push(requestKey(request));
      return (await act(requestKey(request), context)) as { requeueAfter?: number } | undefined;
    },
  };
  return { keys, reconciler };
}

/** Runs the manager until everything has come to rest; tests end it with `stop`. */
async function run(): Promise<void> {
  void manager.run(stop.signal).catch(() => undefined);
  await settle();
}

describe("what is reconciled", () => {
  test("present objects, new ones, changed ones and deleted ones", async () => {
    await client.create(Widget, widget("present"));
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    const created = await client.create(Widget, widget("new"));
    await settle();
    await client.update(Widget, { ...created, spec: { size: 2 } });
    await settle();
    await client.delete({ type: Widget, namespace: "default", name: "new" });
    await settle();
    expect(keys).toEqual(["default/present", "default/new", "default/new", "default/new"]);
    stop.abort();
  });

  test("of what was there before, that which is owed something goes first", async () => {
    for (const [name, size] of Object.entries({ a: 1, b: 0, c: 1, d: 0 }))
      await client.create(Widget, widget(name, size));
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets")
      .for<ReturnType<typeof widget>>(Widget, { isOwed: ({ spec }) => spec.size === 0 })
      .complete(reconciler);
    await run();
    expect(keys).toEqual(["default/b", "default/d", "default/a", "default/c"]);
    stop.abort();
  });

  test("all events of one turn make one reconcile per object", async () => {
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    const created = await client.create(Widget, widget("a"));
    let current: Stored = created;
    for (let size = 2; size < 20; size++) current = await client.update(Widget, { ...current, spec: { size } });
    await settle();
    expect(keys.length).toBeLessThan(5);
    stop.abort();
  });

  test("predicates keep changes out that do not matter", async () => {
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets")
      .for(Widget, { predicates: [generationChanged] })
      .complete(reconciler);
    await run();
    const created = await client.create(Widget, widget("a"));
    await settle();
    const withStatus = await client.updateStatus(Widget, { ...created, status: { ready: true } });
    await settle();
    expect(keys).toHaveLength(1);
    await client.update(Widget, { ...withStatus, spec: { size: 2 } });
    await settle();
    expect(keys).toHaveLength(2);
    stop.abort();
  });

  test("the owner of an owned object, when its controller is of that kind", async () => {
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets")
      .for(Widget, { predicates: [() => false] })
      .owns(ConfigMap)
      .complete(reconciler);
    await run();
    const owner = await client.create(Widget, widget("owner"));
    const child = (name: string, reference: object) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", ownerReferences: [{ ...controllerReference(owner), ...reference }] },
    });
    await client.create(ConfigMap, child("mine", {}));
    await client.create(ConfigMap, child("not-controlled", { controller: false }));
    await client.create(ConfigMap, child("other-kind", { kind: "Gadget" }));
    await client.create(ConfigMap, child("other-group", { apiVersion: "example.org/v1" }));
    await client.create(ConfigMap, child("other-version", { apiVersion: "demo.slipway.dev/v2" }));
    await settle();
    expect(keys).toEqual(["default/owner"]);
    await client.delete({ type: ConfigMap, namespace: "default", name: "mine" });
    await settle();
    expect(keys).toEqual(["default/owner", "default/owner"]);
    stop.abort();
  });

  test("what other objects are mapped to, before and after the change", async () => {
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets")
      .for(Widget)
      .watches<KubeObject & { data: { for: string } }>(ConfigMap, ({ data }) => [
        { namespace: "default", name: data.for },
      ])
      .complete(reconciler);
    await run();
    const data = (name: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "settings", namespace: "default" },
      data: { for: name },
    });
    await client.create(ConfigMap, data("a"));
    await settle();
    await client.update(ConfigMap, data("b"));
    await settle();
    expect(keys).toEqual(["default/a", "default/b", "default/a"]);
    stop.abort();
  });

  test("what a channel asks for", async () => {
    const channel = requestChannel();
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets").for(Widget).watchesChannel(channel).complete(reconciler);
    await run();
    channel.send({ namespace: "default", name: "a" });
    channel.send({ namespace: "default", name: "a" });
    channel.send({ name: "cluster-wide" });
    await settle();
    expect(keys).toEqual(["default/a", "cluster-wide"]);
    stop.abort();
    await settle();
    channel.send({ name: "late" });
    await settle();
    expect(keys).toHaveLength(2);
  });

  test("a builder refuses what makes no sense", () => {
    const { reconciler } = recording();
    expect(() => controllerFor(manager, "x").complete(reconciler)).toThrow("for no kind");
    expect(() => controllerFor(manager, "x").for(Widget).for(ConfigMap)).toThrow("for Widget already");
    controllerFor(manager, "x").for(Widget).complete(reconciler);
    expect(() => controllerFor(manager, "x").for(Widget).complete(reconciler)).toThrow("named x already");
  });
});

describe("outcomes", () => {
  test("a throw is tried again with growing delays until it succeeds", async () => {
    let failures = 0;
    const times: number[] = [];
    const { reconciler } = recording(async (_key, context) => {
      times.push(clock.monotonic());
      expect(context.failures).toBe(failures);
      if (failures++ < 3) throw new Error("not yet");
    });
    const controller = controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    const begin = clock.monotonic();
    await client.create(Widget, widget("a"));
    await clock.advance(1000);
    expect(times.map((time) => time - begin)).toEqual([0, 5, 15, 35]);
    expect(controller.queue.failures("default/a")).toBe(0);
    expect(logged.filter((message) => message.includes("trying again"))).toHaveLength(3);
    stop.abort();
  });

  test("a terminal error is recorded and not tried again before something changes", async () => {
    const { keys, reconciler } = recording(async () => {
      throw new TerminalError(new Error("never"));
    });
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    const created = await client.create(Widget, widget("a"));
    await clock.advance(100_000);
    expect(keys).toHaveLength(1);
    expect(logged).toContain("reconcile failed for good");
    await client.update(Widget, { ...created, spec: { size: 2 } });
    await clock.advance(10);
    expect(keys).toHaveLength(2);
    stop.abort();
  });

  test("requeueAfter looks again after that long", async () => {
    const times: number[] = [];
    const { reconciler } = recording(async () => {
      times.push(clock.monotonic());
      return times.length < 3 ? { requeueAfter: 1000 } : undefined;
    });
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    const begin = clock.monotonic();
    await client.create(Widget, widget("a"));
    await clock.advance(10_000);
    expect(times.map((time) => time - begin)).toEqual([0, 1000, 2000]);
    stop.abort();
  });

  test("a time to look again is a delay, at least the shortest there is, and none is none", () => {
    const at = [2_500, 1_000, 999, undefined].map((time) => requeueAt(time, 1_000)?.requeueAfter);
    expect(at).toEqual([1_500, 1, 1, undefined]);
  });

  test("a synchronous throw does no harm either", async () => {
    let calls = 0;
    const reconciler: Reconciler = {
      reconcile: () => {
        calls++;
        throw new Error("at once");
      },
    };
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    await client.create(Widget, widget("a"));
    await clock.advance(5);
    expect(calls).toBe(2);
    stop.abort();
  });

  test("a reconcile that takes too long is aborted through its signal", async () => {
    const reasons: unknown[] = [];
    const { keys, reconciler } = recording(
      (_key, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason);
            reject(signal.reason as Error);
          });
        }),
    );
    controllerFor(manager, "widgets").for(Widget).with({ reconcileTimeout: 60_000 }).complete(reconciler);
    await run();
    await client.create(Widget, widget("a"));
    await clock.advance(30_000);
    await client.create(Widget, widget("b"));
    await clock.advance(30_001);
    expect(reasons).toMatchObject([{ code: "reconcile-timeout" }]);
    await clock.advance(29_999);
    expect(reasons).toHaveLength(2);
    expect(keys.slice(0, 3)).toEqual(["default/a", "default/b", "default/a"]);
    stop.abort();
  });

  test("observers are told outcome and duration", async () => {
    const outcomes: string[] = [];
    const results: (() => unknown)[] = [() => undefined, () => ({ requeueAfter: 5 })];
    const { reconciler } = recording(async () => results.pop()?.());
    const observer = { reconciled: (outcome: string, took: number) => outcomes.push(`${outcome} ${took}`) };
    controllerFor(manager, "widgets").for(Widget).with({ observer }).complete(reconciler);
    await run();
    await client.create(Widget, widget("a"));
    await clock.advance(100);
    expect(outcomes).toEqual(["requeued 0", "success 0"]);
    stop.abort();
  });
});

describe("concurrency", () => {
  test("at most maxConcurrent keys at once, and one key never twice", async () => {
    let now = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const perKey = new Map<string, number>();
    const { keys, reconciler } = recording(async (key) => {
      perKey.set(key, (perKey.get(key) ?? 0) + 1);
      expect(perKey.get(key)).toBe(1);
      most = Math.max(most, ++now);
      await new Promise<void>((resolve) => gates.push(resolve));
      now--;
      perKey.set(key, 0);
    });
    const controller = controllerFor(manager, "widgets").for(Widget).with({ maxConcurrent: 3 }).complete(reconciler);
    await run();
    for (let index = 0; index < 10; index++) controller.queue.add(`default/w${index}`);
    await settle();
    expect(keys).toHaveLength(3);
    controller.queue.add("default/w0");
    while (gates.length > 0) {
      for (const open of gates.splice(0)) open();
      await settle();
    }
    expect(keys).toHaveLength(11);
    expect(most).toBe(3);
    stop.abort();
  });
});

describe("manager", () => {
  test("any number of parts wait for its end, and Node takes that for no leak", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on("warning", onWarning);
    try {
      for (let index = 0; index < 20; index++) {
        const waits = ({ stop: over, abort: cut }: { readonly stop: AbortSignal; readonly abort: AbortSignal }) => {
          cut.addEventListener("abort", () => undefined, { once: true });
          return new Promise<void>((resolve) => over.addEventListener("abort", () => resolve(), { once: true }));
        };
        manager.add({ name: `part-${index}`, run: waits });
      }
      const running = manager.run(stop.signal);
      await settle();
      stop.abort();
      await running;
      // Warnings are told in the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      expect(warnings).toEqual([]);
    } finally {
      process.off("warning", onWarning);
    }
  });

  test("mirrors are complete before the first reconcile", async () => {
    for (const name of ["a", "b", "c"]) await client.create(Widget, widget(name));
    const seen: number[] = [];
    const share = manager.informers.acquire(Widget);
    const { reconciler } = recording(async () => void seen.push(share.informer.list().length));
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    expect(seen).toEqual([3, 3, 3]);
    stop.abort();
  });

  test("a controller reads its own write at once", async () => {
    const share = manager.informers.acquire(Widget);
    const read: unknown[] = [];
    const { reconciler } = recording(async (key) => {
      const present = share.informer.get(key);
      if (present === undefined || present.status !== undefined) return;
      await manager.client.updateStatus(Widget, { ...present, status: { done: true } });
      read.push(share.informer.get(key)?.status);
    });
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    await client.create(Widget, widget("a"));
    await settle();
    expect(read).toEqual([{ done: true }]);
    stop.abort();
  });

  test("without leadership nothing is reconciled; what came meanwhile is done then", async () => {
    const gained = deferred<void>();
    const lost = new AbortController();
    const released: string[] = [];
    manager = managerWith({
      acquire: async () => {
        await gained.promise;
        return { lost: lost.signal, release: async () => void released.push("released") };
      },
    });
    const { keys, reconciler } = recording();
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    await run();
    await client.create(Widget, widget("a"));
    await settle();
    expect(manager.phase).toBe("waiting for leadership");
    expect(keys).toEqual([]);
    gained.resolve();
    await settle();
    expect(manager.phase).toBe("running");
    expect(keys).toEqual(["default/a"]);
    stop.abort();
    await settle();
    expect(manager.phase).toBe("stopped");
    expect(released).toEqual(["released"]);
  });

  test("losing leadership aborts all reconciles and ends the run with that reason", async () => {
    const lost = new AbortController();
    manager = managerWith({ acquire: async () => ({ lost: lost.signal, release: () => Promise.resolve() }) });
    const aborts: boolean[] = [];
    const { reconciler } = recording(
      (_key, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            aborts.push(true);
            resolve(undefined);
          });
        }),
    );
    controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    const ended = manager.run(stop.signal);
    await settle();
    await client.create(Widget, widget("a"));
    await settle();
    lost.abort(new Error("somebody else leads"));
    await expect(ended).rejects.toThrow("somebody else leads");
    expect(aborts).toEqual([true]);
  });

  test("a polite stop lets running reconciles and queued keys finish", async () => {
    const gates: (() => void)[] = [];
    const { keys, reconciler } = recording(() => new Promise<void>((resolve) => gates.push(resolve)));
    const controller = controllerFor(manager, "widgets").for(Widget).with({ maxConcurrent: 1 }).complete(reconciler);
    const ended = manager.run(stop.signal);
    await settle();
    controller.queue.add("default/a");
    controller.queue.add("default/b");
    await settle();
    stop.abort();
    await settle();
    expect(manager.phase).toBe("stopping");
    gates.shift()?.();
    await settle();
    gates.shift()?.();
    await ended;
    expect(keys).toEqual(["default/a", "default/b"]);
  });

  test("a reconcile that never ends does not hold up the stop for longer than the grace", async () => {
    let aborted = false;
    const { reconciler } = recording((_key, { signal }) => {
      signal.addEventListener("abort", () => (aborted = true));
      return new Promise(() => undefined);
    });
    const controller = controllerFor(manager, "widgets").for(Widget).complete(reconciler);
    const ended = manager.run(stop.signal);
    await settle();
    controller.queue.add("default/a");
    await settle();
    stop.abort();
    await clock.advance(10_000);
    await ended;
    expect(aborted).toBe(true);
  });

  test("a runnable that fails ends everything with its failure", async () => {
    manager.add({ name: "fragile", run: () => Promise.reject(new Error("broken")) });
    await expect(manager.run(stop.signal)).rejects.toThrow("broken");
  });

  test("an election that fails ends everything, also what runs without leadership", async () => {
    manager = managerWith({ acquire: () => Promise.reject(new Error("no lease")) });
    let isStopped = false;
    manager.add({
      name: "health",
      runsWithoutLeadership: true,
      run: ({ stop }) =>
        new Promise((resolve) => {
          stop.addEventListener("abort", () => {
            isStopped = true;
            resolve();
          });
        }),
    });
    await expect(manager.run(stop.signal)).rejects.toThrow("no lease");
    expect(isStopped).toBe(true);
  });

  test("a stop before the mirrors have synced ends the run", async () => {
    await client.close();
    controllerFor(manager, "widgets").for(Widget).complete(recording().reconciler);
    const ended = manager.run(stop.signal);
    await settle();
    expect(manager.phase).toBe("syncing");
    stop.abort();
    await clock.advance(1);
    await ended;
    expect(manager.phase).toBe("stopped");
  });

  test("what it was made of ends after it, and a part that fails to stop is logged", async () => {
    const ended: string[] = [];
    manager.onStopped(() => ended.push("first"));
    manager.onStopped(() => {
      throw new Error("stuck");
    });
    manager.onStopped(() => ended.push("last"));
    await run();
    stop.abort();
    await settle();
    expect([ended, manager.phase]).toEqual([["last", "first"], "stopped"]);
    expect(logged).toEqual(["a part failed to stop"]);
  });

  test("mirrors and recorders last until it has stopped; what was recorded is written", async () => {
    const mirror = manager.mirror(Widget);
    const recorder = manager.recorder({ controller: "slipway.dev/test", instance: "here" });
    const regarding = { apiVersion: "v1", kind: "Widget", namespace: "default", name: "a", uid: "u-1" };
    const note = { regarding, type: "Normal", reason: "Done", action: "Test", note: "at the end" } as const;
    // Parts say what they have to say while they end.
    manager.onStopped(() => recorder.record(note));
    await run();
    await client.create(Widget, widget("a"));
    await settle();
    expect(mirror.list()).toHaveLength(1);
    stop.abort();
    await settle();
    await client.create(Widget, widget("b"));
    await settle();
    expect(mirror.list()).toHaveLength(1);
    recorder.record({ ...note, note: "too late" });
    await recorder.flush();
    const { items } = await client.list<KubeObject & { readonly note: string }>(Event);
    expect(items.map((event) => event.note)).toEqual(["at the end"]);
  });

  test("a manager runs once, and takes nothing more while it runs", async () => {
    await run();
    expect(() => manager.add({ name: "late", run: () => Promise.resolve() })).toThrow("has started");
    await expect(manager.run(stop.signal)).rejects.toThrow("once");
    stop.abort();
  });
});

describe("predicates", () => {
  const stored = (more: {
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    status?: unknown;
  }) =>
    ({
      ...widget("a"),
      status: more.status,
      metadata: { ...widget("a").metadata, ...more, uid: "u", resourceVersion: "1", creationTimestamp: "t" },
    }) as Stored;
  const update = (old: Stored, object: Stored) => ({ type: "update", old, object }) as const;

  test.each([
    ["generation", generationChanged, { generation: 2 }],
    ["labels", labelsChanged, { labels: { a: "b" } }],
    ["annotations", annotationsChanged, { annotations: { a: "b" } }],
    ["status", statusChanged, { status: { ready: true } }],
  ])("a change of the %s passes its predicate and no other", (_name, predicate, more) => {
    const [old, object] = [stored({ generation: 1 }), stored({ generation: 1, ...more })];
    for (const other of [generationChanged, labelsChanged, annotationsChanged, statusChanged])
      expect(other(update(old, object))).toBe(other === predicate);
    expect(anyOf(generationChanged, labelsChanged, annotationsChanged, statusChanged)(update(old, object))).toBe(true);
  });

  test("additions, deletions and resyncs pass always", () => {
    const object = stored({});
    expect(generationChanged({ type: "add", object })).toBe(true);
    expect(generationChanged({ type: "delete", object })).toBe(true);
    expect(generationChanged(update(object, object))).toBe(true);
  });
});

test("a kind that the API server does not let be read is named in the log every ten seconds", async () => {
  const waits: unknown[] = [];
  const log: Logger = {
    ...silentLog,
    warn: (_message, fields) => waits.push(fields?.["kinds"]),
    with: () => silentLog,
  };
  const lists = client.list.bind(client);
  let isDown = true;
  const slow = Object.assign(Object.create(client) as typeof client, {
    watch: () => {
      throw new ApiError("NotFound", "no WatchList");
    },
    list: (...args: Parameters<typeof lists>) => (isDown ? Promise.reject(new TypeError("refused")) : lists(...args)),
  });
  const waiting = new Manager({ client: slow, clock, log, random: () => 0 });
  waiting.mirror(Widget);
  const ended = waiting.run(stop.signal);
  await clock.advance(9_999);
  expect(waits).toEqual([]);
  await clock.advance(10_001);
  expect(waits).toEqual(["widgets.demo.slipway.dev", "widgets.demo.slipway.dev"]);
  isDown = false;
  await clock.advance(120_000);
  expect(waiting.phase).toBe("running");
  const told = waits.length;
  await clock.advance(60_000);
  expect(waits).toHaveLength(told);
  stop.abort();
  await clock.advance(0);
  await ended;
});
