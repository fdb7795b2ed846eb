import { expect, test } from "vitest";
import { describeWorkflow } from "./describe.ts";
import type { Workflow, WorkflowStep } from "./kinds.ts";

const now = Date.UTC(2026, 0, 1, 12, 0, 0);
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString();
const job = (more: WorkflowStep = {}): WorkflowStep => ({ container: { image: "i" }, ...more });

const base: Workflow = {
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "edge-site-17", namespace: "default", creationTimestamp: ago(140) },
  spec: {
    activeDeadlineSeconds: 7200,
    steps: {
      network: { externalRef: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "site-17-network" } },
      provision: job({ timeoutSeconds: 3600 }),
      configure: job({ dependencies: ["provision"] }),
      build: job({ retry: { limit: 2 } }),
      extra: job({ when: "false" }),
      smoke: job({ dependencies: ["network", "configure", "extra"] }),
      deploy: job({ dependencies: ["build", "smoke"] }),
      cleanup: job({ dependencies: ["broken"] }),
      broken: job(),
      later: { wait: { seconds: 90 } },
    },
    finally: { report: job(), notify: job({ dependencies: ["report"] }) },
  },
};

const reference = {
  apiVersion: "batch/v1",
  kind: "Job",
  namespace: "default",
  name: "edge-site-17-configure-abc",
  uid: "u",
};
const halfWay: Workflow = {
  ...base,
  status: {
    phase: "Running",
    startTime: ago(134),
    progress: "5/12",
    conditions: [
      { type: "Complete", status: "False" },
      { type: "Failed", status: "False" },
    ],
    statuses: {
      network: {
        phase: "Running",
        attempt: 1,
        startTime: ago(134),
        reference: { ...reference, kind: "Workflow", name: "site-17-network" },
      },
      provision: { phase: "Succeeded", attempt: 1, startTime: ago(134), finishTime: ago(72), complete: true },
      configure: { phase: "Running", attempt: 1, startTime: ago(31), reference },
      build: {
        phase: "Waiting",
        reason: "Backoff",
        message: "attempt 1: Error: exit code 1",
        attempt: 1,
        startTime: ago(41),
        notBefore: new Date(now + 4_000).toISOString(),
      },
      extra: { phase: "Skipped", reason: "ConditionFalse", attempt: 0, finishTime: ago(134), complete: true },
      broken: {
        phase: "Failed",
        reason: "Error",
        message: "exit code 3",
        attempt: 1,
        startTime: ago(134),
        finishTime: ago(130),
      },
      cleanup: {
        phase: "Skipped",
        reason: "DependencyFailed",
        message: '"broken" is Failed',
        attempt: 0,
        finishTime: ago(130),
      },
      later: {
        phase: "Waiting",
        reason: "Timer",
        attempt: 0,
        startTime: ago(60),
        notBefore: new Date(now + 30_000).toISOString(),
      },
    },
  },
};

test("a workflow half way is described in topological order, each dependency with its state", async () => {
  await expect(describeWorkflow(halfWay, now)).toMatchFileSnapshot("./testdata/describe-half-way.txt");
});

test("a workflow that has ended is described with its outcome", async () => {
  const ended: Workflow = {
    ...halfWay,
    status: {
      ...halfWay.status,
      phase: "Failed",
      message: 'step "broken" failed: exit code 3',
      completionTime: ago(14),
      conditions: [
        { type: "Complete", status: "False" },
        { type: "Failed", status: "True", reason: "StepFailed" },
      ],
    },
  };
  await expect(describeWorkflow(ended, now)).toMatchFileSnapshot("./testdata/describe-ended.txt");
});

test("a workflow that was never stored is described as well", async () => {
  await expect(describeWorkflow(base, now)).toMatchFileSnapshot("./testdata/describe-new.txt");
});

test("who holds what a step, the items of a fan-out, or the whole run waits for is told", () => {
  const held = { reason: "Lock", message: 'lock "db" is held by deploy-6/migrate' };
  const text = describeWorkflow(
    {
      ...base,
      spec: { steps: { one: job(), many: job({ forEach: { items: [1, 2] } }) } },
      status: {
        statuses: {
          one: { phase: "Waiting", attempt: 0, ...held },
          many: { phase: "Running", attempt: 1, items: { total: 2, states: "1S1P" }, ...held },
        },
      },
    },
    now,
  );
  expect(text).toMatch(/^one .* Lock: lock "db" is held by deploy-6\/migrate$/m);
  expect(text).toMatch(/^many .* 1 of 2 done; lock "db" is held by deploy-6\/migrate$/m);
  const message = 'concurrency key "prod" is held by deploy-6; place 1 in the queue';
  const queued = describeWorkflow({ ...base, status: { phase: "Pending", reason: "Queued", message } }, now);
  expect(queued).toMatch(/^Message: +concurrency key "prod" is held by deploy-6; place 1 in the queue$/m);
});

test("a question of several lines keeps to its row, and what it holds moves no cursor", () => {
  const spec = { steps: { ask: { approval: { message: "?" } } } };
  const message = "Deploy?\n  Changes: \u001b[2J12\n";
  const statuses = { ask: { complete: false, phase: "Suspended" as const, message } };
  const lines = describeWorkflow({ ...base, spec, status: { phase: "Suspended", statuses } }, now).split("\n");
  expect(lines.filter((line) => line.startsWith("ask "))).toEqual([
    expect.stringMatching(/ Deploy\? Changes: \[2J12 \(waits for approval\)$/),
  ]);
});
