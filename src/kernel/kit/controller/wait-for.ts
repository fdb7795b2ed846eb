import { type Clock, deferred, type Millis, type Random, onAbort, silentLog } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { Informer } from "../cache/informer.ts";
import type { ApiClient, Ref } from "../client/api-client.ts";
import { escapeFieldValue } from "../client/field-selector.ts";
import { waitTimedOut } from "./errors.ts";

export interface WaitOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeout: Millis;
  readonly random: Random;
}

/** Returns the first state that `holds`. Rejects with `wait-timeout`, the signal's reason or the server's refusal. */
export async function waitFor<T extends KubeObject = KubeObject>(
  client: ApiClient,
  ref: Ref,
  holds: (object: Stored<T> | undefined) => boolean,
  options: WaitOptions,
): Promise<Stored<T> | undefined> {
  const { clock, signal, timeout, random } = options;
  signal.throwIfAborted();
  const outcome = deferred<Stored<T> | undefined>();
  const stop = new AbortController();
  const removeListener = onAbort(signal, () => outcome.reject(signal.reason));
  const cancel = clock.after(timeout, () => outcome.reject(waitTimedOut(`${ref.type.kind} "${ref.name}"`, timeout)));
  const informer = informerOfOne<T>(client, ref, clock, random);
  const look = (object: Stored<T> | undefined): void => {
    if (holds(object)) outcome.resolve(object);
  };
  informer.addHandler({ add: look, update: (_old, object) => look(object), delete: () => look(undefined) });
  const running = informer.run(stop.signal);
  try {
    // No event tells of an object that never existed.
    await Promise.race([outcome.promise, informer.readable(stop.signal)]);
    if (informer.list().length === 0) look(undefined);
    return await outcome.promise;
  } finally {
    cancel();
    removeListener();
    stop.abort();
    await running;
  }
}

function informerOfOne<T extends KubeObject>(client: ApiClient, ref: Ref, clock: Clock, random: Random): Informer<T> {
  const fieldSelector = `metadata.name=${escapeFieldValue(ref.name)}`;
  const scope = ref.namespace === undefined ? { fieldSelector } : { fieldSelector, namespace: ref.namespace };
  return new Informer<T>({ client, type: ref.type, scope, clock, random, log: silentLog });
}
