import { expect, test } from "vitest";
import type { KubeObject } from "#kernel/model/index.ts";
import { labels } from "./child-names.ts";
import { dialect } from "./dialect.ts";
import type { Workflow, WorkflowStatus, WorkflowStep } from "./kinds.ts";
import { attemptLabel, itemLabel, stepLabel, uidLabel, viewWorkflow } from "./view.ts";

const box = (more: WorkflowStep = {}): WorkflowStep => ({ container: { image: "i" }, ...more });
const workflow = (more: Partial<Workflow> = {}): Workflow => ({
  apiVersion: "slipway.dev/v1alpha1",
  kind: "Workflow",
  metadata: { name: "wf", namespace: "default", uid: "u1", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: {
    activeDeadlineSeconds: 60,
    steps: { b: box({ dependencies: ["a"], displayName: "The second" }), a: box({ retry: { limit: 2 } }) },
    finally: { end: box() },
  },
  ...more,
});
const jobRef = (name: string) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  namespace: "default",
  name,
  uid: `uid-${name}`,
});

test("a run is seen as every face shows it", () => {
  const view = viewWorkflow(
    workflow({
      status: {
        phase: "Running",
        runNumber: 2,
        startTime: "2026-01-01T00:00:10Z",
        suspendedSeconds: 5,
        statuses: {
          a: { phase: "Succeeded", attempt: 2, reference: jobRef("a-2") },
          b: { phase: "Running", attempt: 1, reference: jobRef("b-1") },
        },
      },
    }),
  );
  const start = Date.UTC(2026, 0, 1, 0, 0, 10);
  expect(view).toMatchObject({
    ref: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", namespace: "default", name: "wf", uid: "u1" },
    dialect: "workflow",
    phase: "Running",
    number: 2,
    startedAt: start,
    deadlineAt: start + 65_000,
    progress: { done: 1, total: 3 },
    actions: ["cancel", "suspend"],
  });
  expect(
    view.steps.map(({ id, name, phase, attempts, rank, dependencies, waitingFor, final }) => ({
      id,
      name,
      phase,
      attempts,
      rank,
      dependencies,
      waitingFor,
      final,
    })),
  ).toEqual([
    {
      id: "a",
      name: "a",
      phase: "Succeeded",
      attempts: 3,
      rank: 0,
      dependencies: [],
      waitingFor: [],
      final: undefined,
    },
    {
      id: "b",
      name: "The second",
      phase: "Running",
      attempts: 1,
      rank: 1,
      dependencies: ["a"],
      waitingFor: [],
      final: undefined,
    },
    { id: "end", name: "end", phase: "Pending", attempts: 1, rank: 0, dependencies: [], waitingFor: [], final: true },
  ]);
  expect(view.children.map(({ name }) => name)).toEqual(["a-2", "b-1"]);
});

test("children bring the logs of earlier attempts", () => {
  const child = (name: string, attempt: string): KubeObject => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "default", labels: { "slipway.dev/step": "a", "slipway.dev/attempt": attempt } },
  });
  const object = workflow({
    status: { phase: "Running", statuses: { a: { phase: "Running", attempt: 2, reference: jobRef("a-2") } } },
  });
  const [a] = viewWorkflow(object, [child("a-2", "2"), child("a-1", "1")]).steps;
  expect(a?.logs.map(({ object: { name }, attempt }) => [name, attempt])).toEqual([
    ["a-1", 1],
    ["a-2", 2],
  ]);
});

test("a document that was never stored, or is wrong, is seen as far as it can be", () => {
  const wrong = workflow({
    metadata: { generateName: "wf-" },
    spec: { steps: { a: box({ dependencies: ["nobody", "b"] }), b: box({ dependencies: ["a"] }) } },
  });
  const view = viewWorkflow(wrong);
  expect(view).toMatchObject({ name: "wf-", phase: "Pending", createdAt: 0, progress: { done: 0, total: 2 } });
  expect(view.steps.map(({ id, dependencies }) => [id, dependencies])).toEqual([
    ["a", []],
    ["b", []],
  ]);
});

test("attempts that failed are shown with their times, as long as their objects are known", () => {
  const failures = [
    { attempt: 1, reason: "Error", message: "exit code 1", finishTime: "2026-01-01T00:00:05Z" },
    { attempt: 2, finishTime: "2026-01-01T00:00:20Z" },
  ];
  const a = { phase: "Running", attempt: 3, startTime: "2026-01-01T00:00:01Z", failures } as const;
  const job: KubeObject = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: "a-2",
      creationTimestamp: "2026-01-01T00:00:10Z",
      labels: { [stepLabel]: "a", [attemptLabel]: "2" },
    },
  };
  const object = workflow({ status: { phase: "Running", statuses: { a } } });
  const at = (second: number): number => Date.UTC(2026, 0, 1, 0, 0, second);
  expect(viewWorkflow(object, [job]).steps[0]?.earlier).toEqual([
    { attempt: 1, reason: "Error", message: "exit code 1", startedAt: at(1), finishedAt: at(5) },
    { attempt: 2, startedAt: at(10), finishedAt: at(20) },
  ]);
  expect(viewWorkflow(object).steps[0]?.earlier?.[1]).toEqual({ attempt: 2, finishedAt: at(20) });
});

test("a run that is invalid says what is wrong with it, as long as that keeps it", () => {
  const message = 'spec.templateRef: there is no WorkflowTemplate "gone"';
  const conditions = [{ type: "Invalid", status: "True", reason: "TemplateNotFound", message }] as const;
  const view = (status: WorkflowStatus) => viewWorkflow(workflow({ status }));
  expect(view({ phase: "Pending", conditions })).toMatchObject({ reason: "TemplateNotFound", message });
  expect(view({ phase: "Canceled", reason: "Canceled", conditions })).toMatchObject({ reason: "Canceled" });
  expect(view({ phase: "Pending", conditions: [{ ...conditions[0], status: "False" }] }).message).toBeUndefined();
});

test("a finished run can be retried, a suspended one resumed, one being deleted not be acted on", () => {
  const actions = (status: WorkflowStatus, deletionTimestamp?: string) =>
    viewWorkflow(
      workflow({ status, metadata: { name: "wf", ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) } }),
    ).actions;
  expect(actions({ phase: "Failed" })).toEqual(["retry"]);
  expect(actions({ phase: "Suspended", suspendRequested: true })).toEqual(["cancel", "resume"]);
  expect(actions({ phase: "Running" }, "2026-01-01T00:00:00Z")).toEqual([]);
});

test("the dialect draws the graph, and refuses objects that are not its own", () => {
  const graph = dialect.runs.graph(workflow());
  expect(graph.nodes.map(({ id, final }) => [id, final])).toEqual([
    ["a", false],
    ["b", false],
    ["end", true],
  ]);
  expect(graph.edges).toEqual([{ from: "a", to: "b" }]);
  expect(() => dialect.runs.graph({ apiVersion: "v1", kind: "Pod", metadata: {} })).toThrow(
    "expected a Workflow, found v1 Pod",
  );
});

test("the labels of children are those they are created with", () => {
  const written = [stepLabel, attemptLabel, itemLabel, uidLabel];
  expect(written).toEqual([labels.step, labels.attempt, labels.item, labels.uid]);
});

test("a thousand steps with their Jobs are looked at in one go, each with its own attempts", () => {
  const keys = Array.from({ length: 1_000 }, (_, n) => `s${n}`);
  const child = (key: string, attempt: number): KubeObject => ({
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: `${key}-${attempt}`, labels: { [stepLabel]: key, [attemptLabel]: String(attempt) } },
  });
  const workflow: Workflow = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "big", namespace: "default" },
    spec: { steps: Object.fromEntries(keys.map((key) => [key, { container: { image: "i" } }])) },
  };
  const view = viewWorkflow(
    workflow,
    keys.flatMap((key) => [child(key, 2), child(key, 1)]),
  );
  expect(view.steps).toHaveLength(1_000);
  for (const step of view.steps)
    expect(step.logs.map(({ object, attempt }) => `${object.name} ${attempt}`)).toEqual([
      `${step.id}-1 1`,
      `${step.id}-2 2`,
    ]);
});
