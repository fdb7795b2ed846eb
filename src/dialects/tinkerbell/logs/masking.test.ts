import { expect, test } from "vitest";
import { masked, maskedNames, maskedValues, masksOf, withMasks, withoutMasks } from "./masking.ts";

const workflow = (mask?: string) => ({
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w", ...(mask === undefined ? {} : { annotations: { "slipway.dev/mask-env": mask } }) },
});

test("a workflow names variables, and an action gets their names beside its own", () => {
  expect(masksOf(workflow())).toEqual([]);
  expect(masksOf(workflow(" TOKEN, ,PASSWORD"))).toEqual(["TOKEN", "PASSWORD"]);
  const env = { TOKEN: "hunter22", KEY: "other", SLIPWAY_MASK_ENV: "KEY" };
  const told = withMasks(env, ["TOKEN", "PASSWORD"]);
  expect(told).toEqual({ ...env, SLIPWAY_MASK_ENV: "KEY,TOKEN,PASSWORD" });
  expect(maskedNames(told)).toEqual(["KEY", "TOKEN", "PASSWORD"]);
  expect(maskedValues(told)).toEqual(["other", "hunter22"]);
  expect(withoutMasks(told)).toEqual({ TOKEN: "hunter22", KEY: "other" });
});

test("an action of a workflow that names none is told as it was", () => {
  const env = { A: "1" };
  expect(withMasks(env, [])).toBe(env);
  expect(maskedValues(env)).toEqual([]);
});

test("what an action says of its failure goes without the values, too", () => {
  const env = { TOKEN: "hunter22", SLIPWAY_MASK_ENV: "TOKEN" };
  expect(masked("no access with hunter22 to x", env)).toBe("no access with *** to x");
  expect(masked("hunter22", { TOKEN: "hunter22" })).toBe("hunter22");
});
