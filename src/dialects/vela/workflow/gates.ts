import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { Step, VelaWorkflow } from "../app.ts";
import { componentOf } from "../parse.ts";
import type { ContextStore } from "./context-store.ts";
import { resolveInputs, withInputs } from "./io.ts";
import { messages } from "../messages.ts";
import { parsePath } from "../json-path.ts";
import { alwaysRuns, type Decision, placesOf } from "./plan.ts";
import { flatSteps, isSettled, stepFlags, type StepStatus, type WorkflowStatus } from "./status.ts";

// Conditions of steps are evaluated in a thread, before the engine asks for the decision.

export interface GateParts {
  readonly cue: Cue;
  readonly store: ContextStore;
  readonly workflow: VelaWorkflow;
  readonly signal: AbortSignal;
  readonly contextOf: (step: Step) => JsonObject;
}

/** Names of steps that conditions read, by the name of the step with the condition. */
export async function readReferences(
  cue: Cue,
  workflow: VelaWorkflow,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const steps = placesOf(workflow).map(({ step }) => step);
  const found = new Map<string, readonly string[]>();
  for (const step of steps) {
    if (step.if === undefined || alwaysRuns(step)) continue;
    const references = await cue.references(step.if, signal);
    if (references.ok) found.set(step.name, namesIn(references.value, steps));
  }
  return found;
}

function namesIn(references: readonly string[], steps: readonly Step[]): readonly string[] {
  const names = references.flatMap((reference): readonly string[] => {
    const [first, second] = parsePath(reference) ?? [reference];
    if ((first === "status" || first === "steps") && typeof second === "string") return [second];
    return typeof first === "string" ? [first] : [];
  });
  return [...new Set(names.flatMap((name) => steps.find((step) => answersTo(step, name))?.name ?? []))];
}

/** A step that applies a component is also known by the component's name. */
const answersTo = (step: Step, name: string): boolean => step.name === name || componentOf(step) === name;

/** Whether a step runs whose dependencies are settled. */
export async function decide(parts: GateParts, step: Step, status: WorkflowStatus): Promise<Decision> {
  const { cue, store, signal } = parts;
  const context = parts.contextOf(step);
  const inputs = await resolveInputs(cue, store, step, context, signal);
  if (!inputs.ok) {
    const message = messages.pendingOnInput(inputs.missing);
    return {
      kind: "pending",
      message: isGone(parts, inputs.missing, status) ? messages.variableGone(message) : message,
    };
  }
  if (step.if === undefined || alwaysRuns(step)) return { kind: "run" };
  const parameter = withInputs(step.properties, inputs.values);
  const scope = {
    ...wordsAndSteps(parts, status),
    inputs: Object.fromEntries(inputs.values.map(({ input, value }) => [input.from, value])),
    context,
    parameter: typeof parameter === "string" ? step.properties : parameter,
  };
  if (await readsUnsettled(parts, step, status)) return { kind: "skip", message: messages.conditionFalse };
  const answer = await cue.evaluateBoolean(step.if, scope, signal);
  if (!answer.ok) return { kind: "skip", message: messages.preCheck(answer.error.message) };
  return answer.value ? { kind: "run" } : { kind: "skip", message: messages.conditionFalse };
}

/** The step that sets the variable has done so, and somebody deleted the variables. */
const isGone = ({ workflow }: GateParts, missing: string, status: WorkflowStatus): boolean =>
  placesOf(workflow).some(
    ({ step }) =>
      step.outputs.some(({ name }) => name === missing) &&
      flatSteps(status).some((entry) => entry.name === step.name && isSettled(entry)),
  );

/** Earlier steps are settled by the order of the plan; a later one makes the condition false. */
async function readsUnsettled({ cue, workflow, signal }: GateParts, step: Step, status: WorkflowStatus) {
  const steps = placesOf(workflow).map((place) => place.step);
  const references = await cue.references(step.if ?? "", signal);
  if (!references.ok) return false;
  return namesIn(references.value, steps).some((name) => {
    const entry = flatSteps(status).find((each) => each.name === name);
    return name !== step.name && (entry === undefined || !isSettled(entry));
  });
}

const words = ["succeeded", "failed", "skipped", "running", "pending", "suspending", "timeout"] as const;
const identifier = /^[A-Za-z_$][\w$]*$/;

function wordsAndSteps({ store, workflow }: GateParts, status: WorkflowStatus): JsonObject {
  const entries = new Map(flatSteps(status).map((entry) => [entry.name, entry]));
  const statuses: Record<string, JsonValue> = {};
  const steps: Record<string, JsonValue> = {};
  for (const { step } of placesOf(workflow)) {
    const entry: StepStatus = entries.get(step.name) ?? { name: step.name, type: step.type, phase: "pending" };
    const shown = { ...(entry as JsonObject), ...stepFlags(entry) };
    const whole = { ...shown, status: shown, ...store.taskOutput(step.name) };
    for (const name of [componentOf(step), step.name]) {
      if (name === undefined) continue;
      statuses[name] = shown;
      steps[name] = whole;
    }
  }
  const bare = Object.entries(steps).filter(([name]) => identifier.test(name));
  return {
    ...Object.fromEntries(words.map((word) => [word, word])),
    ...Object.fromEntries(bare.filter(([, value]) => isJsonObject(value))),
    status: statuses,
    steps,
  };
}
