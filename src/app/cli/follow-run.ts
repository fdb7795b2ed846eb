import type { Dialect } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import { type Clock, messageOf, SlipwayError, sleep } from "#lib/base/index.ts";
import type { ApiClient, Ref } from "#kernel/kit/index.ts";
import { isGone, isNotFound, type Stored } from "#kernel/model/index.ts";
import { mostFailures, reconnectMs } from "./patience.ts";

/** One state of a run. The view does not include its children, which would cost further requests for every change. */
export interface FollowedRun {
  readonly object: Stored;
  readonly view: RunView;
}

/**
 * Calls `show` with every state of a run and resolves with the last. Continues when the watch ends or the server
 * restarts; rejects when the run is deleted, the signal aborts or the server stays away.
 */
export async function followRun(
  client: ApiClient,
  ref: Ref & { readonly namespace: string },
  dialect: Dialect,
  clock: Clock,
  show: (run: FollowedRun) => void,
  signal: AbortSignal,
): Promise<FollowedRun> {
  let failures = 0;
  for (;;) {
    try {
      const ended = await followOnce(client, ref, dialect, show, signal);
      if (ended !== undefined) return ended;
      failures = 0;
    } catch (thrown) {
      if (signal.aborted || isNotFound(thrown) || thrown instanceof RunDeleted) throw thrown;
      failures += isGone(thrown) ? 0 : 1;
      if (failures > mostFailures)
        throw new SlipwayError("run-lost", `lost track of ${ref.name}: ${messageOf(thrown)}`, { cause: thrown });
    }
    signal.throwIfAborted();
    await sleep(clock, reconnectMs, signal);
  }
}

/** Not retried: the same name would be another run. */
class RunDeleted extends SlipwayError {
  constructor(name: string) {
    super("run-deleted", `${name} was deleted while it was followed`);
  }
}

/** Undefined if the watch ended before the run. */
async function followOnce(
  client: ApiClient,
  ref: Ref & { readonly namespace: string },
  dialect: Dialect,
  show: (run: FollowedRun) => void,
  signal: AbortSignal,
): Promise<FollowedRun | undefined> {
  const look = (object: Stored): FollowedRun => ({ object, view: dialect.runs.view(object, []) });
  const first = look(await client.get(ref, { signal }));
  show(first);
  if (hasEnded(first.view)) return first;
  const { namespace, name, type } = ref;
  const watching = {
    namespace,
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: first.object.metadata.resourceVersion,
    signal,
  };
  for await (const event of client.watch(type, watching)) {
    if (event.type === "BOOKMARK") continue;
    if (event.type === "DELETED") throw new RunDeleted(name);
    const run = look(event.object);
    show(run);
    if (hasEnded(run.view)) return run;
  }
  signal.throwIfAborted();
  return undefined;
}

export const hasEnded = ({ phase }: RunView): boolean =>
  phase === "Succeeded" || phase === "Failed" || phase === "Canceled";
