import { expect, test } from "vitest";
import { workflow } from "#dialects/workflow/index.ts";
import { UsageError } from "#kernel/command/index.ts";
import { abilityOf } from "./runs.ts";

test("what a language has no word for its runs cannot be asked for", async () => {
  const dialect = await workflow.load();
  expect(abilityOf(dialect, "simulation", "simulated")).toBe(dialect.runs.simulation);
  const { simulation: _none, ...runs } = dialect.runs;
  const ask = () => abilityOf({ ...dialect, name: "tinkerbell", runs }, "simulation", "simulated");
  expect(ask).toThrow(new UsageError("runs of tinkerbell cannot be simulated"));
});
