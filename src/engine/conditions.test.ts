import { expect, test } from "vitest";
import { type Condition, findCondition, setCondition } from "./index.ts";

const now = Date.parse("2026-01-31T12:00:00.789Z");
const later = now + 60_000;

const base: readonly Condition[] = setCondition<Condition>(
  [],
  { type: "Complete", status: "False", reason: "Running" },
  now,
);

test("a new condition comes last and gets the time in whole seconds", () => {
  const list = setCondition(base, { type: "Failed", status: "True", message: "step failed" }, later);
  expect(list).toEqual([
    { type: "Complete", status: "False", reason: "Running", lastTransitionTime: "2026-01-31T12:00:00Z" },
    { type: "Failed", status: "True", message: "step failed", lastTransitionTime: "2026-01-31T12:01:00Z" },
  ]);
});

test("nothing new leaves the very same list", () => {
  expect(setCondition(base, { type: "Complete", status: "False", reason: "Running" }, later)).toBe(base);
});

test("reason and message change without moving the time, and an absent one is taken away", () => {
  const list = setCondition(base, { type: "Complete", status: "False", message: "2 of 7" }, later);
  expect(list).toEqual([
    { type: "Complete", status: "False", message: "2 of 7", lastTransitionTime: "2026-01-31T12:00:00Z" },
  ]);
});

test("the time moves with the status", () => {
  const list = setCondition(base, { type: "Complete", status: "True" }, later);
  expect(findCondition(list, "Complete")?.lastTransitionTime).toBe("2026-01-31T12:01:00Z");
});

test("the observed generation follows even when nothing else changes", () => {
  const seen = setCondition(
    base,
    { type: "Complete", status: "False", reason: "Running", observedGeneration: 2 },
    later,
  );
  expect(seen[0]).toMatchObject({ observedGeneration: 2, lastTransitionTime: "2026-01-31T12:00:00Z" });
  expect(
    setCondition(seen, { type: "Complete", status: "False", reason: "Running", observedGeneration: 2 }, later),
  ).toBe(seen);
});

test("the order of types and fields of others are kept", () => {
  const list: (Condition & { readonly lastProbeTime?: string })[] = [
    { type: "B", status: "True", lastProbeTime: "2026-01-01T00:00:00Z" },
    { type: "A", status: "True" },
  ];
  const next = setCondition(list, { type: "B", status: "False" }, now);
  expect(next.map((condition) => condition.type)).toEqual(["B", "A"]);
  expect(next[0]).toMatchObject({ status: "False", lastProbeTime: "2026-01-01T00:00:00Z" });
});
