import { expect, test } from "vitest";
import { tinkerbell } from "#dialects/tinkerbell/index.ts";
import { workflow } from "#dialects/workflow/index.ts";
import { FakeClock } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ApiError, type KubeObject, Pod } from "#kernel/model/index.ts";
import { listRunPods, watchRunPods } from "./run-pods.ts";

const scope = { namespace: "default", labelSelector: "run=a" };
const pod = (name: string, run: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", labels: { run } },
});

test("a run that is over within two seconds costs no request", async () => {
  const clock = new FakeClock();
  const client = memoryClient({ clock });
  let lists = 0;
  const watch = client.watch.bind(client);
  client.watch = (...args) => (lists++, watch(...args));
  const stop = new AbortController();
  watchRunPods(client, scope, clock, () => undefined, stop.signal);
  await clock.advance(1_999);
  stop.abort();
  await clock.advance(60_000);
  expect(lists).toBe(0);
});

test("from then on every change tells of all Pods of the run, several at once only once, until it is stopped", async () => {
  const clock = new FakeClock();
  const client = memoryClient({ clock });
  const told: (readonly string[])[] = [];
  const stop = new AbortController();
  watchRunPods(
    client,
    scope,
    clock,
    (pods) => told.push(pods.map(({ metadata }) => metadata.name).sort()),
    stop.signal,
  );
  await clock.advance(2_000);
  for (const name of ["one", "two"]) await client.create(Pod, pod(name, "a"));
  await client.create(Pod, pod("foreign", "b"));
  await clock.advance(100);
  expect(told).toEqual([["one", "two"]]);
  await client.delete({ type: Pod, namespace: "default", name: "one" }, { gracePeriodSeconds: 0 });
  await clock.advance(100);
  expect(told.at(-1)).toEqual(["two"]);
  stop.abort();
  await client.create(Pod, pod("late", "a"));
  await clock.advance(10_000);
  expect(told).toHaveLength(2);
});

const run: KubeObject = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name: "a", uid: "u" } };

test("a run whose steps agents carry out has no Pods, and nobody asks for them", async () => {
  const client = memoryClient({ clock: new FakeClock() });
  client.list = () => Promise.reject(new Error("asked"));
  const dialect = await tinkerbell.load();
  expect(await listRunPods(client, dialect, { ...run, apiVersion: "tinkerbell.org/v1alpha1" })).toEqual([]);
});

test.each(["NotFound", "Forbidden"] as const)("Pods that the server answers with %s are none", async (reason) => {
  const client = memoryClient({ clock: new FakeClock() });
  client.list = () => Promise.reject(new ApiError(reason, "no"));
  expect(await listRunPods(client, await workflow.load(), run)).toEqual([]);
});
