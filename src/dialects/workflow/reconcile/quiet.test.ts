import { afterEach, expect, test } from "vitest";
import { Harness, job, Thing, namespace } from "../testing/harness.ts";

let open: Harness | undefined;
function start(): Harness {
  open = new Harness();
  return open;
}
afterEach(async () => {
  await open?.close();
  open = undefined;
});

test("steps that come alive one after the other are stored together, half a second after the first", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: job() } });
  const writes = run.statusWrites;
  await run.pass(400);
  expect(run.statusWrites).toBe(writes);
  await run.pass(200);
  expect(await run.phases()).toEqual({ a: "Running", b: "Running" });
  expect(run.statusWrites).toBe(writes + 1);
});

test("a clock that is set back puts nothing off", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.pass(200);
  run.clock.jump(run.clock.now() - 3_600_000);
  await run.pass(1_000);
  expect(await run.phases()).toEqual({ a: "Running" });
});

test("any other change is stored at once and takes what has come alive along", async () => {
  const run = start();
  await run.create({ steps: { a: job(), b: job() } });
  await run.end("a");
  expect(await run.phases()).toEqual({ a: "Succeeded", b: "Running" });
  expect(run.statusWrites).toBe(2);
});

test("a step that ends within the half second is never stored as running", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.pass(300);
  await run.end("a");
  expect(run.statusWrites).toBe(2);
});

test("a changed specification is taken note of at once", async () => {
  const run = start();
  await run.create({ steps: { a: job() } });
  await run.edit({ activeDeadlineSeconds: 99 });
  expect((await run.status()).observedGeneration).toBe((await run.workflow()).metadata.generation);
});

test("the uid of a referenced object is pinned when it is first seen", async () => {
  const run = start();
  await run.store.create(Thing, { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t", namespace } });
  await run.create({ steps: { ref: { externalRef: { apiVersion: "example.com/v1", kind: "Thing", name: "t" } } } });
  expect((await run.status()).statuses?.["ref"]?.reference?.uid).toBeDefined();
});
