import { expect, test } from "vitest";
import { workflow } from "#dialects/workflow/index.ts";
import { parseInstant } from "#lib/base/index.ts";
import { paintFor } from "#kernel/command/index.node.ts";
import { whyText } from "./output/why-text.ts";
import { type SuspendedBy, whyOf } from "./why.ts";

const container = { image: "i" };
const at = "2026-03-01T10:00:00Z";
const now = parseInstant(at) ?? 0;

/** A workflow in the middle of its run. */
const half = (status: object, more: object = {}) => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w" },
  spec: {
    activeDeadlineSeconds: 90,
    steps: {
      build: { container },
      test: { container, dependencies: ["build"] },
      scan: { container, dependencies: ["build"] },
      deploy: { container, dependencies: ["test", "scan"], when: "params.live" },
      flaky: { container },
      slow: { container },
    },
    finally: { report: { container } },
    ...more,
  },
  status: { phase: "Running", startTime: at, ...status },
});
const statuses = {
  build: { phase: "Running", attempt: 1, reference: { apiVersion: "batch/v1", kind: "Job", name: "w-build-x" } },
  flaky: {
    phase: "Waiting",
    attempt: 1,
    reason: "Backoff",
    message: "attempt 1: Error",
    notBefore: "2026-03-01T10:00:20Z",
  },
  slow: { phase: "Waiting", attempt: 0, reason: "Ready" },
};

async function why(status: object, step?: string, suspendedBy?: SuspendedBy, spec: object = {}) {
  const { runs } = await workflow.load();
  const object = half(status, spec);
  const conditions = new Map(runs.graph(object).nodes.map(({ id, condition }) => [id, condition]));
  return whyOf(runs.view(object, []), { step, suspendedBy, conditionOf: (id) => conditions.get(id) });
}

test("a step waits for its dependencies down to what is active, each told once", async () => {
  const found = await why({ statuses }, "deploy");
  expect(found.steps).toEqual([
    { step: "deploy", phase: "Pending", waitsFor: "dependencies", steps: ["scan", "test"], condition: "params.live" },
    { step: "scan", phase: "Pending", waitsFor: "dependencies", steps: ["build"] },
    {
      step: "build",
      phase: "Running",
      waitsFor: "child",
      child: { apiVersion: "batch/v1", kind: "Job", name: "w-build-x" },
    },
    { step: "test", phase: "Pending", waitsFor: "dependencies", steps: ["build"] },
  ]);
  expect(whyText(found, now, paintFor(false)).split("\n")).toEqual([
    "w: Running, 0 of 7 steps settled",
    "  ends at its deadline in 90s",
    "  deploy: Pending, waits for scan, test; then runs if params.live",
    "    scan: Pending, waits for build",
    "      build: Running, waits for its work to end; Job/w-build-x",
    "    test: Pending, waits for build",
    "      build: Running (see above)",
    "",
  ]);
});

test("a run tells of all that is not settled: pauses, slots, the main steps", async () => {
  const found = await why({ statuses });
  const by = Object.fromEntries(found.steps.map((step) => [step.step, step]));
  expect(by["flaky"]).toMatchObject({
    waitsFor: "backoff",
    until: "2026-03-01T10:00:20.000Z",
    message: "attempt 1: Error",
  });
  expect(by["slow"]).toMatchObject({ waitsFor: "slot", steps: ["build"] });
  expect(by["report"]).toMatchObject({ waitsFor: "main-steps" });
  const text = whyText(found, now, paintFor(false));
  expect(text).toContain("flaky: Waiting, waits for its next attempt; in 20s; attempt 1: Error\n");
  expect(text).toContain("slow: Waiting, waits for a free slot; taken by build\n");
});

test("who has suspended a run is told, and that nothing starts meanwhile", async () => {
  const suspended = {
    suspendRequested: true,
    suspendedSince: at,
    statuses: { build: { phase: "Succeeded", attempt: 1 } },
  };
  const found = await why(suspended, "test", { by: "ada", reason: "look first" });
  expect(found).toMatchObject({ suspended: { by: "ada" }, steps: [{ step: "test", waitsFor: "suspension" }] });
  expect(whyText(found, now, paintFor(false))).toContain("suspended by ada (look first): nothing new starts\n");
  expect(whyText(await why(suspended), now, paintFor(false))).toContain("by an unknown user");
});

test("a run that is suspended by its document says so, and can be resumed", async () => {
  const found = await why({ phase: "Suspended", suspendedSince: at, statuses: {} }, "build");
  expect(found).toMatchObject({ suspended: {}, steps: [{ step: "build", waitsFor: "suspension" }] });
});

test("a run in which only a question is left waits for its answer, and nobody has suspended it", async () => {
  const steps = { ask: { approval: { message: "Go?" } } };
  const asked = { phase: "Suspended", attempt: 1, message: "Go?" };
  const found = await why({ phase: "Suspended", statuses: { ask: asked } }, "ask", undefined, { steps });
  expect(found.suspended).toBeUndefined();
  expect(whyText(found, now, paintFor(false))).toBe(
    "w: Suspended, 0 of 2 steps settled\n  ends at its deadline in 90s\n  ask: Suspended, Go? (waits for approval)\n",
  );
});

test("a step that runs again waits for no child of its last attempt", async () => {
  const reference = { apiVersion: "batch/v1", kind: "Job", name: "w-build-old" };
  const found = await why({ statuses: { report: { phase: "Pending", attempt: 1, reference } } }, "report");
  expect(found.steps).toMatchObject([{ step: "report", waitsFor: "main-steps" }]);
  expect(found.steps[0]).not.toHaveProperty("child");
});

test("a step that is over waits for nothing, and says why it ended so", async () => {
  const failed = { phase: "Failed", attempt: 1, reason: "Error", message: "exit code 3" };
  const found = await why(
    { phase: "Failed", reason: "StepFailed", completionTime: at, statuses: { build: failed } },
    "build",
  );
  expect(found).toMatchObject({ phase: "Failed", steps: [{ waitsFor: "nothing", reason: "Error" }] });
  expect(found.deadline).toBeUndefined();
  expect(whyText(found, now, paintFor(false))).toBe(
    "w: Failed, 1 of 7 steps settled (StepFailed)\n  build: Failed, Error: exit code 3\n",
  );
});

test("a run that waits for its turn says so, and a step who holds its lock", async () => {
  const message = 'concurrency key "prod" is held by deploy-6; place 1 in the queue';
  const queued = await why({ phase: "Pending", reason: "Queued", message }, "build");
  expect(queued.steps).toEqual([{ step: "build", phase: "Pending", waitsFor: "queue" }]);
  const text = whyText(queued, now, paintFor(false));
  expect(text).toContain(`w: Pending, 0 of 7 steps settled (Queued: ${message})`);
  expect(text).toContain("build: Pending, waits for the run's turn");
  const held = { phase: "Waiting", attempt: 0, reason: "Lock", message: 'lock "db" is held by w2/a' };
  const locked = await why({ statuses: { slow: held } }, "slow");
  expect(whyText(locked, now, paintFor(false))).toContain('slow: Waiting, waits for a lock; lock "db" is held by w2/a');
});
