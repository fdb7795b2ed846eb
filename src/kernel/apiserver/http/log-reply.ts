import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { answerObject } from "../verbs/answer.ts";
import type { ApiContext } from "../verbs/context.ts";
import { getObject } from "../verbs/get.ts";
import { metaText } from "../verbs/metadata.ts";
import type { PodLogRequest } from "../verbs/sources.ts";
import { hasLogs, openRunLog } from "../verbs/run-log.ts";
import type { Exchange } from "./exchange.ts";
import { logRequest } from "./query.ts";
import type { ResourceCall } from "./route.ts";
import { sendStream } from "./stream-reply.ts";

/** Plain text at the reader's pace. Refuses bad requests first; a later failure or close cuts the connection. */
export async function sendLog(
  context: ApiContext,
  { resource, route }: ResourceCall,
  exchange: Exchange,
): Promise<void> {
  const signal = exchange.signal();
  const object = answerObject(await getObject(context, resource, route));
  const asked = logRequest(exchange.query);
  await sendStream(exchange, "text/plain", await chunksOf());

  async function chunksOf(): Promise<AsyncIterable<Uint8Array>> {
    const served = object as unknown as KubeObject;
    if (hasLogs(context, resource)) {
      const parameter = (name: string): string => exchange.query.get(name) ?? "";
      return await openRunLog(context, resource, served, parameter, { ...asked, signal });
    }
    const request: PodLogRequest = { ...asked, container: containerOf(object, asked.container), signal };
    return await context.podLogs.open(served, request);
  }
}

/** The named container, or the Pod's only one, without init containers. Otherwise 400 with the names. */
export function containerOf(pod: JsonObject, asked = ""): string {
  const name = metaText(pod, "name");
  const containers = namesIn(pod, "containers");
  const all = [...namesIn(pod, "initContainers"), ...containers];
  if (asked !== "") {
    if (all.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${name}, which has: ${all.join(", ")}`);
  }
  const [only, ...others] = containers;
  if (only !== undefined && others.length === 0) return only;
  throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(" ")}]`);
}

function namesIn(pod: JsonObject, member: string): readonly string[] {
  const list = isJsonObject(pod["spec"]) ? pod["spec"][member] : undefined;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) =>
    isJsonObject(item) && typeof item["name"] === "string" ? [item["name"]] : [],
  );
}
