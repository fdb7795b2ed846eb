import { allStatuses } from "../pod-types.ts";
import type { FailureRule, JobSpec, SuccessRule } from "../job-types.ts";
import { parseIndexes } from "./index-set.ts";
import type { JobPod } from "./job-pod.ts";

export interface FailureVerdict {
  readonly action: FailureRule["action"];
  readonly message: string;
}

export function judgeFailure(spec: JobSpec, pod: JobPod): FailureVerdict {
  const { namespace = "", name } = pod.metadata;
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const matching = `matching ${rule.action} rule at index ${index}`;
    const condition = matchingCondition(rule, pod);
    if (condition !== undefined) {
      return { action: rule.action, message: `Pod ${namespace}/${name} has condition ${condition} ${matching}` };
    }
    const failed = matchingContainer(rule, pod);
    if (failed !== undefined) {
      const message = `Container ${failed.name} for pod ${namespace}/${name} failed with exit code ${failed.exitCode} ${matching}`;
      return { action: rule.action, message };
    }
  }
  return { action: "Count", message: "" };
}

function matchingCondition(rule: FailureRule, { status }: JobPod): string | undefined {
  return rule.onPodConditions?.find(({ type, status: wanted = "True" }) =>
    status?.conditions?.some((condition) => condition.type === type && condition.status === wanted),
  )?.type;
}

/** A container that succeeded matches no rule, not even `NotIn`. */
function matchingContainer(rule: FailureRule, { status }: JobPod): { name: string; exitCode: number } | undefined {
  const { onExitCodes } = rule;
  if (onExitCodes === undefined) return undefined;
  for (const { name, state } of allStatuses(status)) {
    const exitCode = state.terminated?.exitCode ?? 0;
    if (exitCode === 0 || (onExitCodes.containerName ?? name) !== name) continue;
    if (onExitCodes.values.includes(exitCode) === (onExitCodes.operator === "In")) return { name, exitCode };
  }
  return undefined;
}

export function metSuccessRule(spec: JobSpec, completed: ReadonlySet<number>): number | undefined {
  const met = (spec.successPolicy?.rules ?? []).findIndex((rule) => isMet(rule, completed));
  return met < 0 ? undefined : met;
}

function isMet({ succeededIndexes, succeededCount }: SuccessRule, completed: ReadonlySet<number>): boolean {
  if (succeededIndexes === undefined) return succeededCount !== undefined && completed.size >= succeededCount;
  const wanted = parseIndexes(succeededIndexes);
  let reached = 0;
  for (const index of wanted) if (completed.has(index)) reached++;
  return reached >= (succeededCount ?? wanted.size);
}
