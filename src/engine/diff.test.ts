import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { advance, diff, newRun, type Note, type RunPhase, type StepPhase } from "./index.ts";
import { plans, turns } from "./testing/arbitraries.ts";
import { alive, failed, plan, succeeded } from "./testing/build.ts";
import { play } from "./testing/history.ts";

const retry = { retry: { limit: 1, delay: () => 0 } };
const of = plan([
  { id: "a", ...retry },
  { id: "b", after: ["a"] },
]);

test("the start of a run is told before its steps, its end after them", () => {
  const first = advance(of, newRun, [], 1).run;
  expect(diff(newRun, first)).toEqual([
    { kind: "run", from: "Pending", to: "Running", number: 1 },
    { kind: "step", step: "a", from: "Pending", to: "Starting", attempt: 1 },
  ]);
  const single = plan([{ id: "a" }]);
  const last = advance(single, first, [failed("a")], 2).run;
  expect(diff(first, last)).toEqual([
    { kind: "step", step: "a", from: "Starting", to: "Failed", attempt: 1, reason: "Error", message: "exit code 1" },
    {
      kind: "run",
      from: "Running",
      to: "Failed",
      number: 1,
      reason: "StepFailed",
      message: 'step "a" failed: exit code 1',
    },
  ]);
});

test("an attempt that is followed by the next at once is told though the phase is the same", () => {
  const first = advance(of, newRun, [], 1).run;
  const second = advance(of, first, [failed("a")], 2).run;
  expect(diff(first, second)).toEqual([{ kind: "step", step: "a", from: "Starting", to: "Starting", attempt: 2 }]);
});

test("nothing changed, nothing told; a message alone is not told either", () => {
  const { run } = advance(of, newRun, [], 1);
  expect(diff(run, run)).toEqual([]);
  const a = run.steps["a"] ?? { phase: "Pending", attempt: 0 };
  expect(diff(run, { ...run, steps: { a: { ...a, message: "pulling the image" } } })).toEqual([]);
});

test("a retry is told as a new number of the run, and steps go back", () => {
  let { run } = advance(plan([{ id: "a" }]), newRun, [], 1);
  run = advance(plan([{ id: "a" }]), run, [alive("a")], 2).run;
  run = advance(plan([{ id: "a" }]), run, [failed("a")], 3).run;
  const again = { ...run, phase: "Pending" as const, number: 2, steps: {} };
  expect(diff(run, again)).toContainEqual(expect.objectContaining({ from: "Failed", to: "Pending" }));
  expect(diff(run, again)).toHaveLength(2);
});

test("a chain of two tells each step once per phase", () => {
  const told: string[] = [];
  let run = newRun;
  for (const facts of [[], [alive("a")], [succeeded("a")], [succeeded("b")]]) {
    const next = advance(of, run, facts, 1).run;
    for (const note of diff(run, next)) {
      if (note.kind !== "item") told.push(note.kind === "run" ? `run ${note.to}` : `${note.step} ${note.to}`);
    }
    run = next;
  }
  expect(told).toEqual([
    "run Running",
    "a Starting",
    "a Running",
    "a Succeeded",
    "b Starting",
    "b Succeeded",
    "run Succeeded",
  ]);
});

test("(27) a diff replayed on the state before gives the phases after, and names nothing that stayed", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { before, result } of play(plan, script)) {
        const told = new Map<string, StepPhase | RunPhase>();
        for (const note of diff(before, result.run)) {
          if (note.kind === "item") continue;
          const key = note.kind === "run" ? "" : note.step;
          const was = note.kind === "run" ? before.phase : (before.steps[note.step]?.phase ?? "Pending");
          expect(told.has(key)).toBe(false);
          expect(note.from).toBe(was);
          told.set(key, note.to);
        }
        expect(told.get("") ?? before.phase).toBe(result.run.phase);
        for (const [id, { phase, attempt }] of Object.entries(result.run.steps)) {
          const was = before.steps[id] ?? { phase: "Pending", attempt: 0 };
          expect(told.get(id) ?? was.phase).toBe(phase);
          expect(told.has(id)).toBe(was.phase !== phase || was.attempt !== attempt);
        }
      }
    }),
    { numRuns: runs(150) },
  );
});

test("a diff finds by itself what advance tells has changed", () => {
  const sorted = (notes: readonly Note[]) => notes.map((note) => JSON.stringify(note)).toSorted();
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { before, result } of play(plan, script))
        expect(sorted(diff(before, result.run, result.changes))).toEqual(sorted(diff(before, result.run)));
    }),
    { numRuns: runs(300) },
  );
});
