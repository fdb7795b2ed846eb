import type { PageCaller } from "#kernel/apiserver/index.ts";
import type { Dialect, Templates } from "#kernel/dialect/index.ts";
import { isForbidden, isNotFound, type Stored } from "#kernel/model/index.ts";
import type { Clock, JsonObject, Logger } from "#lib/base/index.ts";
import type { Cluster } from "./cluster.ts";
import type { RunIndex, IndexedRun } from "./run-index.ts";

/** What all answers are made from. */
export interface UiContext {
  readonly dialects: readonly Dialect[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
  /** What `/slipway/status` answers, for those who may get it. */
  readonly about?: (() => JsonObject) | undefined;
  /** Renders documents that are checked. */
  readonly templates?: Templates | undefined;
  readonly cluster?: Cluster | undefined;
  /** Made with the first request for runs. */
  readonly index: () => Promise<RunIndex>;
}

/** Whether the caller may list runs of this kind here. Asks once for each kind and namespace. */
export function readableBy(caller: PageCaller): (run: Pick<IndexedRun, "type" | "namespace">) => boolean {
  const everywhere = new Map<string, boolean>();
  const within = new Map<string, boolean>();
  return ({ type, namespace }) => {
    const kind = `${type.plural}.${type.group}`;
    const all = everywhere.get(kind) ?? caller.mayList(type);
    everywhere.set(kind, all);
    if (all) return true;
    const place = `${kind} ${namespace}`;
    const own = within.get(place) ?? caller.mayList(type, namespace);
    within.set(place, own);
    return own;
  };
}

export const [agentVersion, agentKind] = ["slipway.dev/v1alpha1", "Agent"] as const;

/** The agents that the caller may see. */
export async function listAgents({ client }: PageCaller): Promise<readonly Stored[]> {
  const type = await client.resourceType(agentVersion, agentKind);
  if (type === undefined) return [];
  try {
    return (await client.list(type)).items;
  } catch (thrown) {
    if (isForbidden(thrown) || isNotFound(thrown)) return [];
    throw thrown;
  }
}
