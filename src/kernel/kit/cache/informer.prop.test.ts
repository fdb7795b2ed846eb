import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject, keyOf, type Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { type MemoryClient, memoryClient, chaosClient, seededRandom } from "../testing/index.ts";
import { freshClient } from "./fresh-client.ts";
import { InformerFactory } from "./informer-factory.ts";
import type { Informer } from "./informer.ts";

type Data = KubeObject & { readonly data: Readonly<Record<string, string>> };

type Step =
  | { readonly kind: "put" | "delete"; readonly name: string; readonly value: string; readonly isOwn: boolean }
  | { readonly kind: "compact" }
  | { readonly kind: "drop" }
  | { readonly kind: "wait"; readonly ms: number };

const write = fc.record({
  kind: fc.constantFrom("put" as const, "put" as const, "delete" as const),
  name: fc.constantFrom("a", "b", "c", "d"),
  value: fc.constantFrom("x", "y", "z"),
  isOwn: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: write },
  { weight: 1, arbitrary: fc.constant({ kind: "compact" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "drop" as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 2000 }) }) },
);

const faults = {
  tooMany: 0.05,
  internal: 0.05,
  expired: 0.1,
  latency: 0.3,
  endedWatch: 0.05,
  brokenWatch: 0.05,
  duplicateEvent: 0.2,
};

/** Builds a state from what a handler is told, and notes whatever is told twice or out of order. */
class Follower {
  readonly state = new Map<string, Stored<Data>>();
  readonly mistakes: string[] = [];

  add = (object: Stored<Data>): void => {
    const key = keyOf(object.metadata);
    if (this.state.has(key)) this.mistakes.push(`${key} was added twice`);
    this.state.set(key, object);
  };
  update = (old: Stored<Data>, object: Stored<Data>): void => {
    const key = keyOf(object.metadata);
    if (this.state.get(key) !== old) this.mistakes.push(`${key} did not change from what was told last`);
    if (old.metadata.uid !== object.metadata.uid) this.mistakes.push(`${key} changed its uid`);
    if (Number(object.metadata.resourceVersion) <= Number(old.metadata.resourceVersion))
      this.mistakes.push(`${key} went back to ${object.metadata.resourceVersion}`);
    this.state.set(key, object);
  };
  delete = (object: Stored<Data>): void => {
    if (!this.state.delete(keyOf(object.metadata))) this.mistakes.push(`${keyOf(object.metadata)} was deleted twice`);
  };
}

const byKey = (objects: Iterable<Stored<Data>>) =>
  new Map([...objects].map((object) => [keyOf(object.metadata), object]));

async function perform(client: MemoryClient, fresh: ReturnType<typeof freshClient>, step: Step, clock: FakeClock) {
  if (step.kind === "compact") return client.compact();
  if (step.kind === "drop") return client.dropWatches();
  if (step.kind === "wait") return clock.advance(step.ms);
  const through = step.isOwn ? fresh : client;
  const ref = { type: ConfigMap, namespace: "default", name: step.name };
  if (step.kind === "delete") return void (await through.delete(ref).catch(() => undefined));
  const metadata = { namespace: "default", name: step.name };
  const object: Data = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value: step.value } };
  await through.create(ConfigMap, object).catch(() => through.update(ConfigMap, object));
}

const valueOf = ({ data }: Stored<Data>): readonly string[] => [data["value"] ?? ""];
const byUid = (a: Stored<Data>, b: Stored<Data>): number =>
  a.metadata.uid < b.metadata.uid ? -1 : a.metadata.uid === b.metadata.uid ? 0 : 1;
const read = (informer: Informer<Data>, value: string) => [...informer.inOrder("value in order", value)];
const expected = (informer: Informer<Data>, value: string) =>
  informer
    .list()
    .filter((object) => valueOf(object).includes(value))
    .toSorted(byUid);

test("whatever the connection does, the mirror ends equal to the server, and handlers miss nothing and hear nothing twice", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(), async (steps, seed) => {
      const clock = new FakeClock();
      const random = seededRandom(seed);
      const client = memoryClient({ clock });
      const chaos = chaosClient(client, { clock, random, faults });
      const factory = new InformerFactory({ client: chaos, clock, log: silentLog, random });
      const { informer } = factory.acquire<Data>(ConfigMap);
      const follower = new Follower();
      informer.addHandler(follower);
      informer.addIndex("value", (object) => [object.data["value"] ?? ""]);
      const fresh = freshClient(client, factory);

      informer.addIndex("value in order", valueOf, byUid);

      for (const step of steps) {
        await perform(client, fresh, step, clock);
        // Also between an own write and its event.
        for (const value of ["x", "y", "z"]) expect(read(informer, value)).toEqual(expected(informer, value));
      }
      chaos.setFaults();
      await clock.advance(200_000);

      const server = byKey((await client.list<Data>(ConfigMap)).items);
      expect(follower.mistakes).toEqual([]);
      expect(follower.state).toEqual(server);
      expect(byKey(informer.list())).toEqual(server);
      const indexed = ["x", "y", "z"].flatMap((value) => informer.byIndex("value", value));
      expect(byKey(indexed)).toEqual(server);
      await factory.close();
    }),
    { numRuns: runs(150) },
  );
});

test("reads never go back behind an own write while the object lives", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("own", "other", "tick"), { maxLength: 30 }),
      fc.nat(),
      async (steps, seed) => {
        const clock = new FakeClock();
        const random = seededRandom(seed);
        const client = memoryClient({ clock });
        const chaos = chaosClient(client, { clock, random, faults });
        const factory = new InformerFactory({ client: chaos, clock, log: silentLog, random });
        const { informer } = factory.acquire<Data>(ConfigMap);
        const fresh = freshClient(client, factory);
        const object: Data = {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace: "default", name: "a" },
          data: {},
        };
        await client.create(ConfigMap, object);
        await clock.advance(60_000);
        let written = 0;
        for (const [index, step] of steps.entries()) {
          if (step === "tick") await clock.advance(100);
          else {
            const through = step === "own" ? fresh : client;
            const stored = await through.update(ConfigMap, { ...object, data: { value: String(index) } });
            if (step === "own" && informer.hasSynced()) written = Number(stored.metadata.resourceVersion);
          }
          const read = informer.get("default/a");
          if (written > 0) expect(Number(read?.metadata.resourceVersion)).toBeGreaterThanOrEqual(written);
        }
        await factory.close();
      },
    ),
    { numRuns: runs(100) },
  );
});
