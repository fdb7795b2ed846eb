import { type Clock, isJsonObject, type JsonObject, type Millis, sleep } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { Environment } from "#kernel/command/index.ts";

/** The failed checks of `/readyz`, such as `store: … its disk is full`; empty if the server is ready or unreachable. */
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

/** The answer of `/slipway/status`; undefined for other servers and callers that may not read it. */
export async function aboutServer(client: ApiClient): Promise<JsonObject | undefined> {
  try {
    const about: unknown = JSON.parse(await client.raw("/slipway/status"));
    return isJsonObject(about) ? about : undefined;
  } catch (thrown) {
    if (thrown instanceof ApiError) return undefined;
    throw thrown;
  }
}

/** Prints the failed checks, for commands that explain delays. */
export async function tellTroubles(client: ApiClient, { err }: Pick<Environment, "err">): Promise<void> {
  for (const trouble of await troublesOf(client)) err.write(`${sentenceOf(trouble)}\n`);
}

const sentenceOf = (trouble: string): string => `slipway: the control plane is degraded: ${trouble}`;

const lookMs: Millis = 2000;

/** Reports each failed check when it begins, until the signal aborts. */
export function watchTroubles(
  client: ApiClient,
  clock: Clock,
  tell: (sentence: string) => void,
  signal: AbortSignal,
): void {
  let known: readonly string[] = [];
  const look = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, lookMs, signal);
      const found = await troublesOf(client, signal);
      if (signal.aborted) return;
      for (const trouble of found) if (!known.includes(trouble)) tell(sentenceOf(trouble));
      known = found;
    }
  };
  look().catch(() => undefined);
}
