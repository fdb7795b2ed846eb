import { getOrUndefined, refTo } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";
import type { ActionScope } from "../ops/provider.ts";
import type { RolledComponent } from "../schema/rollout.ts";
import { replicasOf } from "./workloads.ts";
import { rolloutManager } from "./store.ts";

/** Both workloads of a component as they are. */
export interface LiveComponent {
  readonly type: ResourceType;
  readonly fresh: Stored | undefined;
  readonly old: Stored | undefined;
}

export async function typeOf(
  { client }: Pick<ActionScope, "client">,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): Promise<ResourceType> {
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) throw new Error(`no kind ${kind} in version ${apiVersion}`);
  return type;
}

export async function lookAt(scope: ActionScope, component: RolledComponent): Promise<LiveComponent> {
  const type = await typeOf(scope, component);
  const { namespace } = scope.app.identity;
  const get = (name: string | undefined) =>
    name === undefined
      ? Promise.resolve(undefined)
      : getOrUndefined(scope.client, { type, namespace, name }, scope.signal);
  const [fresh, old] = await Promise.all([get(component.newWorkload), get(component.oldWorkload)]);
  return { type, fresh, old };
}

/** Everything else of the workload is left as it was applied. */
export async function scale(
  { client, signal }: ActionScope,
  type: ResourceType,
  workload: Stored,
  replicas: number,
): Promise<Stored> {
  if (replicasOf(workload) === replicas) return workload;
  const patch = { type: "merge", body: { spec: { replicas } } } as const;
  return client.patch(refTo(type, workload), patch, { fieldManager: rolloutManager, signal });
}
