import { afterEach, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import type { StepStatus, WorkflowSpec } from "./kinds.ts";
import { Harness, job } from "./testing/harness.ts";

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const stepOf = async (): Promise<StepStatus> => (await harness.status()).statuses?.["poll"] ?? {};
const loop = (repeat: JsonObject, more: JsonObject = {}): WorkflowSpec => ({
  steps: { poll: job({ repeat, ...more }) },
});

test("a loop creates a Job after another until its condition is true", async () => {
  await harness.create(loop({ until: 'result.state == "ready"' }, { outputs: { state: {} } }));
  await harness.end("poll", { message: "state=busy" });
  expect(await stepOf()).toMatchObject({ phase: "Starting", iteration: 2, attempt: 2 });
  expect((await harness.jobOf("poll")).metadata.labels).toMatchObject({ "slipway.dev/iteration": "2" });
  await harness.end("poll", { message: "state=ready" });
  expect(await stepOf()).toMatchObject({ phase: "Succeeded", iteration: 2, outputs: { state: "ready" } });
});

test("it waits between its rounds", async () => {
  await harness.create(loop({ until: "iteration == 2", intervalSeconds: 30 }));
  await harness.end("poll");
  expect(await stepOf()).toMatchObject({ phase: "Waiting", reason: "Timer" });
  await harness.pass(31_000);
  await harness.end("poll");
  expect((await harness.status()).phase).toBe("Succeeded");
});

test("one that is not done after its last round has failed", async () => {
  await harness.create(loop({ until: "false", maxIterations: 2 }));
  await harness.end("poll");
  await harness.end("poll");
  expect(await stepOf()).toMatchObject({ phase: "Failed", reason: "IterationsExhausted" });
});

test("a condition that cannot be evaluated fails the step, and is no endless loop", async () => {
  await harness.create(loop({ until: "result.missing > 1" }));
  await harness.end("poll");
  expect(await stepOf()).toMatchObject({ phase: "Failed", reason: "ExpressionError" });
});
