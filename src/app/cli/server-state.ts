import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";

/**
 * What the control plane says is wrong with itself: the failed checks of its `/readyz`, such as `store: … its disk is full`. Empty if it is
 * ready, or says nothing that can be read.
 */
export async function troublesOf(client: ApiClient, signal?: AbortSignal): Promise<readonly string[]> {
  try {
    await client.raw("/readyz", signal === undefined ? {} : { signal });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
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
