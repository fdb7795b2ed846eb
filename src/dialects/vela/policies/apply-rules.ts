import { isTrueAt, type JsonObject, jsonEquals, type JsonValue, objectAt, textAt, textsAt } from "#lib/base/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { App } from "../app.ts";
import { getAt, parsePath, setAt } from "../json-path.ts";
import { firstRule, policiesOfType, ruleFor, type RuleSubject } from "./rules.ts";

type Policies = Pick<App, "policies">;

/** Must exist, and is never written or deleted. */
export const isReadOnly = (app: Policies, subject: RuleSubject): boolean =>
  firstRule(app, "read-only", subject) !== undefined;

/** May be adopted if no application owns it. */
export const mayTakeOver = (app: Policies, subject: RuleSubject): boolean =>
  firstRule(app, "take-over", subject) !== undefined;

/** Several applications may use it; the first one writes. */
export const isShared = (app: Policies, subject: RuleSubject): boolean =>
  firstRule(app, "shared-resource", subject) !== undefined;

export type ApplyMoment = "onUpdate" | "onStateKeep";

/**
 * Paths that keep the live value at this moment; `*` is the whole object. A policy that is enabled without rules is
 * about state keep alone.
 */
export function keptPaths(app: Policies, subject: RuleSubject, moment: ApplyMoment): readonly string[] {
  for (const policy of policiesOfType(app, "apply-once")) {
    if (!isTrueAt(policy.properties, "enable")) continue;
    if (!Array.isArray(policy.properties["rules"])) return moment === "onStateKeep" ? ["*"] : [];
    const rule = ruleFor(policy, subject);
    if (rule === undefined) continue;
    const affect = textAt(rule, "strategy", "affect") ?? "always";
    return affect === "always" || affect === moment ? textsAt(rule, "strategy", "path") : [];
  }
  return [];
}

/** The object with the live values at the paths; undefined if all of it is kept. */
export function keepingLive(
  object: KubeObject,
  live: KubeObject | undefined,
  paths: readonly string[],
): KubeObject | undefined {
  if (live === undefined || paths.length === 0) return object;
  if (paths.includes("*")) return undefined;
  let kept: JsonValue = asJson(object);
  for (const path of paths) {
    const steps = parsePath(path) ?? [];
    const value = steps.length > 0 ? getAt(asJson(live), steps) : undefined;
    if (value !== undefined) kept = setAt(kept, steps, value);
  }
  return { ...object, ...objectAt(kept) };
}

export type UpdateWay = "patch" | "replace" | "recreate";

/** Policy `resource-update`: how a changed object is written. */
export function updateWay(app: Policies, subject: RuleSubject, object: KubeObject, live: KubeObject): UpdateWay {
  const strategy = objectAt(firstRule(app, "resource-update", subject), "strategy");
  if (strategy === undefined) return "patch";
  if (textsAt(strategy, "recreateFields").some((path) => differsAt(path, asJson(object), asJson(live))))
    return "recreate";
  return strategy["op"] === "replace" ? "replace" : "patch";
}

function differsAt(path: string, wanted: JsonObject, live: JsonObject): boolean {
  const steps = parsePath(path) ?? [];
  const value = steps.length > 0 ? getAt(wanted, steps) : undefined;
  return value !== undefined && !jsonEquals(value, getAt(live, steps));
}
