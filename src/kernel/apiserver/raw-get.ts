import { ApiError, badRequest, unknownResource } from "#kernel/model/index.ts";
import type { Documents } from "./http/documents.ts";
import { type HealthChecks, healthReply, versionInfo } from "./http/health.ts";
import { listMetadata } from "./http/list-reply.ts";
import { type Form, negotiate } from "./http/accept.ts";
import { isWatch, listRequest } from "./http/query.ts";
import { encodeItem, encodeObject, listFrame, type View } from "./http/representation.ts";
import { parseRoute } from "./http/route.ts";
import { answerBytes, answerObject } from "./verbs/answer.ts";
import type { ApiContext } from "./verbs/context.ts";
import { getObject } from "./verbs/get.ts";
import { listObjects } from "./verbs/list.ts";

export interface RawSources {
  readonly context: ApiContext;
  readonly documents: Documents;
  readonly health: HealthChecks;
  readonly version: string;
}

/** GET of any path except watches, logs and metrics, without a listener. Lists come in one piece. */
export async function rawGet(
  sources: RawSources,
  target: string,
  signal: AbortSignal | undefined,
  accept?: string,
): Promise<string> {
  signal?.throwIfAborted();
  const { pathname: path, searchParams: query } = new URL(target, "https://embedded");
  if (path === "/version") return JSON.stringify(versionInfo(sources.version));
  const health = healthReply(path, query, sources.health);
  if (health !== undefined) {
    const text = String(health.body);
    if (health.code === 200) return text;
    throw new ApiError("InternalError", text, { code: health.code });
  }
  if (parseRoute(path) !== undefined) return rawResource(sources.context, path, query, signal, negotiate(accept).form);
  const json = "application/json";
  const found = await sources.documents(sources.context.registry(), {
    path,
    query,
    accept: json,
    ifNoneMatch: undefined,
  });
  if (found?.code !== 200) throw unknownResource();
  return String(found.body);
}

async function rawResource(
  context: ApiContext,
  path: string,
  query: URLSearchParams,
  signal: AbortSignal | undefined,
  form: Form,
): Promise<string> {
  const route = parseRoute(path);
  const resource = route && context.registry().find(route.group, route.version, route.plural);
  if (route === undefined || resource === undefined) throw unknownResource();
  if (isWatch(query) || (route.subresource !== "" && route.subresource !== "status")) {
    throw badRequest("a raw GET reads objects and lists; use watch or logs for streams");
  }
  const view: View = { resource, form, include: "Metadata", now: context.clock.now() };
  if (route.name !== "") {
    const answer = await getObject(context, resource, route, query.get("resourceVersion") ?? "");
    return encodeObject(
      view,
      () => answerObject(answer),
      () => answerBytes(answer),
    ).toString();
  }
  const listing = await listObjects(context, resource, listRequest(query, route.namespace), signal);
  const { head, tail } = listFrame(view, listMetadata(listing));
  const items = listing.entries.map((entry) => encodeItem(view, entry).toString());
  return `${head.toString()}${items.join(",")}${tail.toString()}`;
}
