import { type JsonValue, oneLine } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ApiError, asJson, CoreEvent, isNotFound, Pod, type Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { podContainers } from "../provisioner/kubernetes/worker-pod.ts";

const mostLogBytes = 1024 * 1024;
const mostEvents = 200;

/** What remains of a worker whose Pod failed: container output, then events. Output first, because it no longer changes
 * and keeps its line numbers. */
export async function lostPodLines(
  client: Pick<ApiClient, "logs" | "list">,
  { metadata: { name, namespace = "" }, status }: Stored<Worker>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const uid = status?.runtimeId ?? "";
  if (status?.runtime !== "kubernetes" || uid === "") return [];
  const lines: string[] = [];
  for (const container of podContainers) {
    const found = await printed(client, { namespace, name, container }, signal);
    if (found.length > 0) lines.push(`[slipway] output of ${container}:`, ...found);
  }
  const events = await eventsOf(client, { namespace, uid }, signal);
  return events.length === 0 ? lines : [...lines, "[slipway] events of the Pod:", ...events];
}

async function printed(
  client: Pick<ApiClient, "logs">,
  { namespace, name, container }: { readonly namespace: string; readonly name: string; readonly container: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const pieces: Uint8Array[] = [];
  try {
    const options = { container, limitBytes: mostLogBytes, signal };
    for await (const piece of client.logs({ type: Pod, namespace, name }, options)) pieces.push(piece);
  } catch (thrown) {
    signal.throwIfAborted();
    if (isNotFound(thrown)) return [];
    return [refusalIn(thrown)];
  }
  const text = Buffer.concat(pieces)
    .toString("utf8")
    .replace(/\r?\n$/, "");
  return text === "" ? [] : text.split(/\r?\n/);
}

/** Throws transient errors: everything unread is deleted with the worker. */
function refusalIn(thrown: unknown): string {
  if (!(thrown instanceof ApiError) || thrown.reason === "TooManyRequests" || thrown.reason === "ServiceUnavailable")
    throw thrown;
  return oneLine(`[slipway] ${thrown.message}`);
}

/** Without counts, which may change. */
async function eventsOf(
  client: Pick<ApiClient, "list">,
  { namespace, uid }: { readonly namespace: string; readonly uid: string },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const about = { namespace, fieldSelector: `involvedObject.uid=${uid}`, limit: mostEvents, signal };
  let items: readonly Stored[];
  try {
    ({ items } = await client.list(CoreEvent, about));
  } catch (thrown) {
    signal.throwIfAborted();
    return [refusalIn(thrown)];
  }
  const first = (event: Stored): string => `${event.metadata.creationTimestamp} ${event.metadata.name}`;
  return items
    .toSorted((a, b) => (first(a) < first(b) ? -1 : 1))
    .map((event) => {
      const { reason, message } = asJson(event);
      return oneLine(`[slipway] ${textOf(reason)}: ${textOf(message)}`);
    });
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
