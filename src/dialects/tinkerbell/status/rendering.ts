import type { Instant, JsonObject } from "#lib/base/index.ts";
import { rerenderAnnotation, rerenderedCondition } from "../messages.ts";
import type { WorkflowState } from "../state.ts";
import { type Condition, putCondition } from "./conditions.ts";
import type { AnyWorkflow } from "../stored.ts";

interface Looked {
  readonly workflow: AnyWorkflow;
  readonly state: Pick<WorkflowState, "shape">;
  readonly now: Instant;
}

/** Both versions; only the name of the time differs. */
export const conditionsIn = ({ status }: AnyWorkflow): readonly Condition[] => {
  const list = status?.["conditions"];
  // Validated by the schema.
  return Array.isArray(list) ? (list as readonly Condition[]) : [];
};

export const asJson = (conditions: readonly Condition[]): JsonObject[] =>
  conditions.map((condition) => ({ ...condition }));

const rendering = { A: "TemplateRenderedSuccess", B: "Prepared", C: "Prepared" } as const;

/** The status with the result of rendering; the same object if nothing changes. */
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

/** The reason of the failed rendering of this text and request. */
export function renderFailureOf(workflow: AnyWorkflow): string | undefined {
  const types: readonly string[] = [rendering.A, rendering.B, rerenderedCondition];
  const failed = conditionsIn(workflow).filter(({ type, status }) => types.includes(type) && status === "False");
  if (failed.length === 0) return undefined;
  return JSON.stringify([failed.map(({ message }) => message), workflow.status?.["rerendered"]]);
}

/** The unanswered value of the annotation. */
export function rerenderAsked({ metadata, status }: AnyWorkflow): string | undefined {
  const asked = metadata.annotations?.[rerenderAnnotation];
  return asked === undefined || status?.["rerendered"] === asked ? undefined : asked;
}

/** The status with the answer to a rendering request; the same object without one. */
export function withAnswer(looked: Looked, status: JsonObject, problem: string | undefined): JsonObject {
  const { workflow } = looked;
  const asked = rerenderAsked(workflow);
  const before = conditionsIn({ ...workflow, status });
  const isOutdated = problem === undefined && before.some(({ type }) => type === rerenderedCondition);
  if (asked === undefined && !isOutdated) return status;
  const conditions = withOutcome(looked, before, rerenderedCondition, problem);
  return { ...status, ...(asked === undefined ? {} : { rerendered: asked }), conditions: asJson(conditions) };
}
