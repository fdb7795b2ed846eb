import {
  type Completion,
  type CompletionRule,
  type CompletionTest,
  completionOf,
  type Condition,
  findCondition,
  type GroupKind,
} from "#engine/index.ts";
import { type KubeObject, splitApiVersion } from "#kernel/model/index.ts";

/** What the object of a step says about its end. `reason` and `message` are copied to the step. */
export type ObjectState =
  | { readonly is: "running" }
  | { readonly is: "succeeded" }
  | { readonly is: "failed"; readonly reason: string; readonly message: string };

/** A condition of this type and status. */
const is = (condition: string, status: "True" | "False" = "True"): CompletionTest => ({ condition, status });
/** A field that has one of these values. */
const oneOf = (path: string, ...values: readonly (string | boolean)[]): CompletionTest => ({
  path: path.split("."),
  oneOf: values,
});
/** Two fields that have the same value, which must be there. */
const equal = (path: string, other: string): CompletionTest => ({ path: path.split("."), equals: other.split(".") });
/** The status speaks of the present specification, not of the one before. */
const current: CompletionTest = { path: ["status", "observedGeneration"], equals: "generation" };
const exists: CompletionTest = { exists: true };
const all = (...tests: readonly CompletionTest[]): CompletionTest => ({ all: tests });

const kinds = (group: string, ...names: readonly string[]): readonly GroupKind[] =>
  names.map((kind) => ({ group, kind }));

const completeOrFailed = { succeeded: [is("Complete")], failed: [is("Failed")] };
/** The field has had both names in KubeVela's versions. */
const velaFailures = (...phases: readonly string[]) => [
  oneOf("status.status", ...phases),
  oneOf("status.phase", ...phases),
];

/** Objects that are done as soon as they exist: nobody works on them. */
const plain: readonly GroupKind[] = [
  ...kinds("", "ConfigMap", "Secret", "Namespace", "Service", "ServiceAccount", "PersistentVolumeClaim"),
  ...kinds("rbac.authorization.k8s.io", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
];

/**
 * When an object of a kind is done; the first rule with an answer wins, failures are asked before successes within
 * one. Rules without kinds are for everything and stand last: the task protocol of Vela's and others' controllers,
 * then the conditions that most kinds of Kubernetes use. What no rule answers is still running.
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

/**
 * When a workload is not only available but all of it is what was asked for, as `kubectl rollout status` waits for
 * it: the answer must be about the present generation, or an update would count as done before it began.
 */
const workloadRules: readonly CompletionRule[] = [
  {
    kinds: kinds("apps", "Deployment"),
    succeeded: [
      all(
        current,
        is("Available"),
        equal("status.updatedReplicas", "spec.replicas"),
        equal("status.replicas", "spec.replicas"),
      ),
    ],
    failed: [],
  },
  {
    kinds: kinds("apps", "StatefulSet"),
    succeeded: [
      all(current, equal("status.updatedReplicas", "spec.replicas"), equal("status.readyReplicas", "spec.replicas")),
    ],
    failed: [],
  },
  {
    kinds: kinds("apps", "DaemonSet"),
    succeeded: [
      all(
        current,
        equal("status.updatedNumberScheduled", "status.desiredNumberScheduled"),
        equal("status.numberReady", "status.desiredNumberScheduled"),
      ),
    ],
    failed: [],
  },
];
/** For every other kind with `completion: Ready`. */
const readyRules: readonly CompletionRule[] = [{ succeeded: [is("Ready"), is("Available")], failed: [] }];

/** By group and kind: versions of a kind end alike. */
const isFor = (rule: CompletionRule, apiVersion: string, kind: string): boolean => {
  const { group } = splitApiVersion(apiVersion);
  return rule.kinds?.some((wanted) => wanted.kind === kind && wanted.group === group) ?? false;
};

/** Whether more is known about the kind than what every kind may say. */
export const hasCompletionRule = (apiVersion: string, kind: string): boolean =>
  completionRules.some((rule) => isFor(rule, apiVersion, kind));

/**
 * How the object stands, by the rules for its kind. `since` is the generation that was written to it: what it says of
 * an older one counts as absent; its own generation unless told. O(rules + conditions).
 */
export const stateOfObject = (object: KubeObject, since?: number): ObjectState =>
  stateFrom(object, completionOf(aboutGeneration(object, since), completionRules, since));

/**
 * The object without a status that is, as a whole, about an older generation than `since`: a phase of then would
 * pass for the outcome of what was written now. The object itself where its status does not say what it is about.
 */
export function aboutGeneration(object: KubeObject, since: number | undefined): KubeObject {
  const { status, ...rest } = object;
  const observed = isRecord(status) ? status["observedGeneration"] : undefined;
  return since !== undefined && typeof observed === "number" && observed < since ? rest : object;
}

/**
 * How the object stands when being ready is all that is asked of it (`completion: Ready`). Never failed: what is not
 * ready may become so, and the step's time limits bound the waiting. `since` as for `stateOfObject`.
 */
export function readinessOf(object: KubeObject, since?: number): ObjectState {
  const own = workloadRules.filter((rule) => isFor(rule, object.apiVersion, object.kind));
  return stateFrom(object, completionOf(aboutGeneration(object, since), own.length > 0 ? own : readyRules, since));
}

/** What cannot be told is still running: it is bounded by the timeouts of the step. */
function stateFrom(object: KubeObject, completion: Completion): ObjectState {
  if (completion === "succeeded") return { is: "succeeded" };
  return completion === "failed" ? explain(object) : { is: "running" };
}

/**
 * Reason and message of a failure are the object's own words, where it has any: of `Failed` first, of `Succeeded`
 * else. The present status of the condition is not looked at: kinds that tell failure by a phase keep their
 * explanation in either.
 */
function explain({ kind, metadata, status }: KubeObject): ObjectState {
  const conditions = conditionsOf(status);
  const told = [findCondition(conditions, "Failed"), findCondition(conditions, "Succeeded")].find(
    (condition) => condition?.reason !== undefined || condition?.message !== undefined,
  );
  const message = told?.message ?? `${kind} "${metadata.name ?? ""}" failed`;
  return { is: "failed", reason: told?.reason ?? "Failed", message };
}

/**
 * The conditions of any object; other things in their place count as none. Foreign objects come with whatever their
 * controllers write.
 */
export function conditionsOf(status: unknown): readonly Condition[] {
  const conditions = isRecord(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isCondition) : [];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const isCondition = (value: unknown): value is Condition =>
  typeof value === "object" && value !== null && "type" in value && "status" in value;
