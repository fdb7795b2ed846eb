import { afterEach, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { CacheExplanation } from "#kernel/dialect/index.ts";
import type { WorkflowSpec } from "../kinds.ts";
import { Harness, namespace } from "../testing/harness.ts";
import { explainCache } from "./explain.ts";
import { CacheEntry } from "./kind.ts";

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const build = (level: string, more: JsonObject = {}): WorkflowSpec => ({
  steps: {
    build: {
      container: {
        image: "compiler:1",
        env: [
          { name: "LEVEL", value: level },
          { name: "API_TOKEN", value: `token-${level}` },
        ],
      },
      cache: { maxAgeSeconds: 3600 },
      ...more,
    },
    other: { container: { image: "i" }, dependencies: ["build"] },
  },
});

async function ask(name: string, more: { step?: string; item?: number } = {}) {
  const { items: entries } = await harness.store.list(CacheEntry, { namespace });
  return explainCache(await harness.workflow(name), { step: "build", entries, now: harness.clock.now(), ...more });
}

async function explained(name: string, more = {}): Promise<CacheExplanation> {
  const answer = await ask(name, more);
  if (!answer.ok) throw new Error(answer.error);
  return answer.value;
}

async function run(name: string, spec: WorkflowSpec): Promise<void> {
  await harness.create(spec, name);
  await harness.endAll();
}

test("a miss tells which inputs differ from the nearest earlier result, secrets as digests", async () => {
  await run("far", build("9", { container: { image: "compiler:0" } }));
  await run("near", build("1"));
  await harness.pass(1_000);
  await run("wf", build("2"));
  const answer = await explained("wf");
  expect(answer).toMatchObject({
    outcome: "miss",
    message: "the step ran and cached its result",
    nearest: { workflow: "near", step: "build" },
  });
  const digest = expect.stringMatching(/^digest [a-z2-7]{16} of 7 characters$/);
  expect(answer.changes).toEqual([
    { field: "container.env[API_TOKEN].value", was: digest, is: digest },
    { field: "container.env[LEVEL].value", was: "1", is: "2" },
  ]);
});

test("fields that are new, or gone, have one side only", async () => {
  await run("first", { steps: { build: { container: { image: "i", args: ["a"] }, cache: {} } } });
  await harness.pass(1_000);
  await run("wf", { steps: { build: { container: { image: "i", workingDir: "/x" }, cache: {} } } });
  expect((await explained("wf")).changes).toEqual([
    { field: "container.args[0]", was: "a" },
    { field: "container.workingDir", is: "/x" },
  ]);
});

test("a hit names the run whose result was taken", async () => {
  await run("first", build("1"));
  await run("wf", build("1"));
  expect(await explained("wf")).toMatchObject({
    outcome: "hit",
    message: 'it has the result of step "build" of Workflow "first"',
    entry: { workflow: "first" },
    changes: [],
  });
});

test("of a run that has not come there yet, it tells what a start would find", async () => {
  await run("first", build("1"));
  await harness.create({ ...build("1"), suspend: true }, "wf");
  expect(await explained("wf")).toMatchObject({ outcome: "hit", message: expect.stringContaining("a start takes") });
  await harness.pass(3_600_000);
  expect(await explained("wf")).toMatchObject({
    outcome: "stale",
    message:
      'the result of step "build" of Workflow "first", stored 60m ago, is not taken: it is older than maxAgeSeconds',
  });
});

test("an item of a fan-out is explained by its index", async () => {
  const each = (items: readonly string[]): WorkflowSpec => ({
    steps: { build: { container: { image: "${{ item }}" }, forEach: { items }, cache: {} } },
  });
  await run("first", each(["a"]));
  await run("wf", each(["b", "a"]));
  expect(await explained("wf", { item: 1 })).toMatchObject({ item: 1, outcome: "hit" });
  expect(await explained("wf")).toMatchObject({ item: 0, outcome: "miss", nearest: { workflow: "first", item: 0 } });
  expect(await ask("wf", { item: 2 })).toEqual({ ok: false, error: 'step "build" has 2 items, counted from 0' });
});

test("what cannot be explained says why", async () => {
  await harness.create(build("1"), "wf");
  expect(await ask("wf", { step: "none" })).toEqual({ ok: false, error: 'there is no step "none"' });
  expect(await ask("wf", { step: "other" })).toEqual({ ok: false, error: 'step "other" has no cache' });
  expect(await ask("wf", { item: 0 })).toEqual({ ok: false, error: 'step "build" has no items' });
  expect(await explained("wf")).toMatchObject({
    outcome: "miss",
    message: "no result of these inputs is cached; the step has no earlier result",
  });
});
