import type { Dialect } from "#kernel/dialect/index.ts";
import { type Clock, type Millis, silentLog } from "#lib/base/index.ts";
import { type ApiClient, Informer } from "#kernel/kit/index.ts";
import { isForbidden, isNotFound, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";

/** Whose Pods are looked at. */
export interface PodScope {
  readonly namespace: string;
  readonly labelSelector: string;
}

/** Runs that are over by then cost no further request; nobody worries earlier about a step that does not begin. */
const patience: Millis = 2_000;
/** Several changes within this time are told once. */
const calm: Millis = 100;

/**
 * Mirrors the Pods of a run, from two seconds after its start on, and tells of all of them whenever one has changed. Goes on until
 * the signal aborts, whatever the server does meanwhile. As many are kept as the run has.
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
    signal.addEventListener("abort", () => due?.(), { once: true });
    // Whoever follows the run tells of a server that is away.
    informer.run(signal).catch(() => undefined);
  };
  const cancel = clock.after(patience, start);
  signal.addEventListener("abort", cancel, { once: true });
}

/** Where the Pods of a run are; undefined where something else carries out its steps. */
export function podScopeOf({ runs }: Dialect, run: KubeObject): PodScope | undefined {
  const labelSelector = runs.pods?.selector(run);
  return labelSelector === undefined ? undefined : { namespace: run.metadata.namespace ?? "default", labelSelector };
}

/**
 * The Pods of a run as they are now; none where it has none, where the server has no such kind, or does not show them to the
 * caller.
 */
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
