import { inParallel, type JsonObject, type JsonValue, messageOf, objectAt, objectsAt } from "#lib/base/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { Component, Policy } from "../app.ts";
import { parsePath, setAt, variableIn } from "../json-path.ts";
import { auxiliaryWorkload, isSecret } from "../labels.ts";
import { overrideComponents } from "../policies/override.ts";
import { replicateComponents } from "../policies/replication.ts";
import { placementsOf } from "../policies/topology.ts";
import type { ComponentHealth, RenderedComponent } from "../render/rendered.ts";
import type { Clusters, Delivery, Placement } from "./delivery.ts";

export interface DeployRequest {
  /** The step's policies of types override, topology and replication, in order. */
  readonly policies: readonly Policy[];
  /** Components at the same time; default: 5. */
  readonly parallelism?: number;
}

/** Variables of the run, as components' inputs and outputs use them. */
export interface DeployVariables {
  get(name: string): JsonValue | undefined;
  set(name: string, value: JsonValue, isSensitive?: boolean): void;
}

export interface DeployScope {
  readonly delivery: Delivery;
  readonly clusters: Clusters;
  readonly cue: Cue;
  readonly variables: DeployVariables;
  readonly signal: AbortSignal;
}

/** `wait`: what can be applied now is applied; the reasons say what the rest waits for. */
export type DeployOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "wait"; readonly reasons: readonly string[] }
  | { readonly kind: "error"; readonly message: string };

/**
 * One attempt to deliver the application's components to all places. A component waits for those it depends on and for
 * its inputs, at each place by itself. Repeatable: what is applied already is left as it is.
 */
export async function deploy(request: DeployRequest, scope: DeployScope): Promise<DeployOutcome> {
  const { delivery, clusters, signal } = scope;
  const { policies } = request;
  const placements = placementsOf(policies, await clusters.list(signal));
  if (!placements.ok) return { kind: "error", message: placements.error };
  const components = replicateComponents(overrideComponents(delivery.app.components, policies), policies);
  const reasons: string[] = [];
  const errors: string[] = [];
  for (const placement of placements.value) {
    const away = await reachFault(clusters, placement, signal);
    if (away?.isFinal === true) return { kind: "error", message: away.message };
    if (away !== undefined) reasons.push(away.message);
    else {
      const found = await deployTo(placement, components, request.parallelism ?? 5, scope);
      reasons.push(...found.reasons);
      errors.push(...found.errors);
    }
  }
  // Other places have been served before an error is reported.
  if (errors.length > 0) return { kind: "error", message: errors.join("; ") };
  return reasons.length > 0 ? { kind: "wait", reasons } : { kind: "done" };
}

/** Why a cluster cannot be used: for good if it is unknown, for now if it does not answer. */
async function reachFault(
  clusters: Clusters,
  { cluster }: Placement,
  signal: AbortSignal,
): Promise<{ readonly message: string; readonly isFinal: boolean } | undefined> {
  const client = await clusters.client(cluster, signal);
  if (!client.ok) return { message: client.error, isFinal: true };
  if (cluster === "local") return undefined;
  try {
    await client.value.raw("/version", { signal });
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return { message: `cluster ${cluster} is not reachable: ${messageOf(thrown)}`, isFinal: false };
  }
}

interface PlaceOutcome {
  readonly reasons: readonly string[];
  readonly errors: readonly string[];
}

type ComponentOutcome = { readonly kind: "healthy" } | { readonly kind: "unhealthy" | "error"; readonly text: string };

/** In waves: each one has the components whose dependencies became healthy in the former ones. */
async function deployTo(
  placement: Placement,
  components: readonly Component[],
  parallelism: number,
  scope: DeployScope,
): Promise<PlaceOutcome> {
  const outcomes = new Map<Component, ComponentOutcome>();
  for (;;) {
    const ready = components.filter(
      (one) => !outcomes.has(one) && missingFor(one, components, outcomes, scope) === undefined,
    );
    if (ready.length === 0) break;
    const attempt = async (one: Component) => void outcomes.set(one, await deployComponent(one, placement, scope));
    await inParallel(ready, attempt, Math.max(1, parallelism));
  }
  const reasons: string[] = [];
  const errors: string[] = [];
  for (const component of components) {
    const outcome = outcomes.get(component);
    const place = placeText(placement, component, scope);
    if (outcome === undefined) reasons.push(`${place} is waiting dependents`);
    else if (outcome.kind === "unhealthy")
      reasons.push(`${place} is not healthy${outcome.text === "" ? "" : `: ${outcome.text}`}`);
    else if (outcome.kind === "error") errors.push(`${place}: ${outcome.text}`);
  }
  return { reasons, errors };
}

/** `east/prod/web`, with the key of a copy before the component. */
const placeText = (
  { cluster, namespace }: Placement,
  { name, replicaKey }: Component,
  { delivery }: DeployScope,
): string =>
  [cluster, namespace ?? delivery.app.identity.namespace, ...(replicaKey === undefined ? [] : [replicaKey]), name].join(
    "/",
  );

/** What a component still waits for. Dependencies that this deployment does not have count as met. */
function missingFor(
  component: Component,
  components: readonly Component[],
  outcomes: ReadonlyMap<Component, ComponentOutcome>,
  { variables }: DeployScope,
): string | undefined {
  const unmet = components.find(
    (other) =>
      component.dependsOn.includes(other.name) &&
      (other.replicaKey === undefined ||
        component.replicaKey === undefined ||
        other.replicaKey === component.replicaKey) &&
      outcomes.get(other)?.kind !== "healthy",
  );
  if (unmet !== undefined) return unmet.name;
  return component.inputs.find(({ from }) => variableAt(variables, from) === undefined)?.from;
}

const variableAt = (variables: Pick<DeployVariables, "get">, from: string): JsonValue | undefined =>
  variableIn((name) => variables.get(name), from)?.value;

async function deployComponent(
  component: Component,
  placement: Placement,
  scope: DeployScope,
): Promise<ComponentOutcome> {
  const { delivery } = scope;
  const filled = withInputs(component, scope.variables);
  if (typeof filled === "string") return { kind: "error", text: filled };
  const rendered = await delivery.render(filled, placement);
  if (!rendered.ok) return { kind: "error", text: rendered.error };
  const applied = await applyComponent(delivery, rendered.value, placement);
  if (applied.kind === "error") return { kind: "error", text: applied.message };
  if (!applied.health.isHealthy) return { kind: "unhealthy", text: unhealthyText(applied.health) };
  const missing = await storeOutputs(component, rendered.value, applied.stored, scope);
  return missing === undefined ? { kind: "healthy" } : { kind: "unhealthy", text: missing };
}

/** The workload's message, or those of unhealthy traits. */
export const unhealthyText = ({ message, isWorkloadHealthy, traits }: ComponentHealth): string =>
  isWorkloadHealthy
    ? traits
        .filter(({ healthy }) => !healthy)
        .map((trait) => `trait ${trait.type}${trait.message === undefined ? "" : `: ${trait.message}`}`)
        .join("; ")
    : message;

/** A component with its inputs: `x` is `properties.x` unless it begins with `properties` or `traits[`. */
export function withInputs(component: Component, variables: Pick<DeployVariables, "get" | "set">): Component | string {
  let filled: JsonValue = { properties: component.properties, traits: component.traits.map((trait) => ({ ...trait })) };
  for (const { from, parameterKey } of component.inputs) {
    if (parameterKey === "") continue;
    const isFull = /^(?:properties(?:[.[]|$)|traits\[)/.test(parameterKey);
    const path = parsePath(isFull ? parameterKey : `properties.${parameterKey}`);
    if (path === undefined) return `input ${from}: invalid parameterKey "${parameterKey}"`;
    filled = setAt(filled, path, variableAt(variables, from) ?? null);
  }
  const traits = objectsAt(filled, "traits").map((trait, index) => ({
    type: component.traits[index]?.type ?? "",
    properties: objectAt(trait, "properties") ?? {},
  }));
  return { ...component, properties: objectAt(filled, "properties") ?? {}, traits };
}

export type ComponentApplied =
  | { readonly kind: "applied"; readonly health: ComponentHealth; readonly stored: readonly Stored[] }
  | { readonly kind: "error"; readonly message: string };

/** Applies a component in the order of its traits' stages: PostDispatch follows once the workload is healthy. */
export async function applyComponent(
  delivery: Delivery,
  rendered: RenderedComponent,
  placement: Placement,
): Promise<ComponentApplied> {
  const { workload, auxiliaries } = rendered;
  const before = auxiliaries.filter(({ stage }) => stage === "PreDispatch");
  const beside = auxiliaries.filter(({ stage }) => stage === undefined);
  const after = auxiliaries.filter(({ stage }) => stage === "PostDispatch");
  const first = await delivery.apply([...before, workload, ...beside], placement, "workflow");
  if (!first.ok) return { kind: "error", message: first.error };
  const health = await delivery.health(rendered, placement);
  if (after.length === 0 || !health.isWorkloadHealthy) return { kind: "applied", health, stored: first.value };
  const second = await delivery.apply(after, placement, "workflow");
  if (!second.ok) return { kind: "error", message: second.error };
  const stored = [...first.value, ...second.value];
  return { kind: "applied", health: await delivery.health(rendered, placement), stored };
}

/** Finds what became of a rendered object. */
export const among =
  (stored: readonly Stored[]) =>
  (wanted: KubeObject): JsonObject | undefined => {
    const found = stored.find(({ kind, metadata }) => kind === wanted.kind && metadata.name === wanted.metadata.name);
    return found === undefined ? undefined : asJson(found);
  };

/** Sets the component's outputs as variables; the text says which one is not there yet. */
async function storeOutputs(
  { outputs }: Component,
  { workload, auxiliaries }: RenderedComponent,
  stored: readonly Stored[],
  { cue, variables, signal }: DeployScope,
): Promise<string | undefined> {
  if (outputs.length === 0) return undefined;
  const live = among(stored);
  const others = auxiliaries.map(({ resource = "", object }) => [resource, live(object) ?? {}] as const);
  const text = `output: ${JSON.stringify(live(workload.object) ?? {})}\noutputs: ${JSON.stringify(Object.fromEntries(others))}`;
  const answer = await cue.lookup(
    { text, done: [] },
    outputs.map(({ valueFrom }) => valueFrom),
    signal,
  );
  if (!answer.ok) return answer.error.message;
  const isSensitive = [workload, ...auxiliaries.filter(({ trait }) => trait === auxiliaryWorkload)].some(({ object }) =>
    isSecret(object),
  );
  for (const [index, { name, valueFrom }] of outputs.entries()) {
    const value = answer.value[index]?.value;
    if (value === undefined) return `waiting for output ${name} from ${valueFrom}`;
    variables.set(name, value, isSensitive);
  }
  return undefined;
}
