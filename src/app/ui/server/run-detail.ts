import type { RunView } from "#engine/index.ts";
import type { Dialect } from "#kernel/dialect/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ApiError, asJson, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { Instant } from "#lib/base/index.ts";
import { childrenOf, listRunPods, neighboursOf } from "#app/runs/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { RunAgain, RunDetail } from "../wire.ts";
import { summarize } from "./summary.ts";

export interface RunName {
  readonly dialect: string;
  readonly namespace: string;
  readonly name: string;
  /** Where a dialect has several kinds of runs. */
  readonly kind?: string | undefined;
}

export interface FoundRun {
  readonly dialect: Dialect;
  readonly object: Stored;
}

/** The run, read with the rights of the client. Of several kinds the first that has the name. */
export async function findRun(
  client: ApiClient,
  dialects: readonly Dialect[],
  { dialect: called, namespace, name, kind }: RunName,
  signal: AbortSignal,
): Promise<FoundRun> {
  const dialect = dialects.find((one) => one.name === called);
  if (dialect === undefined) throw new ApiError("NotFound", `there is no dialect ${JSON.stringify(called)}`);
  for (const one of dialect.runs.kinds) {
    const type = await typeOf(client, one);
    if (type === undefined || (kind !== undefined && type.kind !== kind)) continue;
    const object = await getOrUndefined(client, { type, namespace, name }, signal);
    if (object !== undefined) return { dialect, object };
  }
  throw new ApiError("NotFound", `no run of ${called} is called ${JSON.stringify(name)} in the namespace ${namespace}`);
}

/** Clients that last, as a cluster's, read what is served once. */
const known = new WeakMap<ApiClient, readonly ResourceType[]>();

async function typeOf(
  client: ApiClient,
  { group, kind }: Pick<ResourceType, "group" | "kind">,
): Promise<ResourceType | undefined> {
  const find = (types: readonly ResourceType[]) => types.find((one) => one.group === group && one.kind === kind);
  const found = find(known.get(client) ?? []);
  if (found !== undefined) return found;
  const types = await client.resourceTypes();
  known.set(client, types);
  return find(types);
}

/** Objects that a run is shown with, as far as the client may read them. */
export interface RunSurroundings {
  readonly children: readonly KubeObject[];
  readonly neighbours: readonly KubeObject[];
  readonly hidden: readonly string[];
}

export async function surroundingsOf(client: ApiClient, { dialect, object }: FoundRun): Promise<RunSurroundings> {
  const [made, pods, { found, hidden }] = await Promise.all([
    childrenOf(client, object, dialect),
    listRunPods(client, dialect, object),
    neighboursOf(client, object, dialect),
  ]);
  return { children: [...made, ...pods], neighbours: found, hidden };
}

/** The same answers as `slipway get`, `describe` and `graph`. */
export function detailOf(
  { dialect, object }: FoundRun,
  { children, neighbours, hidden }: RunSurroundings,
  now: Instant,
): RunDetail {
  const { runs } = dialect;
  const view: RunView = runs.view(object, children);
  return {
    summary: summarize(dialect, object).summary,
    view,
    graph: runs.graph(object),
    description: runs.describe(object, { now, children: [...children, ...neighbours], hidden }),
    canRunAgain: runs.resubmission !== undefined,
    resourceVersion: object.metadata.resourceVersion,
  };
}

/** Refused for dialects whose runs are not started by a document. */
export function runAgain({ dialect, object }: FoundRun): RunAgain {
  const { resubmission } = dialect.runs;
  if (resubmission === undefined) throw new ApiError("BadRequest", `runs of ${dialect.name} cannot be run again`);
  return { text: writeYaml(asJson(resubmission(object, { reuse: false }))) };
}
