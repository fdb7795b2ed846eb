import { type Clock, isJsonObject, type JsonObject, type Millis } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { Environment } from "#kernel/command/index.ts";

/**
 * What the control plane says is wrong with itself: the failed checks of its `/readyz`, such as `store: … its disk is full`. Empty if it is
 * ready, or if that is not known.
 */
export async function troublesOf(client: ApiClient, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    await client.raw("/readyz", signal === undefined ? {} : { signal });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) return [];
    return [...thrown.message.matchAll(/^\[-\]([a-z-]+) failed: (.+)$/gm)].map(
      ([, check = "", reason = ""]) => `${check}: ${reason}`,
    );
  }
}

/** What `/slipway/status` answers; undefined for other servers, and for callers that may not read it. */
export async function aboutServer(client: ApiClient): Promise<JsonObject | undefined> {
  try {
    const about: unknown = JSON.parse(await client.raw("/slipway/status"));
    return isJsonObject(about) ? about : undefined;
  } catch (thrown) {
    if (thrown instanceof ApiError) return undefined;
    throw thrown;
  }
}

/** Prints what is wrong with the control plane, for commands that explain why something does not get on. */
export async function tellTroubles(client: ApiClient, { err }: Pick<Environment, "err">): Promise<void> {
  for (const trouble of await troublesOf(client)) err.write(`${sentenceOf(trouble)}\n`);
}

const sentenceOf = (trouble: string): string => `slipway: the control plane is degraded: ${trouble}`;

const lookMs: Millis = 2000;

/** Tells of every trouble of the control plane when it begins, until the signal aborts. */
export function watchTroubles(
  client: ApiClient,
  clock: Clock,
  tell: (sentence: string) => void,
  signal: AbortSignal,
): void {
  let known: readonly string[] = [];
  const look = async (): Promise<void> => {
    const found = await troublesOf(client, signal);
    if (signal.aborted) return;
    for (const trouble of found) if (!known.includes(trouble)) tell(sentenceOf(trouble));
    known = found;
    lookLater();
  };
  const lookLater = (): void => {
    const cancel = clock.after(lookMs, () => {
      signal.removeEventListener("abort", cancel);
      void look();
    });
    signal.addEventListener("abort", cancel, { once: true });
  };
  lookLater();
}
