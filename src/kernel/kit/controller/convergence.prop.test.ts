import fc from "fast-check";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ConfigMap, type ResourceType } from "#kernel/model/index.ts";
import { runs } from "#test/support/property-runs.ts";
import {
  type MemoryClient,
  memoryClient,
  widget,
  type WidgetObject,
  widgetReconciler,
  chaosClient,
  seededRandom,
} from "../testing/index.ts";
import { controllerFor } from "./builder.ts";
import { Manager } from "./manager.ts";

// A small but whole controller under a hostile connection.

const Widget: ResourceType = {
  group: "demo.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};
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
    .create(Widget, widget(Widget, "default", step.name, size))
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
      const reconciler = widgetReconciler(manager, Widget);
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
