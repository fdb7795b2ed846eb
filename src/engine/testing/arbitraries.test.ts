import fc from "fast-check";
import { expect, test } from "vitest";
import type { Plan } from "../index.ts";
import { plans } from "./arbitraries.ts";

// A law over inputs that never hold the interesting case is no law. This is what the generators must keep producing.

const sampled = fc.sample(plans(), { numRuns: 300, seed: 1 });
const count = (has: (plan: Plan) => boolean): number => sampled.filter(has).length;

test.each<readonly [string, (plan: Plan) => boolean]>([
  ["approvals", ({ steps }) => steps.some(({ kind }) => kind === "approval")],
  ["timers", ({ steps }) => steps.some(({ kind }) => kind === "timer")],
  ["references", ({ steps }) => steps.some(({ kind }) => kind === "observe")],
  ["groups of several steps", ({ steps }) => steps.some(({ group }) => (group?.steps.length ?? 0) > 1)],
  ["groups with a limit", ({ steps }) => steps.some(({ group }) => group?.policy.parallelism !== undefined)],
  ["final plans", ({ final }) => final !== undefined],
  ["retries", ({ steps }) => steps.some(({ retry }) => retry.limit > 0)],
  ["timeouts", ({ steps }) => steps.some(({ timeout }) => timeout !== undefined)],
  [
    "steps without any limit of time",
    ({ steps }) => steps.some(({ timeout, deadline }) => timeout === undefined && deadline === undefined),
  ],
  ["gates that handle failures", ({ steps }) => steps.some(({ afterFailure }) => afterFailure === true)],
  ["draining strategies", ({ policy }) => policy.strategy === "Drain"],
  ["limits on parallel steps", ({ policy }) => policy.parallelism !== undefined],
  ["edges", ({ graph }) => graph.successors.targets.length > 1],
])("at least one plan in ten has %s", (_name, has) => {
  expect(count(has)).toBeGreaterThanOrEqual(30);
});
