import { expect, test } from "vitest";
import type { Stored } from "#kernel/model/index.ts";
import { Workflow, WorkflowTemplate } from "../kinds.ts";
import { fullWorkflow } from "../testing/full-graph.ts";
import { resolveStage } from "./resolve.ts";

const metadata = { name: "w", namespace: "default", uid: "1", resourceVersion: "1", creationTimestamp: "" };
const workflow: Stored<Workflow> = { ...fullWorkflow(0), metadata, spec: { templateRef: { name: "t" } } };

/** Turns of the event loop that go by while a workflow's template of so many steps is read. */
async function turnsFor(count: number): Promise<number> {
  const template = { ...fullWorkflow(count), kind: WorkflowTemplate.kind, metadata } as Stored<WorkflowTemplate>;
  const look = () => Promise.resolve({ is: "found", template } as const);
  let [turns, isDone] = [0, false];
  const note = (): void => {
    turns++;
    if (!isDone) setImmediate(note);
  };
  setImmediate(note);
  const { signal } = new AbortController();
  const resolution = await resolveStage({ workflow, templates: { look }, signal });
  isDone = true;
  expect(resolution).toMatchObject({ is: "resolved", spec: { steps: template.spec.steps } });
  return turns;
}

test("a large template is compiled in turns of the event loop, a small one at once", async () => {
  expect(await turnsFor(10)).toBe(0);
  expect(await turnsFor(300)).toBeGreaterThanOrEqual(3);
});
