import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ConfigMap, isNotFound, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { chaosClient } from "../client/chaos-client.ts";
import { seededRandom } from "../client/seeded-random.ts";
import { type MemoryClient, memoryClient } from "../testing/index.ts";
import { controllerFor } from "./builder.ts";
import { Manager } from "./manager.ts";
import { type Reconciler, TerminalError } from "./reconciler.ts";
import { addFinalizer, ensureChild, patchStatus, refTo, removeFinalizer } from "./writes.ts";

// A small but whole controller under a hostile connection: a Widget wants `spec.size` ConfigMaps, counts them in its status and
// removes them itself before it goes.

const Widget: ResourceType = {
  group: "demo.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};
type WidgetObject = KubeObject & { readonly spec: { readonly size: number } };

const finalizer = "slipway.dev/widget";
const faults = {
  conflict: 0.1,
  tooMany: 0.05,
  internal: 0.1,
  lostAnswer: 0.1,
  expired: 0.05,
  latency: 0.3,
  endedWatch: 0.05,
  brokenWatch: 0.05,
  duplicateEvent: 0.1,
};

const widget = (name: string, size: number): WidgetObject => ({
  apiVersion: "demo.slipway.dev/v1",
  kind: "Widget",
  metadata: { name, namespace: "default" },
  spec: { size },
});
const child = (owner: Stored, index: number): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `${owner.metadata.name}-${index}`, namespace: "default" },
});

function widgetReconciler(manager: Manager): Reconciler {
  const { client } = manager;
  const widgets = manager.informers.acquire<WidgetObject>(Widget).informer;
  const children = manager.informers.acquire(ConfigMap).informer;
  children.addIndex("owner", ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid));

  const remove = async (object: Stored): Promise<void> => {
    const preconditions = { uid: object.metadata.uid };
    await client.delete(refTo(ConfigMap, object), { preconditions }).catch((thrown: unknown) => {
      if (!isNotFound(thrown)) throw thrown;
    });
  };
  return {
    async reconcile({ namespace, name }) {
      const found = widgets.get(`${namespace}/${name}`);
      if (found === undefined) return;
      const owned = children.byIndex("owner", found.metadata.uid);
      if (found.metadata.deletionTimestamp !== undefined) {
        for (const object of owned) await remove(object);
        if (owned.length === 0) await removeFinalizer(client, Widget, found, finalizer);
        return;
      }
      const guarded = await addFinalizer(client, Widget, found, finalizer);
      const { size } = guarded.spec;
      const wanted = new Set(Array.from({ length: size }, (_none, index) => `${name}-${index}`));
      for (const object of owned) if (!wanted.has(object.metadata.name)) await remove(object);
      for (let index = 0; index < size; index++) {
        const { outcome } = await ensureChild(client, ConfigMap, child(guarded, index), guarded);
        if (outcome === "foreign") throw new TerminalError(`${name}-${index} belongs to somebody else`);
      }
      await patchStatus(client, Widget, guarded, { size });
    },
  };
}

type Step =
  | { readonly kind: "put"; readonly name: string; readonly size: number }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "steal"; readonly name: string }
  | { readonly kind: "wait"; readonly ms: number };

const name = fc.constantFrom("a", "b");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("put" as const), name, size: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("steal" as const), name }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(3000) }) },
);

/** What users and vandals do, through a connection that works. */
async function perform(client: MemoryClient, clock: FakeClock, step: Step): Promise<void> {
  if (step.kind === "wait") return clock.advance(step.ms);
  const ref = { type: Widget, namespace: "default", name: step.name };
  if (step.kind === "delete") return void (await client.delete(ref).catch(() => undefined));
  if (step.kind === "steal") {
    const first = { type: ConfigMap, namespace: "default", name: `${step.name}-0` };
    return void (await client.delete(first).catch(() => undefined));
  }
  const { size } = step;
  await client
    .create(Widget, widget(step.name, size))
    .catch(() => client.patch(ref, { type: "merge", body: { spec: { size } } }));
}

test("a controller brings the world to what is wanted, through any number of faults, and leaves nothing behind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(), async (steps, seed) => {
      const clock = new FakeClock();
      const random = seededRandom(seed);
      const server = memoryClient({ clock, types: [Widget] });
      const chaos = chaosClient(server, { clock, random, faults });
      const manager = new Manager({ client: chaos, clock, log: silentLog, random });
      const reconciler = widgetReconciler(manager);
      controllerFor(manager, "widgets").for(Widget).owns(ConfigMap).complete(reconciler);
      const stop = new AbortController();
      const ended = manager.run(stop.signal);

      for (const each of steps) await perform(server, clock, each);
      chaos.setFaults();
      await clock.advance(2_000_000);

      const widgets = (await server.list<WidgetObject>(Widget)).items;
      const children = (await server.list(ConfigMap)).items.map(({ metadata }) => metadata.name);
      const wanted = widgets.flatMap(({ metadata, spec }) =>
        Array.from({ length: spec.size }, (_none, index) => `${metadata.name}-${index}`),
      );
      expect(children.sort()).toEqual(wanted.sort());
      for (const { metadata, spec, status } of widgets) {
        expect(metadata.deletionTimestamp).toBeUndefined();
        expect(status).toEqual({ size: spec.size });
      }
      stop.abort();
      await clock.advance(20_000);
      await ended;
    }),
    { numRuns: runs(60) },
  );
});
