import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import type { PageCall, PageCaller } from "#kernel/apiserver/index.ts";
import type { ApiChannel, ApiClient } from "#kernel/kit/index.ts";
import { ApiError, unknownResource } from "#kernel/model/index.ts";
import { SlipwayError } from "#lib/base/index.ts";
import { decodedParts, readBytes } from "./reply.ts";

/** A cluster behind the UI: every answer is what it gives to the user of the kubeconfig. */
export interface Cluster {
  /** Of that user, as is the client of the UI. */
  readonly channel: ApiChannel;
  readonly server: string;
  /** Its runs are shown where listing those of all namespaces is forbidden. */
  readonly namespace: string;
}

/** What the session may read is what the user may read, so that lists need no cutting. */
export const callerOf = (session: PageCaller, client: ApiClient): PageCaller => ({
  ...session,
  client,
  mayList: () => true,
  mayGet: () => false,
});

/** Only the Kubernetes API itself, without its ways to Pods and nodes. The cluster decodes paths, and so does this. */
function isApi(encoded: string): boolean {
  const path = decodedParts(encoded).join("/");
  return /^\/(?:api|apis|openapi)(?:\/|$)/.test(path) && !/\/(?:proxy|exec|attach|portforward)(?:\/|$)/.test(path);
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Passes a request below `/slipway/api` on to the cluster, and its answer back. */
export async function forward({ channel }: Cluster, call: PageCall): Promise<void> {
  const { request, response, query, signal } = call;
  const path = call.path.slice("/api".length);
  const method = methods.find((one) => one === request.method);
  if (!isApi(path) || method === undefined) throw unknownResource();
  const type = request.headers["content-type"];
  const answer = await channel.open({
    method,
    path: query.size === 0 ? path : `${path}?${query.toString()}`,
    accept: request.headers.accept ?? "application/json",
    signal: signal(),
    ...(type === undefined ? {} : { body: { type, text: (await readBytes(request)).toString() } }),
  });
  response.statusCode = answer.status;
  response.setHeader("Content-Type", contentTypeOf(answer));
  await pipeline(answer.body, response);
}

const contentTypeOf = ({ headers }: Pick<IncomingMessage, "headers">): string =>
  headers["content-type"] ?? "application/octet-stream";

/** The error that the page gets when the request to the cluster fails. */
export function refusalBehind(thrown: unknown): unknown {
  if (thrown instanceof SlipwayError)
    return new ApiError("ServiceUnavailable", [thrown.message, thrown.hint].filter(Boolean).join("; "));
  // The session of the page is good.
  if (thrown instanceof ApiError && thrown.code === 401)
    return new ApiError(
      "ServiceUnavailable",
      "the cluster does not accept the credential of the kubeconfig any more: renew it, and run slipway ui again",
    );
  return thrown;
}
