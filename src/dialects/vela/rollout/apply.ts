import { defined, err, ok, type Result, textsAt, type JsonObject } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { objectsOf } from "../labels.ts";
import type { Component } from "../app.ts";
import type { ActionResult, ActionScope, Provider } from "../ops/provider.ts";
import { failure, wait } from "../ops/form.ts";
import { inputOf, partOf, returning } from "../ops/use-case-value.ts";
import type { RenderedComponent } from "../render/rendered.ts";
import type { RolledComponent, RolloutSpec, RolloutStatus } from "../schema/rollout.ts";
import { lookAt, scale, typeOf } from "./replicas.ts";
import {
  local,
  ofGeneration,
  readRollout,
  referTo,
  type StoredRollout,
  writeRollout,
  writeRolloutStatus,
} from "./store.ts";
import {
  canRoll,
  hashOf,
  podRevision,
  readinessOf,
  replicasOf,
  revisedWorkload,
  specHash,
  stableWorkload,
  targets,
} from "./workloads.ts";

interface Sizes {
  readonly partition: JsonObject[string] | undefined;
  readonly surge: JsonObject[string] | undefined;
}

/** `rollout/apply`: a workload of the new revision beside the old one, sharing the replicas. */
export const applyRollout: Provider = async (value, scope) => {
  const input = inputOf(value);
  const sizes = { partition: input["partition"], surge: input["surge"] };
  if (partOf(1, sizes.partition, "100%") === undefined)
    return failure(`partition: expected "50%" or a number, found ${JSON.stringify(sizes.partition)}`);
  if (partOf(1, sizes.surge, "0") === undefined)
    return failure(`surge: expected "25%" or a number, found ${JSON.stringify(sizes.surge)}`);
  const names = textsAt(input, "components");
  const chosen = scope.app.components.filter(({ name }) => names.length === 0 || names.includes(name));
  const rendered: RenderedComponent[] = [];
  for (const component of chosen) {
    const made = await scope.delivery.render(component);
    if (!made.ok) return failure(made.error);
    rendered.push(made.value);
  }
  const before = await readRollout(scope);
  const planned = await plan(rendered, before, sizes, scope);
  const rollout = await writeRollout(scope, planned);
  referTo(scope, rollout);
  await begin(rollout, scope);
  const pending: string[] = [];
  for (const each of rendered) {
    const moved = await roll(each, planned, sizes, scope);
    if (!moved.ok) return failure(moved.error);
    if (moved.value !== undefined) pending.push(moved.value);
  }
  return settle(pending, rollout, planned, scope);
};

async function settle(
  pending: readonly string[],
  rollout: StoredRollout,
  spec: RolloutSpec,
  scope: ActionScope,
): Promise<ActionResult> {
  const found = await readRollout(scope);
  if (found === undefined) return failure("the Rollout was deleted");
  const stored = ofGeneration(found, rollout);
  if (pending.length > 0) {
    await writeRolloutStatus(scope, stored, { ...stored.status, phase: "rolling", message: pending.join("; ") });
    return wait(pending.join("; "));
  }
  const isNew = spec.components.every(({ oldWorkload }) => oldWorkload === undefined);
  const status: RolloutStatus = isNew
    ? { ...stored.status, phase: "succeeded", message: `${spec.newRevision} replaces nothing` }
    : { ...stored.status, phase: "rolled", message: `${spec.newRevision} runs beside the old revision` };
  await writeRolloutStatus(scope, stored, status);
  return returning({
    rollout: { name: stored.metadata.name, ...(JSON.parse(JSON.stringify(stored.spec)) as JsonObject) },
  });
}

/** A run begins with a fresh status, also a second one of the same revision. */
async function begin(rollout: StoredRollout, scope: ActionScope): Promise<void> {
  const { revision } = scope.app.identity;
  if (scope.notes.get("rollout") === revision && rollout.status?.revision === revision) return;
  await writeRolloutStatus(scope, rollout, { revision, phase: "rolling" });
  scope.notes.set("rollout", revision);
}

async function plan(
  rendered: readonly RenderedComponent[],
  before: StoredRollout | undefined,
  { partition, surge }: Sizes,
  scope: ActionScope,
): Promise<RolloutSpec> {
  const { name, revision } = scope.app.identity;
  const components: RolledComponent[] = [];
  for (const each of rendered) if (canRoll(each.workload.object)) components.push(await planOne(each, before, scope));
  const isSame = before?.spec.newRevision === revision;
  const oldRevision = isSame ? before.spec.oldRevision : lastRevision(before);
  return {
    application: name,
    newRevision: revision,
    ...defined({ oldRevision }),
    partition: typeof partition === "number" || typeof partition === "string" ? partition : "100%",
    surge: typeof surge === "number" || typeof surge === "string" ? surge : 0,
    components,
  };
}

/** The revision that serves requests: the new one of a rollout that succeeded, else the old one. */
const lastRevision = (before: StoredRollout | undefined): string | undefined =>
  before === undefined
    ? undefined
    : hasSucceeded(before)
      ? before.spec.newRevision
      : (before.spec.oldRevision ?? before.spec.newRevision);

/** A status of another revision is that of an earlier rollout. */
const hasSucceeded = (rollout: StoredRollout | undefined): boolean =>
  rollout?.status?.phase === "succeeded" && rollout.status.revision === rollout.spec.newRevision;

async function planOne(
  { component, workload: { object } }: RenderedComponent,
  before: StoredRollout | undefined,
  scope: ActionScope,
): Promise<RolledComponent> {
  const { apiVersion, kind } = object;
  const { revisionNumber } = scope.app.identity;
  const known = before?.spec.components.find(({ name }) => name === component.name);
  const last = hasSucceeded(before) ? known?.newWorkload : (known?.oldWorkload ?? known?.newWorkload);
  const newWorkload = `${component.name}-v${revisionNumber}`;
  const live = await workloadsOf(component, { apiVersion, kind }, scope);
  const stable = stableWorkload(live, last, newWorkload);
  const common = { name: component.name, apiVersion, kind, replicas: replicasOf(object) };
  // A component that did not change keeps its workload.
  if (stable === undefined || stable.metadata.name === newWorkload || hashOf(stable) === specHash(object)) {
    const kept = stable?.metadata.name ?? newWorkload;
    return { ...common, newWorkload: kept, newRevision: kept };
  }
  const oldRevision = podRevision(stable);
  return {
    ...common,
    newWorkload,
    newRevision: newWorkload,
    oldWorkload: stable.metadata.name,
    ...defined({ oldRevision }),
  };
}

async function workloadsOf(
  { name }: Component,
  kind: { readonly apiVersion: string; readonly kind: string },
  scope: ActionScope,
): Promise<readonly Stored[]> {
  const { namespace, name: app } = scope.app.identity;
  const type = await typeOf(scope, kind);
  const { items } = await scope.client.list(type, {
    namespace,
    labelSelector: objectsOf(app, name),
    signal: scope.signal,
  });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** One pass over a component: what is still awaited, if anything. */
async function roll(
  { component, workload, auxiliaries }: RenderedComponent,
  spec: RolloutSpec,
  { partition, surge }: Sizes,
  scope: ActionScope,
): Promise<Result<string | undefined, string>> {
  const planned = spec.components.find(({ name }) => name === component.name);
  if (planned === undefined) {
    const applied = await scope.delivery.apply([workload, ...auxiliaries], local, "workflow");
    return applied.ok ? ok(undefined) : applied;
  }
  const { fresh, old, type } = await lookAt(scope, planned);
  const share = planned.oldWorkload === undefined ? planned.replicas : partOf(planned.replicas, partition, "100%");
  const extra = partOf(planned.replicas, surge, "0") ?? 0;
  const sizes = targets(planned.replicas, share ?? planned.replicas, extra, readinessOf(fresh).ready);
  const object = revisedWorkload(workload.object, planned.newWorkload, sizes.fresh);
  const applied = await scope.delivery.apply([{ ...workload, object }, ...auxiliaries], local, "workflow");
  if (!applied.ok) return err(applied.error);
  await removeLeftovers(component, planned, scope);
  const scaled = old === undefined ? undefined : await scale(scope, type, old, sizes.old);
  return ok(awaited(planned, (await lookAt(scope, planned)).fresh, scaled));
}

/** Workloads of rollouts that were overtaken by this one. */
async function removeLeftovers(component: Component, planned: RolledComponent, scope: ActionScope): Promise<void> {
  const isUsed = (name: string) => name === planned.newWorkload || name === planned.oldWorkload;
  for (const live of await workloadsOf(component, planned, scope))
    if (!isUsed(live.metadata.name)) await scope.delivery.remove(live, local);
}

export function awaited(
  planned: RolledComponent,
  fresh: Stored | undefined,
  old: Stored | undefined,
): string | undefined {
  const [one, other] = [readinessOf(fresh), readinessOf(old)];
  if (fresh !== undefined && one.isSettled && other.isSettled) return undefined;
  const beside = old === undefined ? "" : `, ${other.ready} of ${other.wanted} replicas of ${old.metadata.name}`;
  return `${planned.name}: ${one.ready} of ${one.wanted} replicas of ${planned.newWorkload} are ready${beside}`;
}
