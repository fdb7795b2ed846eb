import { expect, test } from "vitest";
import { enginePlan } from "./run-build.ts";
import { planOf } from "./testing/build-request.ts";

test.each([0, -1, Number.NaN])("a bound under which no step would begin is refused: %s", (maxParallel) => {
  const plan = planOf([["s", "success", ["a"]]]);
  expect(() => enginePlan(plan, { maxParallel })).toThrow("maxParallel: expected 1 or more");
  expect(() => enginePlan(plan, { maxParallel: 1 })).not.toThrow();
});
