import { defined, type JsonObject } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { annotation } from "./labels.ts";
import {
  type App,
  type AppIdentity,
  type Component,
  type Input,
  type Mode,
  type Modes,
  type Output,
  type Policy,
  type Step,
  type StepRetry,
  type VelaWorkflow,
  withSubSteps,
} from "./app.ts";
import { timeoutOf } from "./durations.ts";
import type {
  Application,
  ComponentSpec,
  Policy as PolicyObject,
  PolicySpec,
  StepSpec,
  Workflow,
  WorkflowRun,
} from "./kinds.ts";
import { nameApplication, nameWorkflow, nameWorkflowRun } from "./names.ts";

// Stored objects become an `App` once. Objects of clusters without Slipway's admission may be unchecked: what cannot be
// read counts as absent, and `checkApplication` reports it.

export const groupType = "step-group";
export const applyComponentType = "apply-component";

/** The revision that an application is read for; empty if there is none yet. */
export interface RevisionOf {
  readonly name: string;
  readonly number: number;
}

export const noRevision: RevisionOf = { name: "", number: 0 };

/** Objects that an application refers to by name. */
export interface AppReferences {
  /** Of `spec.workflow.ref`. */
  readonly workflow?: Workflow | undefined;
  /** Policies that steps name and that the application does not contain. */
  readonly policies?: readonly PolicyObject[];
}

export function parseApp(
  application: Stored<Application>,
  revision: RevisionOf = noRevision,
  references: AppReferences = {},
): App {
  const { spec, metadata } = named(application, nameApplication);
  const components = (spec.components ?? []).map(parseComponent);
  const own = (spec.policies ?? []).map(parsePolicy);
  const isOwn = (name: string) => own.some((policy) => policy.name === name);
  const others = (references.policies ?? []).map(({ metadata: { name = "" }, type, properties }) =>
    parsePolicy({ name, type, ...defined({ properties }) }),
  );
  const publishVersion = metadata.annotations?.[annotation.publishVersion];
  return {
    identity: {
      ...identityOf(application, revision),
      ...(publishVersion === undefined || publishVersion === "" ? {} : { publishVersion }),
      workflowName: spec.workflow?.ref ?? metadata.name,
    },
    components,
    policies: [...own, ...others.filter(({ name }) => !isOwn(name))],
    workflow: parseAppWorkflow(spec.workflow, { components, policies: own }, references.workflow),
  };
}

/** A WorkflowRun as an application without components. `referenced` is the Workflow that it refers to. */
export function parseRun(run: Stored<WorkflowRun>, referenced?: Workflow): App {
  const { spec } = named(run, nameWorkflowRun);
  const workflow = referenced === undefined ? undefined : named(referenced, nameWorkflow);
  const steps = spec.workflowSpec?.steps ?? workflow?.steps ?? [];
  return {
    identity: {
      ...identityOf(run, noRevision),
      workflowName: spec.workflowRef ?? run.metadata.name,
      ...defined({ custom: spec.context }),
    },
    components: [],
    policies: [],
    workflow: { modes: modesOf("StepByStep", workflow?.mode, spec.mode), steps: steps.map(parseStep) },
  };
}

/** Names are filled in without changing anything else. */
const named = <T>(object: T, change: (object: JsonObject) => JsonObject): T =>
  change(object as unknown as JsonObject) as unknown as T;

const identityOf = ({ metadata }: Stored<Application | WorkflowRun>, revision: RevisionOf): AppIdentity => ({
  name: metadata.name,
  namespace: metadata.namespace ?? "default",
  uid: metadata.uid,
  generation: metadata.generation ?? 1,
  labels: metadata.labels ?? {},
  annotations: metadata.annotations ?? {},
  revision: revision.name,
  revisionNumber: revision.number,
  workflowName: metadata.name,
});

const parsePolicy = ({ name = "", type, properties = {} }: PolicySpec): Policy => ({ name, type, properties });

export const parseComponent = (component: ComponentSpec): Component => ({
  name: component.name,
  type: component.type,
  properties: component.properties ?? {},
  traits: (component.traits ?? []).map(({ type, properties = {} }) => ({ type, properties })),
  dependsOn: component.dependsOn ?? [],
  inputs: parseInputs(component.inputs),
  outputs: component.outputs ?? [],
  ...defined({ externalRevision: component.externalRevision }),
});

const parseInputs = (inputs: StepSpec["inputs"] = []): readonly Input[] =>
  inputs.map(({ from, parameterKey = "" }) => ({ from, parameterKey }));

type SubStepSpec = NonNullable<StepSpec["subSteps"]>[number];

export const parseStep = (step: StepSpec | SubStepSpec): Step => {
  const { stage = "post-render", mode, subSteps = [] }: Partial<StepSpec> = step;
  const timeout = timeoutOf(step.timeout);
  const retry = retryOf(step.retry);
  return {
    name: step.name ?? "",
    type: step.type,
    stage,
    ...(step.meta?.alias === undefined ? {} : { alias: step.meta.alias }),
    ...(step.if === undefined || step.if === "" ? {} : { if: step.if }),
    ...defined({ timeout }),
    dependsOn: step.dependsOn ?? [],
    inputs: parseInputs(step.inputs),
    outputs: step.outputs ?? [],
    properties: step.properties ?? {},
    ...defined({ mode }),
    subSteps: subSteps.map(parseStep),
    ...defined({ retry }),
  };
};

const usualBackoff = { factor: 2, cap: 300_000 };

function retryOf(retry: StepSpec["retry"]): StepRetry | undefined {
  if (retry === undefined) return undefined;
  const { limit, backoff } = retry;
  const duration = timeoutOf(backoff?.duration);
  if (backoff === undefined || duration === undefined) return { limit };
  const { factor = usualBackoff.factor } = backoff;
  return { limit, backoff: { duration, factor, cap: timeoutOf(backoff.cap) ?? usualBackoff.cap } };
}

type ModeSpec = Workflow["mode"];

/** Later modes win. */
function modesOf(usual: Mode, ...given: readonly ModeSpec[]): Modes {
  const last = (key: keyof Modes): Mode | undefined => given.findLast((mode) => mode?.[key] !== undefined)?.[key];
  return { steps: last("steps") ?? usual, subSteps: last("subSteps") ?? "DAG" };
}

type AppWorkflowSpec = NonNullable<Application["spec"]["workflow"]>;
type Parts = Pick<App, "components" | "policies">;

function parseAppWorkflow(spec: AppWorkflowSpec | undefined, parts: Parts, referenced?: Workflow): VelaWorkflow {
  const workflow = referenced === undefined ? undefined : named(referenced, nameWorkflow);
  const written = [spec?.steps, workflow?.steps].find((steps) => steps !== undefined && steps.length > 0);
  const steps = (written ?? []).map(parseStep);
  const isGenerated = !steps.some(({ stage }) => stage === "post-render");
  const rest = isGenerated ? withFreeNames(generatedSteps(parts), steps) : [];
  // Generated steps know their dependencies, so their order does not matter.
  const usual = isGenerated && spec?.ref === undefined ? "DAG" : "StepByStep";
  return {
    modes: modesOf(usual, workflow?.mode, spec?.mode),
    steps: withComponents([...steps, ...rest], parts.components),
  };
}

const plainStep = (name: string, type: string, properties: JsonObject): Step => ({
  name,
  type,
  stage: "post-render",
  dependsOn: [],
  inputs: [],
  outputs: [],
  properties,
  subSteps: [],
});

/** A deploy for each topology, or one for all; otherwise each component by itself. */
function generatedSteps({ components, policies }: Parts): readonly Step[] {
  const namesOf = (type: string) => policies.flatMap((policy) => (policy.type === type ? policy.name : []));
  const overrides = namesOf("override");
  const deploys = namesOf("topology").map((topology) =>
    plainStep(`deploy-${topology}`, "deploy", { policies: [...overrides, topology] }),
  );
  if (deploys.length > 0) return deploys;
  if (overrides.length > 0 || components.some(({ type }) => type === "ref-objects"))
    return [plainStep("deploy", "deploy", { policies: overrides })];
  return components.map(({ name }) => plainStep(name, applyComponentType, { component: name }));
}

/** A step before rendering may have the name of a component that it makes. */
function withFreeNames(generated: readonly Step[], written: readonly Step[]): readonly Step[] {
  const taken = new Set(withSubSteps([...written, ...generated]).map(({ name }) => name));
  const isTaken = (name: string) => withSubSteps(written).some((one) => one.name === name);
  return generated.map((step) => {
    if (!isTaken(step.name)) return step;
    let name = `apply-${step.name}`;
    for (let count = 2; taken.has(name); count++) name = `apply-${step.name}-${count}`;
    taken.add(name);
    return { ...step, name };
  });
}

/** Types of steps that apply no component unless they name it. */
const namingTypes = new Set([
  applyComponentType,
  ..."suspend step-group notification webhook request print-message-in-status depends-on-app read-object".split(" "),
  ..."apply-object apply-deployment apply-job check-metrics clean-jobs create-config read-config".split(" "),
]);

/** Components that no step applies, as far as that can be told. */
export function unappliedComponents({ components, workflow }: Pick<App, "components" | "workflow">): readonly string[] {
  const steps = withSubSteps(workflow.steps);
  if (!steps.every(({ type }) => namingTypes.has(type))) return [];
  const applied = new Set(steps.map(componentOf));
  return components.map(({ name }) => name).filter((name) => !applied.has(name));
}

/** The component of a step that applies one. */
export function componentOf({ type, properties }: Pick<Step, "type" | "properties">): string | undefined {
  if (type !== applyComponentType) return undefined;
  const { component, name } = properties;
  return typeof component === "string" ? component : typeof name === "string" ? name : undefined;
}

/** Steps that apply a component take over its dependencies, inputs and outputs. */
export function withComponents(steps: readonly Step[], components: readonly Component[]): readonly Step[] {
  const all = withSubSteps(steps);
  const stepsOf = (component: string) => all.flatMap((step) => (componentOf(step) === component ? step.name : []));
  const complete = (step: Step): Step => {
    const applied = componentOf(step);
    const component = components.find(({ name }) => name === applied);
    const subSteps = step.subSteps.map(complete);
    if (component === undefined) return { ...step, subSteps };
    const needed = component.dependsOn.flatMap(stepsOf).filter((name) => name !== step.name);
    return {
      ...step,
      dependsOn: [...new Set([...step.dependsOn, ...needed])],
      inputs: [...step.inputs, ...component.inputs.map(asStepInput)],
      outputs: [...step.outputs, ...component.outputs.filter(isNewTo(step.outputs))],
      subSteps,
    };
  };
  return steps.map(complete);
}

const isNewTo = (outputs: readonly Output[]) => (output: Output) => !outputs.some(({ name }) => name === output.name);

/** The step's parameter holds the component in `value`. */
function asStepInput({ from, parameterKey }: Input): Input {
  if (parameterKey === "") return { from, parameterKey };
  const key = /^(?:properties\b|traits\[)/.test(parameterKey) ? parameterKey : `properties.${parameterKey}`;
  return { from, parameterKey: `value.${key}` };
}
