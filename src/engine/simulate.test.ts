import { expect, test } from "vitest";
import type { ChildState } from "./facts.ts";
import type { Plan } from "./plan.ts";
import { simulate, type SimulatedWorld, stepKinds } from "./simulate.ts";
import { phases, plan, type StepLine } from "./testing/build.ts";

const start = 1_000_000;
const well: ChildState = { is: "succeeded" };
const badly: ChildState = { is: "failed", reason: "Error", message: "asked", retryable: true };
const world: SimulatedWorld = { duration: () => 1000, end: () => well, decide: () => "approve" };

/** `step phase` with the virtual time in seconds before. */
const told = (of: Plan, its: Partial<SimulatedWorld> = {}) => {
  const { run, events, calls } = simulate(of, { ...world, ...its }, start);
  const lines = events.flatMap(({ at, note }) =>
    note.kind === "step" ? [`${(at - start) / 1000} ${note.step} ${note.to}`] : [],
  );
  return { run, lines, calls };
};

const diamond: readonly StepLine[] = [
  { id: "one" },
  { id: "two", after: ["one"] },
  { id: "three", after: ["one"] },
  { id: "four", after: ["two", "three"] },
];

test("every step takes its time, and what can run side by side does", () => {
  const { run, lines } = told(plan(diamond));
  expect(lines).toEqual([
    "0 one Starting",
    "1 one Succeeded",
    "1 two Starting",
    "1 three Starting",
    "2 two Succeeded",
    "2 three Succeeded",
    "2 four Starting",
    "3 four Succeeded",
  ]);
  expect(run).toMatchObject({ phase: "Succeeded", startedAt: start, finishedAt: start + 3000 });
});

test("parallelism, retries with their pauses, and what depends on a failure", () => {
  const retry = { limit: 2, delay: (failures: number) => failures * 10_000 };
  const end: SimulatedWorld["end"] = ({ step, attempt }) => (step === "one" && attempt <= 2 ? badly : well);
  const { run, lines } = told(plan([{ id: "one", retry }, { id: "two", after: ["one"] }, { id: "x" }, { id: "y" }]), {
    end,
  });
  expect(lines.filter((line) => line.includes("one"))).toEqual([
    "0 one Starting",
    "1 one Waiting",
    "11 one Starting",
    "12 one Waiting",
    "32 one Starting",
    "33 one Succeeded",
  ]);
  expect(run).toMatchObject({ phase: "Succeeded", finishedAt: start + 34_000 });
  const serial = told(plan([{ id: "a" }, { id: "b" }], { policy: { strategy: "Continue", parallelism: 1 } }));
  expect(serial.run.finishedAt).toBe(start + 2000);
});

test("a strategy cancels what is active, and final steps run all the same", () => {
  const final = plan([{ id: "report" }]);
  const of = plan([{ id: "bad" }, { id: "long" }], { policy: { strategy: "Cancel" }, final });
  const { run, lines } = told(of, {
    duration: ({ step }) => (step === "long" ? 60_000 : 1000),
    end: ({ step }) => (step === "bad" ? badly : well),
  });
  expect(phases(run)).toEqual({ bad: "Failed(Error)", long: "Canceled(RunFailing)", report: "Succeeded" });
  expect(run).toMatchObject({ phase: "Failed", finishedAt: start + 2000 });
  expect(lines).toContain("1 report Starting");
});

test("timeouts and deadlines are those of virtual time", () => {
  const slow = { duration: () => 60_000 };
  expect(phases(told(plan([{ id: "a", timeout: 5000 }]), slow).run)).toEqual({ a: "Failed(Timeout)" });
  const { run } = told(plan([{ id: "a" }], { policy: { strategy: "Continue", deadline: 7000 } }), slow);
  expect(run).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded", finishedAt: start + 7000 });
});

test("timers wait, persons decide, locks are free", () => {
  const of = plan([
    { id: "timer", kind: "timer", due: () => ({ after: 86_400_000 }) },
    { id: "ask", kind: "approval", after: ["timer"] },
    { id: "locked", admission: "Lock" },
  ]);
  expect(told(of).run).toMatchObject({ phase: "Succeeded", finishedAt: start + 86_401_000 });
  const { run } = told(of, { decide: () => "reject" });
  expect(phases(run)).toMatchObject({ ask: "Failed(Rejected)", locked: "Succeeded" });
});

test("items have ends of their own, and rounds of a loop follow each other", () => {
  const fan = { count: () => ({ count: 5 }), maxParallel: 2, failFast: false, outputs: [] };
  const { run } = told(plan([{ id: "probe", kind: "fan", fan }]), {
    end: ({ item }) => (item?.index === 3 ? badly : well),
  });
  expect(run.steps["probe"]).toMatchObject({ phase: "Failed", items: { states: "3S1F1S" } });
  expect(run.finishedAt).toBe(start + 3000);
  const loop = told(plan([{ id: "poll", repeat: { maxIterations: 5, interval: 500 } }]), {
    end: ({ iteration }) => (iteration < 3 ? { is: "succeeded", again: true } : well),
  });
  expect(loop.run).toMatchObject({ phase: "Succeeded", finishedAt: start + 4000 });
});

test("a run that is suspended does not end, and is answered as it is", () => {
  const { run, calls } = told(plan([{ id: "a" }], { policy: { strategy: "Continue", suspended: true } }));
  expect(run).toMatchObject({ phase: "Suspended" });
  expect(calls).toBe(1);
});

test("calls grow with the steps, not with their square or with time", () => {
  const chain = (length: number) =>
    told(plan(Array.from({ length }, (_, n) => ({ id: `s${n}`, after: n === 0 ? [] : [`s${n - 1}`] })))).calls;
  expect(chain(50)).toBe(50 + 1);
  expect(chain(500)).toBe(500 + 1);
});

test("steps of one run wait for each other's locks, the more urgent first; items take them one by one", () => {
  const lock = { admission: "Lock" as const };
  const { lines } = told(plan([{ id: "a", ...lock }, { id: "b", ...lock, priority: 1 }, { id: "c" }]), {
    locks: (step) => (step === "c" ? [] : [{ name: "db", places: 1 }]),
  });
  expect(lines.filter((line) => line.endsWith("Starting") || line.endsWith("Succeeded"))).toEqual([
    "0 c Starting",
    "0 b Starting",
    "1 b Succeeded",
    "1 c Succeeded",
    "1 a Starting",
    "2 a Succeeded",
  ]);
  const fan = { count: () => ({ count: 5 }), failFast: false, outputs: [], ...lock };
  const items = told(plan([{ id: "probe", kind: "fan", fan }]), { locks: () => [{ name: "api", places: 2 }] });
  expect(items.run).toMatchObject({ phase: "Succeeded", finishedAt: start + 3000 });
});

test("grants that find no slot do not keep time from passing", () => {
  const fan = {
    count: () => ({ count: 50 }),
    maxParallel: 5,
    failFast: false,
    outputs: [],
    admission: "Lock" as const,
  };
  const { run, calls } = told(plan([{ id: "probe", kind: "fan", fan }]));
  expect(run).toMatchObject({ phase: "Succeeded", finishedAt: start + 10_000 });
  expect(calls).toBeLessThan(60);
});

test("kinds are told by full id, without barriers", () => {
  const group = plan([{ id: "sub" }]);
  const final = plan([{ id: "last", kind: "timer" }]);
  const of = plan([{ id: "g", kind: "group", group }], { final });
  expect([...stepKinds(of)]).toEqual([
    ["g", "group"],
    ["g/sub", "work"],
    ["last", "timer"],
  ]);
});
