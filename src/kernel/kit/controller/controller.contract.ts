import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { messageOf, silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap, isNotFound } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import type { ApiClientFixture } from "../client/client.contract.ts";
import { widget, type WidgetObject, widgetReconciler, seededRandom } from "../testing/index.ts";
import { controllerFor } from "./builder.ts";
import { Manager } from "./manager.ts";

/** What the suite needs beside a namespace and a kind: the connection of the controller, and one that works. */
export type ControllerFixture = Pick<ApiClientFixture, "client" | "namespace" | "widgets" | "close"> & {
  /** For the user, and for looking: the controller's own client may be a bad one. */
  readonly observer: ApiClient;
};

/** What a controller brings about, whatever API is behind its client, and however bad the connection. Waits for what is to come. */
export function describeControllers(name: string, make: () => Promise<ControllerFixture>): void {
  describe(`controllers: ${name}`, () => {
    let fixture: ControllerFixture;
    const stops: (() => Promise<void>)[] = [];
    beforeEach(async () => {
      fixture = await make();
    });
    afterEach(async () => {
      for (const stop of stops.splice(0)) await stop();
      await fixture.close();
    });

    /** Runs a controller until the returned function is called, which resolves when all of it has ended in order. */
    function start(): () => Promise<void> {
      const { client, widgets } = fixture;
      const manager = new Manager({ client, clock: systemClock, log: silentLog, random: seededRandom(1) });
      const reconciler = widgetReconciler(manager, widgets);
      controllerFor(manager, "widgets").for(widgets).owns(ConfigMap).complete(reconciler);
      const abort = new AbortController();
      const ended = manager.run(abort.signal).then(
        () => undefined,
        (thrown: unknown) => messageOf(thrown),
      );
      const stop = async () => {
        abort.abort();
        expect(await ended).toBeUndefined();
      };
      stops.push(stop);
      return stop;
    }

    const refOf = (name: string) => ({ type: fixture.widgets, namespace: fixture.namespace, name });
    const want = (name: string, size: number) =>
      fixture.observer.create(fixture.widgets, widget(fixture.widgets, fixture.namespace, name, size));
    const children = async () =>
      (await fixture.observer.list(ConfigMap, { namespace: fixture.namespace })).items
        .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === fixture.widgets.kind)
        .map(({ metadata }) => metadata.name);
    const sizeOf = async (name: string) => (await fixture.observer.get<WidgetObject>(refOf(name))).status;
    const becomes = (look: () => Promise<unknown>, expected: unknown) =>
      expect.poll(look, { timeout: 50_000, interval: 50 }).toEqual(expected);

    test("make what is wanted, more and less of it, and tell so", async () => {
      await want("before", 1);
      start();
      await becomes(children, ["before-0"]);
      await want("after", 2);
      await becomes(children, ["after-0", "after-1", "before-0"]);
      await fixture.observer.patch(refOf("after"), { type: "merge", body: { spec: { size: 1 } } });
      await becomes(children, ["after-0", "before-0"]);
      await becomes(() => sizeOf("after"), { size: 1 });
    });

    test("make again what somebody takes away", async () => {
      start();
      await want("a", 2);
      await becomes(children, ["a-0", "a-1"]);
      const { metadata } = await fixture.observer.get({ type: ConfigMap, namespace: fixture.namespace, name: "a-0" });
      await fixture.observer.delete({ type: ConfigMap, namespace: fixture.namespace, name: "a-0" });
      const uid = async () =>
        fixture.observer
          .get({ type: ConfigMap, namespace: fixture.namespace, name: "a-0" })
          .then((found) => found.metadata.uid !== metadata.uid)
          .catch((thrown: unknown) => !isNotFound(thrown) && Promise.reject(thrown as Error));
      await becomes(uid, true);
    });

    test("clean up behind what goes, and let it go", async () => {
      start();
      await want("a", 2);
      await becomes(children, ["a-0", "a-1"]);
      await fixture.observer.delete(refOf("a"));
      await becomes(children, []);
      const isGone = () =>
        fixture.observer.get(refOf("a")).then(
          () => false,
          (thrown: unknown) => isNotFound(thrown),
        );
      await becomes(isGone, true);
    });

    test("that follow another go on where it ended", async () => {
      const stop = start();
      await want("a", 1);
      await becomes(children, ["a-0"]);
      await stop();
      await fixture.observer.patch(refOf("a"), { type: "merge", body: { spec: { size: 3 } } });
      await want("b", 1);
      expect(await children()).toEqual(["a-0"]);
      start();
      await becomes(children, ["a-0", "a-1", "a-2", "b-0"]);
    });
  });
}
