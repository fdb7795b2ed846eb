import {
  defined,
  err,
  isJsonObject,
  type JsonObject,
  messageOf,
  numberAt,
  ok,
  type Result,
  textsAt,
} from "#lib/base/index.ts";
import { refTo } from "#kernel/kit/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import type { Component } from "../app.ts";
import type { ActionScope, Provider } from "../ops/provider.ts";
import { fail, failure, wait } from "../ops/form.ts";
import { inputOf, returning } from "../ops/use-case-value.ts";
import type { RenderedComponent, RenderedObject } from "../render/rendered.ts";
import { manifestWork, manifestWorkType, pendingReason } from "./manifest-work.ts";
import { selectClusters } from "./select.ts";
import { type SharedEntry, shareReplicas } from "./shares.ts";

/** What a cluster says: nothing if all is well there, what is awaited, or an error. */
interface ClusterOutcome {
  readonly waits: readonly string[];
  readonly error?: string;
}

interface Placed {
  readonly cluster: string;
  readonly component: string;
  readonly replicas?: number;
}

/** `placement/distribute`: spreads the replicas of all workloads over clusters, and everything else to each of them. */
export const distribute: Provider = async (value, scope) => {
  const input = inputOf(value);
  const selected = selectClusters(input, await scope.clusters.list(scope.signal));
  if (!selected.ok) return fail(selected.error);
  const names = textsAt(input, "components");
  const components = scope.app.components.filter(({ name }) => names.length === 0 || names.includes(name));
  const clusters = [...new Set(selected.value.flatMap((entry) => entry.clusters))].toSorted();
  const placed: Placed[] = [];
  const outcomes = await Promise.all(
    clusters.map((cluster) => toCluster(cluster, components, selected.value, scope, placed)),
  );
  const errors = outcomes.flatMap(({ error }) => error ?? []);
  if (errors.length > 0) return failure(errors.join("; "));
  const waits = outcomes.flatMap((outcome) => outcome.waits);
  if (waits.length > 0) return wait(waits.join("; "));
  const order = (one: Placed) => `${one.component}\0${one.cluster}`;
  return returning({
    placements: placed.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).map((one) => ({ ...one })),
  });
};

async function toCluster(
  cluster: string,
  components: readonly Component[],
  entries: readonly SharedEntry[],
  scope: ActionScope,
  placed: Placed[],
): Promise<ClusterOutcome> {
  const rendered: RenderedComponent[] = [];
  for (const component of components) {
    const made = await renderFor(cluster, component, entries, scope);
    if (!made.ok) return { waits: [], error: `${cluster}: ${made.error}` };
    rendered.push(made.value);
    const replicas = replicasOf(made.value.workload.object);
    placed.push({ cluster, component: component.name, ...defined({ replicas }) });
  }
  const objects = rendered.flatMap(({ workload, auxiliaries }) => [workload, ...auxiliaries]);
  const type = await manifestWorkType(scope, cluster);
  return type === undefined ? applyDirectly(cluster, rendered, objects, scope) : applyByWork(cluster, objects, scope);
}

async function renderFor(
  cluster: string,
  component: Component,
  entries: readonly SharedEntry[],
  { delivery }: ActionScope,
): Promise<Result<RenderedComponent, string>> {
  const made = await delivery.render(component, { cluster });
  if (!made.ok) return err(made.error);
  const total = replicasOf(made.value.workload.object);
  if (total === undefined) return ok(made.value);
  const replicas = shareReplicas(total, entries).get(cluster) ?? 0;
  const { workload } = made.value;
  return ok({ ...made.value, workload: { ...workload, object: withReplicas(workload.object, replicas) } });
}

const replicasOf = (object: KubeObject): number | undefined => numberAt(asJson(object), "spec", "replicas");

export function withReplicas(object: KubeObject, replicas: number): KubeObject {
  const spec: JsonObject = isJsonObject(object.spec) ? object.spec : {};
  return { ...object, spec: { ...spec, replicas } };
}

async function applyDirectly(
  cluster: string,
  rendered: readonly RenderedComponent[],
  objects: readonly RenderedObject[],
  scope: ActionScope,
): Promise<ClusterOutcome> {
  const placement = { cluster };
  const trouble = await unreachable(cluster, scope);
  if (trouble !== undefined) return { waits: [trouble] };
  const applied = await scope.delivery.apply(objects, placement, "workflow");
  if (!applied.ok) {
    // A cluster that has gone away meanwhile is awaited; a refusal is an error.
    const gone = await unreachable(cluster, scope);
    return gone === undefined ? { waits: [], error: `${cluster}: ${applied.error}` } : { waits: [gone] };
  }
  const waits: string[] = [];
  for (const each of rendered) {
    const health = await scope.delivery.health(each, placement);
    const why = health.message === "" ? "is not healthy" : `is not healthy: ${health.message}`;
    if (!health.isHealthy) waits.push(`${cluster}/${each.component.name} ${why}`);
  }
  return { waits };
}

async function unreachable(cluster: string, { clusters, signal }: ActionScope): Promise<string | undefined> {
  const client = await clusters.client(cluster, signal);
  if (!client.ok) return `${cluster}: ${client.error}`;
  try {
    await client.value.raw("/version", { signal });
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return `cluster ${cluster} cannot be reached: ${messageOf(thrown)}`;
  }
}

async function applyByWork(
  cluster: string,
  objects: readonly RenderedObject[],
  scope: ActionScope,
): Promise<ClusterOutcome> {
  const work = manifestWork(scope.app.identity.name, cluster, objects);
  const applied = await scope.delivery.applyObject(work, { cluster: "local" });
  if (!applied.ok) return { waits: [], error: `${cluster}: ${applied.error}` };
  const type = await manifestWorkType(scope, cluster);
  const stored =
    type === undefined ? applied.value : await scope.client.get(refTo(type, work), { signal: scope.signal });
  const reason = pendingReason(stored);
  return { waits: reason === undefined ? [] : [`${cluster}: ManifestWork ${work.metadata.name ?? ""} ${reason}`] };
}
