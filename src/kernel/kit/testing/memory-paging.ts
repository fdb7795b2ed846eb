import type { ListOptions } from "../client/api-client.ts";
import type { MemoryStore } from "./memory-store.ts";
import {
  ApiError,
  apiVersionOf,
  badRequest,
  expired,
  type ObjectList,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import type { View } from "./memory-view.ts";

interface Token {
  readonly revision: number;
  readonly after: string;
}

/** One page of a listing; every page of one listing shows the same revision. */
export function listPage(
  store: MemoryStore,
  type: ResourceType,
  resource: string,
  view: View,
  options: ListOptions,
): ObjectList<Stored> {
  const token = options.continue ? readToken(options.continue) : undefined;
  const revision = token?.revision ?? revisionFor(store, options);
  const found = objectsAt(store, resource, revision, token).filter((object) => view.matches(object));
  const rest = token === undefined ? found : found.filter((object) => placeOf(object) > token.after);
  const items = options.limit === undefined || options.limit === 0 ? rest : rest.slice(0, options.limit);
  const last = items.at(-1);
  const more = last === undefined ? 0 : rest.length - items.length;
  return {
    apiVersion: apiVersionOf(type),
    kind: `${type.kind}List`,
    metadata: {
      resourceVersion: String(revision),
      ...(more === 0 || last === undefined
        ? {}
        : { continue: writeToken({ revision, after: placeOf(last) }), remainingItemCount: more }),
    },
    items,
  };
}

function objectsAt(store: MemoryStore, resource: string, revision: number, token: Token | undefined) {
  try {
    return store.at(resource, revision);
  } catch (thrown) {
    if (token === undefined || !(thrown instanceof ApiError)) throw thrown;
    // As Kubernetes does: the rest of the listing can be had at the present revision.
    const fresh = writeToken({ revision: store.revision, after: token.after });
    throw expired("the continue token is too old; list again or go on with the token given here", fresh);
  }
}

function revisionFor(store: MemoryStore, { resourceVersion, resourceVersionMatch }: ListOptions): number {
  if (!resourceVersion || resourceVersion === "0") return store.revision;
  const asked = readRevision(resourceVersion);
  checkReached(store, asked);
  return resourceVersionMatch === "Exact" ? asked : store.revision;
}

/** Throws as a server does when asked for the future. */
export function checkReached(store: MemoryStore, revision: number): void {
  if (revision <= store.revision) return;
  throw new ApiError("Timeout", `the revision ${revision} is not reached yet; the present one is ${store.revision}`, {
    details: { retryAfterSeconds: 1 },
  });
}

export function readRevision(text: string): number {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(text)) throw badRequest(`resourceVersion: expected a revision, found "${text}"`);
  return Number(text);
}

const placeOf = ({ metadata }: Stored): string => placeKey(metadata.namespace, metadata.name);

/** Sorts by namespace, then name: nothing in either sorts below the separator. */
export const placeKey = (namespace: string | undefined, name: string): string => `${namespace ?? ""}\0${name}`;

const writeToken = (token: Token): string => Buffer.from(JSON.stringify(token)).toString("base64url");

function readToken(text: string): Token {
  const match = /^\{"revision":(\d+),"after":"(.*)"\}$/.exec(Buffer.from(text, "base64url").toString());
  if (match === null) throw badRequest("continue: this is not a token of this server");
  return { revision: Number(match[1]), after: String(JSON.parse(`"${match[2] ?? ""}"`)) };
}
