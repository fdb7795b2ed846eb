import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { overBudget, readBudgets, recordBudgets } from "./budgets.ts";
import type { Judged } from "./verdict.ts";

const line = (metric: string, cpuUs: number, floorUs: number | undefined): Judged => ({
  id: "B0",
  metric,
  unit: "/s",
  ours: [1, 1, 1],
  peer: undefined,
  floor: floorUs === undefined ? undefined : { name: "log", figures: [1, 1, 1], cpuUs: floorUs },
  ratioPeer: Number.NaN,
  ratioFloor: 1,
  cpuUs,
  heldMs: Number.NaN,
  hold: "",
  goal: "",
  verdict: "untold",
  isNoisy: false,
  notes: [],
  others: [],
});

test("a tenth above the budget is told, less is not", () => {
  const budgets = { "B0 writes": 3 };
  expect(overBudget([line("writes", 33, 10)], budgets)).toEqual([]);
  expect(overBudget([line("writes", 34, 10)], budgets)).toEqual([
    "B0 writes: 3.40 times the CPU of the floor, the budget is 3",
  ]);
});

test("lines without a floor or without CPU are not judged; those without a budget are told", () => {
  const budgets = { "B0 writes": 3 };
  expect(overBudget([line("writes", 99, undefined)], budgets)).toEqual([]);
  expect(overBudget([line("writes", Number.NaN, 10)], budgets)).toEqual([]);
  expect(overBudget([line("reads", 99, 1)], budgets)).toEqual([
    "B0 reads: has no budget, record one with --quick --record",
  ]);
});

test("recording replaces what was measured and keeps the rest", async () => {
  const home = await mkdtemp(join(tmpdir(), "budgets-"));
  try {
    await writeFile(join(home, "cpu-budgets.json"), '{"B0 writes": 3, "B1 steps": 7}');
    await recordBudgets(home, [line("writes", 25, 10), line("reads", 5, undefined)]);
    expect(await readBudgets(home)).toEqual({ "B0 writes": 2.5, "B1 steps": 7 });
  } finally {
    await rm(home, { recursive: true });
  }
});
