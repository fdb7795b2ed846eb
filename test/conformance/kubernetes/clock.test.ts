import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { configMap, type Json, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";

// 55. Somebody sets the clock of the machine: revisions and watches go on as if nothing had happened, times follow the clock.

const maps = "/api/v1/namespaces/default/configmaps";
const hour = 3_600_000;

let clock: FakeClock;
let api: TestServer;
beforeAll(async () => {
  clock = new FakeClock(Date.UTC(2026, 0, 31, 12));
  api = await startTestServer({ clock });
});
afterAll(() => api.close());

const metaOf = (object: Json) =>
  object["metadata"] as unknown as {
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly name: string;
  };

test.each([
  ["back", -hour, "2026-01-31T11:00:00Z"],
  ["forth by a day", 24 * hour, "2026-02-01T11:00:00Z"],
])("a clock that is set %s changes no revision and loses no event", async (way, by, expected) => {
  const name = way.replaceAll(" ", "-");
  const before = metaOf((await api.ask("POST", maps, { body: configMap(`${name}-before`) })).json);
  const watch = await api.watch(`${maps}?watch=1&resourceVersion=${before.resourceVersion}`);
  clock.jump(clock.now() + by);
  const after = metaOf((await api.ask("POST", maps, { body: configMap(`${name}-after`) })).json);
  expect(Number(after.resourceVersion)).toBe(Number(before.resourceVersion) + 1);
  expect(after.creationTimestamp).toBe(expected);
  const changed = await api.ask("PUT", `${maps}/${name}-before`, {
    body: configMap(`${name}-before`, { data: { k: "1" } }),
  });
  expect(metaOf(changed.json).creationTimestamp).toBe(before.creationTimestamp);
  const events: string[] = [];
  for (const _ of ["first", "second"]) {
    const event = await watch.next();
    events.push(`${String(event?.["type"])} ${String(event?.["object"]?.["metadata"]?.["name"])}`);
  }
  expect(events).toEqual([`ADDED ${name}-after`, `MODIFIED ${name}-before`]);
  watch.close();
  // What was current before the jump still is: nothing of history is forgotten because of a date.
  const exact = await api.ask("GET", `${maps}?resourceVersion=${before.resourceVersion}&resourceVersionMatch=Exact`);
  expect(exact.status, exact.text).toBe(200);
});

test("a Lease from the other side of a jump is kept as it is", async () => {
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "held" },
    spec: { holderIdentity: "a", renewTime: "2031-01-01T00:00:00.000000Z" },
  };
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  expect((await api.ask("POST", leases, { body: lease })).status).toBe(201);
  clock.jump(clock.now() - hour);
  expect((await api.ask("GET", `${leases}/held`)).json["spec"]).toEqual(lease.spec);
});
