import { chaosClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { memoryStore } from "#kernel/apiserver/store/open.ts";
import { createApiServer } from "#kernel/apiserver/index.ts";
import { freshClient, InformerFactory } from "#kernel/kit/index.ts";
import { ConfigMap, keyOf, type Stored } from "#kernel/model/index.ts";

const faults = {
  tooMany: 0.05,
  internal: 0.05,
  expired: 0.1,
  latency: 0.3,
  endedWatch: 0.05,
  brokenWatch: 0.05,
  duplicateEvent: 0.2,
};
const configMap = (name: string, value: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { value },
});
const byKey = (objects: readonly Stored[]) => new Map(objects.map((object) => [keyOf(object.metadata), object]));

test.each(Array.from({ length: 12 }, (_none, seed) => seed))(
  "a mirror of the embedded server ends equal to it, whatever the connection did (seed %d)",
  async (seed) => {
    const clock = new FakeClock();
    const random = seededRandom(seed);
    const storeClock = new FakeClock();
    const store = memoryStore({ clock: storeClock, retention: { looks: 0, minEvents: 0, everyMs: 1000 } });
    const server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0" });
    const client = server.client();
    const chaos = chaosClient(client, { clock, random, faults });
    const informers = new InformerFactory({ client: chaos, clock, log: silentLog, random });
    const { informer } = informers.acquire(ConfigMap, { namespace: "default" });
    const told = new Map<string, Stored>();
    const mistakes: string[] = [];
    informer.addHandler({
      add: (object) =>
        void (told.has(keyOf(object.metadata))
          ? mistakes.push("added twice")
          : told.set(keyOf(object.metadata), object)),
      update: (old, object) => {
        if (told.get(keyOf(object.metadata)) !== old) mistakes.push("changed from something else");
        told.set(keyOf(object.metadata), object);
      },
      delete: (object) => void (told.delete(keyOf(object.metadata)) || mistakes.push("deleted twice")),
    });
    const fresh = freshClient(client, informers);

    for (let step = 0; step < 150; step++) {
      const name = `c${Math.floor(random() * 6)}`;
      const dice = random();
      if (dice < 0.6)
        await fresh
          .create(ConfigMap, configMap(name, "new"))
          .catch(() => fresh.update(ConfigMap, configMap(name, String(step))));
      else if (dice < 0.75) await client.delete({ type: ConfigMap, namespace: "default", name }).catch(() => undefined);
      else if (dice < 0.8) await storeClock.advance(1000);
      else await clock.advance(Math.floor(random() * 2000));
    }
    chaos.setFaults();
    await clock.advance(200_000);

    const state = byKey((await client.list(ConfigMap, { namespace: "default" })).items);
    expect(mistakes).toEqual([]);
    expect(told).toEqual(state);
    expect(byKey(informer.list())).toEqual(state);
    expect(chaos.happened.size).toBeGreaterThan(2);
    await informers.close();
    await server.close();
    await store.close();
  },
);
