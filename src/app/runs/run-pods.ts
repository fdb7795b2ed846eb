import type { Dialect } from "#kernel/dialect/index.ts";
import { type Clock, type Millis, onAbort, silentLog } from "#lib/base/index.ts";
import { type ApiClient, Informer } from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";

export interface PodScope {
  readonly namespace: string;
  readonly labelSelector: string;
}

/** Runs that end earlier cost no further request. */
const patience: Millis = 2_000;
/** Changes within this time are reported once. */
const calm: Millis = 100;

/**
 * Reports all Pods of a run whenever one changes, from two seconds after the start until the signal aborts, through
 * failures of the server.
 */
export function watchRunPods(
  client: ApiClient,
  scope: PodScope,
  clock: Clock,
  tell: (pods: readonly Stored[]) => void,
  signal: AbortSignal,
): void {
  const start = (): void => {
    const informer = new Informer({ client, type: Pod, scope, clock, log: silentLog, random: () => 0.5 });
    let due: (() => void) | undefined;
    const changed = (): void => {
      due ??= clock.after(calm, () => {
        due = undefined;
        if (!signal.aborted) tell(informer.list());
      });
    };
    informer.addHandler({ add: changed, update: changed, delete: changed });
    onAbort(signal, () => due?.());
    // The follower of the run reports a server that is away.
    informer.run(signal).catch(() => undefined);
  };
  const cancel = clock.after(patience, start);
  onAbort(signal, cancel);
}

/** Undefined if steps do not run in Pods. */
export function podScopeOf({ runs }: Dialect, run: KubeObject): PodScope | undefined {
  const labelSelector = runs.pods?.selector(run);
  return labelSelector === undefined ? undefined : { namespace: run.metadata.namespace ?? "default", labelSelector };
}

/** The current Pods of a run; none if the server does not serve Pods or the caller may not list them. */
export async function listRunPods(client: ApiClient, dialect: Dialect, run: KubeObject): Promise<readonly Stored[]> {
  const scope = podScopeOf(dialect, run);
  if (scope === undefined) return [];
  try {
    return (await client.list(Pod, scope)).items;
  } catch (thrown) {
    if (isNotFound(thrown) || isForbidden(thrown)) return [];
    throw thrown;
  }
}
