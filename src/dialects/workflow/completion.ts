import {
  type Completion,
  type CompletionRule,
  type CompletionTest,
  completionOf,
  type Condition,
  findCondition,
  type GroupKind,
} from "#engine/index.ts";
import { readyRules, rolloutRules } from "#kernel/dialect/index.ts";
import { type KubeObject, splitApiVersion } from "#kernel/model/index.ts";

/** `reason` and `message` are copied to the step. */
export type ObjectState =
  | { readonly is: "running" }
  | { readonly is: "succeeded" }
  | { readonly is: "failed"; readonly reason: string; readonly message: string };

const is = (condition: string, status: "True" | "False" = "True"): CompletionTest => ({ condition, status });
const oneOf = (path: string, ...values: readonly (string | boolean)[]): CompletionTest => ({
  path: path.split("."),
  oneOf: values,
});
/** The status is about the current generation. */
const current: CompletionTest = { path: ["status", "observedGeneration"], equals: "generation" };
const exists: CompletionTest = { exists: true };
const all = (...tests: readonly CompletionTest[]): CompletionTest => ({ all: tests });

const kinds = (group: string, ...names: readonly string[]): readonly GroupKind[] =>
  names.map((kind) => ({ group, kind }));

const completeOrFailed = { succeeded: [is("Complete")], failed: [is("Failed")] };
/** KubeVela's versions name the field differently. */
const velaFailures = (...phases: readonly string[]) => [
  oneOf("status.status", ...phases),
  oneOf("status.phase", ...phases),
];

/** Done as soon as they exist. */
const plain: readonly GroupKind[] = [
  ...kinds("", "ConfigMap", "Secret", "Namespace", "Service", "ServiceAccount", "PersistentVolumeClaim"),
  ...kinds("rbac.authorization.k8s.io", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
];

/**
 * Completion of an object by its kind. The first rule with an answer wins; failures come before successes. General
 * rules are last: the task protocol of Vela and others, then common conditions. Without an answer it is running.
 */
export const completionRules: readonly CompletionRule[] = [
  { kinds: kinds("batch", "Job"), ...completeOrFailed },
  {
    kinds: kinds("", "Pod"),
    succeeded: [oneOf("status.phase", "Succeeded")],
    failed: [oneOf("status.phase", "Failed")],
  },
  { kinds: kinds("slipway.dev", "Workflow"), ...completeOrFailed },
  {
    kinds: kinds("tinkerbell.org", "Workflow"),
    succeeded: [is("Succeeded"), oneOf("status.state", "SUCCESS", "Succeeded")],
    failed: [
      is("Succeeded", "False"),
      oneOf("status.state", "FAILED", "Failed", "TIMEOUT", "Timeout", "CANCELED", "CANCELLED", "Canceled", "Cancelled"),
    ],
  },
  {
    kinds: kinds("core.oam.dev", "Application"),
    succeeded: [
      all(current, oneOf("status.workflow.finished", true), oneOf("status.status", "running")),
      all(current, oneOf("status.workflow.finished", true), oneOf("status.phase", "running")),
    ],
    failed: velaFailures("workflowFailed", "workflowTerminated"),
  },
  {
    kinds: kinds("core.oam.dev", "WorkflowRun"),
    succeeded: [oneOf("status.status", "succeeded"), oneOf("status.phase", "succeeded")],
    failed: velaFailures("failed", "terminated"),
  },
  { kinds: kinds("wharf.slipway.dev", "Build"), ...completeOrFailed },
  { kinds: kinds("rebar.slipway.dev", "MachineRun"), ...completeOrFailed },
  {
    kinds: kinds("tekton.dev", "PipelineRun", "TaskRun"),
    succeeded: [is("Succeeded")],
    failed: [is("Succeeded", "False")],
  },
  {
    kinds: kinds("argoproj.io", "Workflow"),
    succeeded: [oneOf("status.phase", "Succeeded")],
    failed: [oneOf("status.phase", "Failed", "Error")],
  },
  { kinds: kinds("jobset.x-k8s.io", "JobSet"), succeeded: [is("Completed")], failed: [is("Failed")] },
  { kinds: plain, succeeded: [exists], failed: [] },
  { kinds: kinds("apiextensions.k8s.io", "CustomResourceDefinition"), succeeded: [is("Established")], failed: [] },
  {
    succeeded: [{ condition: "workflow-progress", status: "True", reason: "Succeeded" }],
    failed: [{ condition: "workflow-progress", status: "True", reason: "Failed" }],
  },
  { succeeded: [is("Complete"), is("Completed"), is("Succeeded")], failed: [is("Failed"), is("Succeeded", "False")] },
];

/** By group and kind: all versions end alike. */
const isFor = (rule: CompletionRule, apiVersion: string, kind: string): boolean => {
  const { group } = splitApiVersion(apiVersion);
  return rule.kinds?.some((wanted) => wanted.kind === kind && wanted.group === group) ?? false;
};

export const hasCompletionRule = (apiVersion: string, kind: string): boolean =>
  completionRules.some((rule) => isFor(rule, apiVersion, kind));

/** The state by the rules for its kind. Statuses about generations older than `since` count as absent. */
export const stateOfObject = (object: KubeObject, since?: number): ObjectState =>
  stateFrom(object, completionOf(aboutGeneration(object, since), completionRules, since));

/** The object without a status that is about an older generation than `since`; unchanged if the status does not say. */
export function aboutGeneration(object: KubeObject, since: number | undefined): KubeObject {
  const { status, ...rest } = object;
  const observed = isRecord(status) ? status["observedGeneration"] : undefined;
  return since !== undefined && typeof observed === "number" && observed < since ? rest : object;
}

/** The state for `completion: Ready`. Never failed: the step's timeouts bound the waiting. */
export function readinessOf(object: KubeObject, since?: number): ObjectState {
  const own = rolloutRules.filter((rule) => isFor(rule, object.apiVersion, object.kind));
  return stateFrom(object, completionOf(aboutGeneration(object, since), own.length > 0 ? own : readyRules, since));
}

/** Unknown means running; the step's timeouts bound it. */
function stateFrom(object: KubeObject, completion: Completion): ObjectState {
  if (completion === "succeeded") return { is: "succeeded" };
  return completion === "failed" ? explain(object) : { is: "running" };
}

/** Reason and message of a failure from the condition `Failed`, else `Succeeded`, whatever its status. */
function explain({ kind, metadata, status }: KubeObject): ObjectState {
  const conditions = conditionsOf(status);
  const told = [findCondition(conditions, "Failed"), findCondition(conditions, "Succeeded")].find(
    (condition) => condition?.reason !== undefined || condition?.message !== undefined,
  );
  const message = told?.message ?? `${kind} "${metadata.name ?? ""}" failed`;
  return { is: "failed", reason: told?.reason ?? "Failed", message };
}

/** Conditions of any object; anything malformed is ignored. */
export function conditionsOf(status: unknown): readonly Condition[] {
  const conditions = isRecord(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const isCondition = (value: unknown): value is Condition =>
  typeof value === "object" && value !== null && "type" in value && "status" in value;
