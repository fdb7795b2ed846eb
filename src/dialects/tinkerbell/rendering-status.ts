import type { Instant, JsonObject } from "#lib/base/index.ts";
import { rerenderAnnotation, rerenderedCondition } from "./messages.ts";
import type { WorkflowState } from "./state.ts";
import { type Condition, putCondition } from "./status-conditions.ts";
import type { AnyWorkflow } from "./stored.ts";

// What a status tells of its workflow's rendering.

/** A workflow as it is looked at. */
interface Looked {
  readonly workflow: AnyWorkflow;
  readonly state: Pick<WorkflowState, "shape">;
  readonly now: Instant;
}

/** The conditions of either version, which differ in the name of the time. */
export const conditionsIn = ({ status }: AnyWorkflow): readonly Condition[] => {
  const list = status?.["conditions"];
  // The schema has checked what stands there.
  return Array.isArray(list) ? (list as readonly Condition[]) : [];
};

/** As a status has them. */
export const asJson = (conditions: readonly Condition[]): JsonObject[] =>
  conditions.map((condition) => ({ ...condition }));

/** The condition that tells whether it could be rendered, in the words of each shape. */
const rendering = { A: "TemplateRenderedSuccess", B: "Prepared", C: "Prepared" } as const;

/**
 * The status with what came of rendering. It is the same object when it says that already, so that a template that stays wrong is
 * written once and not with every look.
 */
export function withRendering(
  { workflow, state, now }: Looked,
  status: JsonObject,
  problem: string | undefined,
): JsonObject {
  const before = conditionsIn({ ...workflow, status });
  const conditions = withOutcome({ state, now }, before, rendering[state.shape], problem);
  const told = state.shape === "A" ? { templateRendering: problem === undefined ? "successful" : "failed" } : {};
  return conditions === before ? status : { ...status, ...told, conditions: asJson(conditions) };
}

/** The conditions with one that tells whether something went well. */
const withOutcome = (
  { state, now }: Pick<Looked, "now" | "state">,
  conditions: readonly Condition[],
  type: string,
  problem: string | undefined,
): readonly Condition[] =>
  putCondition(state.shape === "A" ? "time" : "lastTransitionTime", now)(conditions, {
    type,
    ...(problem === undefined
      ? { status: "True", reason: "Complete" }
      : { status: "False", reason: "Error", message: problem }),
  });

/** Why the last rendering has failed, if it has: another text, or another question, is another failure. */
export function renderFailureOf(workflow: AnyWorkflow): string | undefined {
  const types: readonly string[] = [rendering.A, rendering.B, rerenderedCondition];
  const failed = conditionsIn(workflow).filter(({ type, status }) => types.includes(type) && status === "False");
  if (failed.length === 0) return undefined;
  return JSON.stringify([failed.map(({ message }) => message), workflow.status?.["rerendered"]]);
}

/** What was asked for by the annotation and not answered yet. */
export function rerenderAsked({ metadata, status }: AnyWorkflow): string | undefined {
  const asked = metadata.annotations?.[rerenderAnnotation];
  return asked === undefined || status?.["rerendered"] === asked ? undefined : asked;
}

/**
 * The status with the answer to who has asked for a new rendering; the same object when nobody has. What went wrong then does not stand
 * beside a success that came later by itself.
 */
export function withAnswer(looked: Looked, status: JsonObject, problem: string | undefined): JsonObject {
  const { workflow } = looked;
  const asked = rerenderAsked(workflow);
  const before = conditionsIn({ ...workflow, status });
  const isOutdated = problem === undefined && before.some(({ type }) => type === rerenderedCondition);
  if (asked === undefined && !isOutdated) return status;
  const conditions = withOutcome(looked, before, rerenderedCondition, problem);
  return { ...status, ...(asked === undefined ? {} : { rerendered: asked }), conditions: asJson(conditions) };
}
