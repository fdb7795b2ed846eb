import type { Manager } from "#kernel/kit/index.ts";
import { apiVersionOf, type KubeObject, type Stored, asJson } from "#kernel/model/index.ts";
import { type Dialect, sourceAt, type Startable } from "#kernel/dialect/index.ts";
import { templateAdmission, workflowAdmission } from "./admission.ts";
import { cacheEntryAdmission } from "./cache/admission.ts";
import { CacheEntry } from "./cache/kind.ts";
import { labels } from "./child-names.ts";
import type { WorkflowControllerOptions } from "./controller.ts";
import { describeWorkflow } from "./describe.ts";
import { documents } from "./document.ts";
import { graphOfWorkflow } from "./graph.ts";
import { Workflow, WorkflowTemplate } from "./kinds.ts";
import { limitAdmission } from "./locks/admission.ts";
import { ConcurrencyLimit } from "./locks/kind.ts";
import { resubmission } from "./resubmit.ts";
import { scheduleAdmission } from "./schedule/admission.ts";
import { ScheduledWorkflow } from "./schedule/kind.ts";
import { upToStep } from "./target.ts";
import { isWorkflow, placeIn, viewWorkflow } from "./view.ts";
import { type Instant, type JsonObject, type JsonValue, objectsAt } from "#lib/base/index.ts";
import { formParameters } from "./form-parameters.ts";
import { scheduledRun } from "./schedule/run.ts";

// Runs that people start from stored objects, with generated names that the calendar does not use.

function templateRun({ metadata: { name = "" } }: Parameters<Startable["run"]>[0]): JsonObject {
  return {
    apiVersion: apiVersionOf(Workflow),
    kind: Workflow.kind,
    metadata: { generateName: `${name}-` },
    spec: { templateRef: { name } },
  };
}

/** The run for this time. The schedule owns it and counts it in its policy and history. */
function scheduleRun(schedule: Stored<ScheduledWorkflow>, now: Instant): JsonObject {
  const { apiVersion, kind, metadata } = schedule;
  const { metadata: made, ...run } = scheduledRun(schedule, now);
  const { name: _ofCalendar, ...kept } = made;
  const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true };
  const whole = { ...run, metadata: { ...kept, generateName: `${metadata.name}-`, ownerReferences: [owner] } };
  return JSON.parse(JSON.stringify(whole)) as Record<string, JsonValue>;
}

const startable: readonly Startable[] = [
  {
    group: WorkflowTemplate.group,
    kind: WorkflowTemplate.kind,
    run: templateRun,
    parameters: (object) => formParameters(objectsAt(asJson(object), "spec", "params")),
  },
  {
    group: ScheduledWorkflow.group,
    kind: ScheduledWorkflow.kind,
    aliases: ["schedule"],
    // The server has validated it.
    run: (object, now) => scheduleRun(object as unknown as Stored<ScheduledWorkflow>, now),
  },
];

export { Workflow } from "./kinds.ts";
export type { WorkflowControllerOptions } from "./controller.ts";
export type { Attempt, Executors, Finding, StepExecutor } from "./steps/executor.ts";

/** Like `dialect.addControllers`, with replaceable executors for benchmarks and tests. */
export async function addWorkflowControllers(manager: Manager, options: WorkflowControllerOptions): Promise<void> {
  (await import("./controller.ts")).addWorkflowControllers(manager, options);
}

function scheduleOf({ metadata }: KubeObject) {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === ScheduledWorkflow.kind);
  return owner === undefined ? undefined : { kind: owner.kind, name: owner.name };
}

/** Another kind is a caller's bug. */
function workflow(object: KubeObject): Workflow {
  if (isWorkflow(object)) return object;
  throw new Error(`expected a Workflow, found ${object.apiVersion} ${object.kind}`);
}

/** The server has validated it. */
const typed = <T>(object: KubeObject): T => object as unknown as T;

/** Drops malformed children: views must not fail on foreign objects. */
const kubeObjects = (children: readonly unknown[]): readonly KubeObject[] =>
  children.filter(
    (child): child is KubeObject =>
      typeof child === "object" && child !== null && "kind" in child && "metadata" in child && "apiVersion" in child,
  );

/** Slipway's own language: a Workflow is a graph of Jobs and of any other resource. */
export const dialect: Dialect = {
  name: "workflow",
  kinds: [Workflow, WorkflowTemplate, ScheduledWorkflow, ConcurrencyLimit, CacheEntry],
  documents,
  admission: [workflowAdmission, templateAdmission, scheduleAdmission, limitAdmission, cacheEntryAdmission],
  runs: {
    kinds: [{ group: Workflow.group, kind: Workflow.kind }],
    source: (object) => scheduleOf(object) ?? sourceAt(object, WorkflowTemplate.kind, "spec", "templateRef", "name"),
    view: (object, children) => viewWorkflow(workflow(object), kubeObjects(children)),
    describe: (object, { now, children }) => describeWorkflow(workflow(object), now, children),
    accepts: {
      actions: ["cancel", "suspend", "resume", "retry", "approve", "reject", "skip"],
      check({ fromFailed, steps }, report) {
        if (fromFailed === false)
          report(
            ["spec", "fromFailed"],
            "forbidden",
            "a retry re-runs failed steps only; resubmit the run to start it over",
          );
        if (fromFailed === true && steps !== undefined)
          report(["spec", "fromFailed"], "forbidden", "steps already selects where the retry starts");
      },
    },
    pods: { selector: ({ metadata }) => `${labels.uid}=${metadata.uid ?? ""}`, placeOf: placeIn },
    resubmission: (object, options) => resubmission(workflow(object), options),
    upTo: (object, step) => upToStep(workflow(object), step),
    graph: (object, beside) => graphOfWorkflow(workflow(object), beside),
    approvalValues: async (object, step, texts) =>
      (await import("./approval-values.ts")).readApprovalValues(workflow(object), step, texts),
    // Loads the compiler only on demand.
    explainCache: async (object, question) =>
      (await import("./cache/explain.ts")).explainCache(workflow(object), question),
    simulation: async (object, beside) => (await import("./simulation.ts")).simulationOf(workflow(object), beside),
  },
  described: [
    {
      group: WorkflowTemplate.group,
      kind: WorkflowTemplate.kind,
      controls: [],
      describe: async (object) =>
        (await import("./describe-template.ts")).describeTemplate(typed<WorkflowTemplate>(object)),
    },
    {
      group: ScheduledWorkflow.group,
      kind: ScheduledWorkflow.kind,
      controls: [{ apiVersion: apiVersionOf(Workflow), kind: Workflow.kind }],
      describe: async (object, { now, children = [] }) =>
        (await import("./schedule/describe.ts")).describeSchedule(
          typed<Stored<ScheduledWorkflow>>(object),
          children.filter(isWorkflow).map(typed<Stored<Workflow>>),
          now,
        ),
    },
  ],
  startable,
  addControllers: async (manager) => (await import("./controller.ts")).addWorkflowControllers(manager),
};
