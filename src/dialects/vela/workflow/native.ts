import {
  defined,
  formatInstant,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  textAt,
} from "#lib/base/index.ts";
import { refTo } from "#kernel/kit/index.ts";
import { annotation } from "../labels.ts";
import type { Component } from "../app.ts";
import { parseTimeout } from "../durations.ts";
import { applyComponent } from "../ops/component.ts";
import { merge } from "../ops/merge.ts";
import { suspendOnce } from "../ops/suspend.ts";
import type { StepOutcome } from "./outcome.ts";
import { stepReasons } from "./status.ts";
import { componentSpec } from "./step-context.ts";
import { executionOf, type Prepared, type StepJob, type TaskEnd } from "./job.ts";
import { lastEndOf } from "./state.ts";

/** Steps without a template. Definitions of the same name do not replace them. */
export type NativeStep = (job: StepJob, prepared: Prepared) => Promise<TaskEnd>;

const failed = (message: string): TaskEnd => ({
  outcome: { kind: "failed", reason: stepReasons.action, message },
});

const suspend: NativeStep = async (job, { parameter, context }) => {
  const { clock } = job.parts;
  const empty = { text: "", context, parameter, done: [] };
  // The note of a suspension is gone, but the status tells of it.
  if (job.store.isLost && lastEndOf(job.entry) === "suspended") return { task: empty, outcome: { kind: "succeeded" } };
  const notes = job.store.notesOf(job.place.step.name);
  const result = suspendOnce({ path: "suspend", execution: executionOf(job), notes, clock }, parameter);
  if (result.kind === "suspend") {
    const { message, until } = result;
    return {
      outcome: {
        kind: "suspend",
        ...defined({ message, until }),
      },
    };
  }
  if (result.kind === "error") return { outcome: { kind: "error", message: result.message ?? "" } };
  return { task: empty, outcome: { kind: "succeeded" } };
};

/** `component`, or the proposal's `name`; inputs write to `value` and `patch` of the parameter. */
const applyComponentStep: NativeStep = async (job, { parameter, context }) => {
  const { step } = job.place;
  const name = textAt(parameter, "component") ?? textAt(parameter, "name");
  const component = job.subject.app.components.find((each) => each.name === name);
  if (component === undefined) {
    const message = `component "${name ?? ""}" not found`;
    return { outcome: { kind: "error", message: `step ${step.name}: ${message}` } };
  }
  const wasGiven = step.inputs.some(({ parameterKey }) => parameterKey === "patch.valueFrom.field");
  const { delivery, actingClient: client, signal } = job.parts;
  const request = {
    component: changed(component, objectAt(parameter, "value")),
    cluster: textAt(parameter, "cluster") ?? "local",
    namespace: textAt(parameter, "namespace"),
    waitHealthy: parameter["waitHealthy"] !== false,
    ...patchOf(parameter),
    isLiteral: wasGiven,
  };
  const result = await applyComponent({ delivery, client, app: job.subject.app, signal }, request);
  if (result.kind === "error") return { outcome: { kind: "error", message: `step ${step.name}: ${result.message}` } };
  const { output, outputs } = result;
  const text = `output: ${JSON.stringify(output)}\noutputs: ${JSON.stringify(outputs)}\ncontext: _\nparameter: _\n`;
  const task = { text, context, parameter, done: [] };
  if (result.kind === "wait") return { task, outcome: { kind: "wait", message: result.message } };
  return { task, outcome: { kind: "succeeded" } };
};

/** `patch {to, valueFrom}` is the proposal's form; `workload` and `traits` are merged as they are. */
function patchOf(parameter: JsonObject): { readonly patch?: JsonObject } {
  const patch = objectAt(parameter, "patch");
  return patch === undefined ? {} : { patch };
}

/** The component as inputs have changed it. */
function changed(component: Component, value: JsonObject | undefined): Component {
  if (value === undefined) return component;
  const whole: JsonValue = merge(componentSpec(component), value);
  const properties = objectAt(whole, "properties") ?? component.properties;
  const traits = component.traits.map((trait, index) => {
    const list = isJsonObject(whole) ? whole["traits"] : undefined;
    const found = Array.isArray(list) ? (list as readonly JsonValue[])[index] : undefined;
    return { ...trait, properties: objectAt(found, "properties") ?? trait.properties };
  });
  return { ...component, properties, traits };
}

/** Annotates the application: `at` an instant, `after` a time, or `every` so often. */
const restartWorkflow: NativeStep = async (job, { parameter }) => {
  const { owner } = job.subject;
  const { clock, actingClient: client, signal } = job.parts;
  const value = restartTime(parameter, clock.now());
  if (value === undefined) return failed("restart-workflow takes exactly one of at, after and every");
  const type = await client.resourceType(owner.apiVersion, owner.kind);
  if (type === undefined) return failed(`no kind ${owner.kind} in version ${owner.apiVersion}`);
  const body = { metadata: { annotations: { [annotation.restartWorkflow]: value } } };
  await client.patch(refTo(type, owner), { type: "merge", body }, { signal });
  const outcome: StepOutcome = { kind: "succeeded", message: `restarts at ${value}` };
  return { outcome };
};

/** Undefined unless exactly one of the three is given and readable. */
export function restartTime(parameter: JsonObject, now: number): string | undefined {
  const [at, after, every] = ["at", "after", "every"].map((name) => textAt(parameter, name));
  if ([at, after, every].filter((text) => text !== undefined).length !== 1) return undefined;
  if (after === undefined) return at ?? every;
  const delay = parseTimeout(after);
  return delay.ok ? formatInstant(now + delay.value) : undefined;
}

export const nativeSteps: Readonly<Record<string, NativeStep | undefined>> = Object.assign(Object.create(null), {
  suspend,
  "apply-component": applyComponentStep,
  "builtin-apply-component": applyComponentStep,
  "restart-workflow": restartWorkflow,
} satisfies Record<string, NativeStep>);
