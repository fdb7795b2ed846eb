import { afterEach, beforeEach, expect, test } from "vitest";
import { Workflow } from "../kinds.ts";
import { Harness, job, namespace } from "../testing/harness.ts";

let run: Harness;
beforeEach(() => {
  run = new Harness();
});
afterEach(() => run.close());

const ref = (name: string) => ({ externalRef: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name } });
const invalid = async (name: string) =>
  (await run.status(name)).conditions?.find(({ type, status }) => type === "Invalid" && status === "True")?.message;

test("what would wait for itself by way of others is Invalid, with the circle, and starts nothing", async () => {
  await run.create({ steps: { a: ref("two") } }, "one");
  await run.create({ steps: { b: ref("three") } }, "two");
  await run.create({ steps: { work: job() }, finally: { c: ref("one") } }, "three");
  expect(await invalid("three")).toBe(
    "spec.finally.c.externalRef: a workflow cannot wait for itself: three -> one -> two -> three",
  );
  expect(await run.active()).toEqual([]);
  // The others had begun before; they wait for one that can be corrected.
  expect([await invalid("one"), await invalid("two")]).toEqual([undefined, undefined]);
  await run.edit({ finally: { c: null } }, "three");
  await run.end("work");
  for (const name of ["one", "two", "three"]) expect(await run.status(name)).toMatchObject({ phase: "Succeeded" });
});

test("it goes on by itself when another one of the circle is gone", async () => {
  await run.create({ steps: { a: ref("two") } }, "one");
  await run.create({ steps: { b: ref("one") } }, "two");
  expect(await invalid("two")).toContain("two -> one -> two");
  await run.store.delete({ type: Workflow, namespace, name: "one" });
  await run.pass(15_000);
  expect(await invalid("two")).toBeUndefined();
  expect(await run.phases("two")).toEqual({ b: "Waiting/ReferenceNotFound" });
});

test("who waits for others that wait for each other is not in their circle, and what has ended is in none", async () => {
  await run.create({ steps: { a: ref("two") } }, "one");
  await run.create({ steps: { b: ref("one"), c: ref("done") } }, "two");
  await run.create({ steps: { d: ref("two") } }, "aside");
  expect(await invalid("aside")).toBeUndefined();
  await run.create({ steps: { work: job() } }, "done");
  await run.end("work");
  await run.create({ steps: { e: ref("done") } }, "late");
  expect(await run.status("late")).toMatchObject({ phase: "Succeeded" });
});
