import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import type { ApiClient, WatchEvent } from "#kernel/kit/index.ts";
import { ApiError, ConfigMap, type KubeObject, type Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { createApiServer } from "../api-server.ts";
import { memoryStore } from "../store/open.ts";
import { configMap, waitUntil } from "../testing/index.ts";

// Random writes against a plain oracle: what is stored, and what watchers see of it.

type Step =
  | { readonly op: "create"; readonly name: string; readonly value: string; readonly held: boolean }
  | { readonly op: "update"; readonly name: string; readonly value: string; readonly stale: boolean }
  | { readonly op: "merge"; readonly name: string; readonly value: string | null }
  | { readonly op: "label"; readonly name: string; readonly label: string | null }
  | { readonly op: "release"; readonly name: string }
  | { readonly op: "delete"; readonly name: string };

const name = fc.constantFrom("a", "b", "c", "d");
const value = fc.constantFrom("1", "2", "3");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ op: fc.constant("create" as const), name, value, held: fc.boolean() }),
  fc.record({ op: fc.constant("update" as const), name, value, stale: fc.boolean() }),
  fc.record({ op: fc.constant("merge" as const), name, value: fc.option(value) }),
  fc.record({ op: fc.constant("label" as const), name, label: fc.option(fc.constantFrom("on", "off")) }),
  fc.record({ op: fc.constant("release" as const), name }),
  fc.record({ op: fc.constant("delete" as const), name }),
);

/** What the oracle knows of one object. */
interface Known {
  readonly value: string | undefined;
  readonly label: string | undefined;
  readonly held: boolean;
  readonly terminating: boolean;
}
type Oracle = Map<string, Known>;

/** The HTTP code a step must have, and its effect. */
function expected(oracle: Oracle, done: Step): number {
  const known = oracle.get(done.name);
  if (done.op === "create") {
    if (known !== undefined) return 409;
    oracle.set(done.name, { value: done.value, label: undefined, held: done.held, terminating: false });
    return 200;
  }
  if (known === undefined) return 404;
  switch (done.op) {
    case "update":
      if (done.stale) return 409;
      return keep(oracle, done.name, { ...known, value: done.value });
    case "merge":
      return keep(oracle, done.name, { ...known, value: done.value ?? undefined });
    case "label":
      return keep(oracle, done.name, { ...known, label: done.label ?? undefined });
    case "release":
      return keep(oracle, done.name, { ...known, held: false });
    case "delete":
      return keep(oracle, done.name, { ...known, terminating: true });
  }
}

function keep(oracle: Oracle, name: string, next: Known): number {
  if (next.terminating && !next.held) oracle.delete(name);
  else oracle.set(name, next);
  return 200;
}

interface Map1 extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
const ref = (name: string) => ({ type: ConfigMap, namespace: "default", name });

async function perform(client: ApiClient, done: Step): Promise<unknown> {
  switch (done.op) {
    case "create": {
      const finalizers = done.held ? { finalizers: ["example.org/hold"] } : {};
      return client.create(
        ConfigMap,
        configMap(done.name, { data: { v: done.value } }, { namespace: "default", ...finalizers }),
      );
    }
    case "update": {
      const now = await client.get<Map1>(ref(done.name));
      const metadata = done.stale ? { ...now.metadata, resourceVersion: "1" } : now.metadata;
      return client.update(ConfigMap, { ...now, metadata, data: { v: done.value } });
    }
    case "merge":
      return client.patch(ref(done.name), { type: "merge", body: { data: { v: done.value } } });
    case "label":
      return client.patch(ref(done.name), { type: "strategic", body: { metadata: { labels: { show: done.label } } } });
    case "release":
      return client.patch(ref(done.name), { type: "merge", body: { metadata: { finalizers: null } } });
    case "delete":
      return client.delete(ref(done.name));
  }
}

const codeOfStep = (client: ApiClient, done: Step): Promise<number> =>
  perform(client, done).then(
    () => 200,
    (thrown: unknown) => (thrown instanceof ApiError ? thrown.code : Promise.reject(thrown)),
  );

const known = (object: Stored<Map1>): Known => ({
  value: object.data?.["v"],
  label: object.metadata.labels?.["show"],
  held: (object.metadata.finalizers ?? []).length > 0,
  terminating: object.metadata.deletionTimestamp !== undefined,
});

/** Follows a watch into a map of what it says exists. Complains about revisions that do not rise. */
function follow(client: ApiClient, labelSelector: string, signal: AbortSignal) {
  const seen = new Map<string, Known>();
  let revision = 0;
  const run = async () => {
    const events: AsyncIterable<WatchEvent<Map1>> = client.watch<Map1>(ConfigMap, {
      namespace: "default",
      labelSelector,
      signal,
    });
    for await (const event of events) {
      if (event.type === "BOOKMARK" || event.object.metadata.name === "kube-root-ca.crt") continue;
      const { name, resourceVersion } = event.object.metadata;
      expect(Number(resourceVersion)).toBeGreaterThan(revision);
      revision = Number(resourceVersion);
      expect(seen.has(name)).toBe(event.type !== "ADDED");
      if (event.type === "DELETED") seen.delete(name);
      else seen.set(name, known(event.object));
    }
  };
  return { seen, ended: run() };
}

test("after any writes the store, a list and every watcher agree with the oracle", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new FakeClock();
      const store = memoryStore({ clock });
      const server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0" });
      const client = server.client();
      const stop = new AbortController();
      const all = follow(client, "", stop.signal);
      const shown = follow(client, "show=on", stop.signal);
      const oracle: Oracle = new Map();
      for (const one of steps) {
        const code = expected(oracle, one);
        expect({ step: one, code: await codeOfStep(client, one) }).toEqual({ step: one, code });
      }
      const list = await client.list<Map1>(ConfigMap, {
        namespace: "default",
        fieldSelector: "metadata.name!=kube-root-ca.crt",
      });
      const stored = new Map(list.items.map((item) => [item.metadata.name, known(item)]));
      expect(stored).toEqual(oracle);
      const visible = new Map([...oracle].filter(([, { label }]) => label === "on"));
      const same = (seen: ReadonlyMap<string, Known>, wanted: Oracle) => expect.soft(seen).toEqual(wanted);
      await waitUntil(() => all.seen.size === oracle.size && shown.seen.size === visible.size);
      // A change without an effect on the sizes may still be on its way.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      same(all.seen, oracle);
      same(shown.seen, visible);
      stop.abort();
      await Promise.all([all.ended, shown.ended]);
      await server.close();
      await store.close();
    }),
    { numRuns: runs(60) },
  );
});

test("writing the same again changes no revision", async () => {
  const store = memoryStore();
  const server = await createApiServer({ store, clock: new FakeClock(), log: silentLog, version: "0.0.0" });
  const client = server.client();
  const words = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string({ maxLength: 8 }), { maxKeys: 4 });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(words, words, async (data, annotations) => {
      count += 1;
      const sent = configMap(`same-${count}`, { data }, { namespace: "default", annotations });
      const made = await client.create(ConfigMap, sent);
      const before = store.revision;
      const copy: JsonObject = JSON.parse(JSON.stringify(made)) as JsonObject;
      expect(await client.update(ConfigMap, copy as unknown as KubeObject)).toEqual(made);
      expect(await client.patch(ref(`same-${count}`), { type: "merge", body: { data } })).toEqual(made);
      expect(await client.patch(ref(`same-${count}`), { type: "strategic", body: { data } })).toEqual(made);
      expect(store.revision).toBe(before);
    }),
    { numRuns: runs(50) },
  );
  await server.close();
  await store.close();
});
