import type { ServedResource } from "../kinds/served-resource.ts";
import { ApiError, badRequest, isPathSegment, unknownResource } from "#kernel/model/index.ts";

/**
 * A path of the resource API; absent parts are empty.
 *
 *   /apis/<group>/<version>/namespaces/<namespace>/<plural>/<name>/<subresource>
 *   /api/<version>/<plural>                         core group, all namespaces
 *   /api/v1/namespaces/<name>/status                the namespace itself: plural `namespaces`
 */
export interface ResourceRoute {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
}

/** `verb` is Kubernetes': get, list, watch, create, update, patch, delete, deletecollection. */
export interface ResourceCall {
  readonly verb: string;
  readonly resource: ServedResource;
  readonly route: ResourceRoute;
}

/** Undefined for shorter paths. Throws 404 for ambiguous segments or too many parts, 400 for bad encoding. */
export function parseRoute(path: string): ResourceRoute | undefined {
  const segments = path.split("/").slice(1);
  if (segments.at(-1) === "") segments.pop();
  const core = segments[0] === "api";
  if (!core && segments[0] !== "apis") return undefined;
  const [group = "", version = "", ...rest] = core ? ["", ...segments.slice(1)] : segments.slice(1);
  if (rest.length === 0) return undefined;
  return { group: core ? "" : decode(group), version: decode(version), ...parseResource(rest.map(decode)) };
}

/** The parts after group and version. */
function parseResource(parts: readonly string[]): Omit<ResourceRoute, "group" | "version"> {
  const [first = "", second = "", third = ""] = parts;
  if (parts.length > 6) throw unknownResource();
  // `namespaces/x` and its two subresources are the namespace itself; anything else below is a resource in it.
  const isNamespaced = first === "namespaces" && parts.length > 2 && !(parts.length === 3 && isNamespacePart(third));
  const namespace = isNamespaced ? second : "";
  const [plural = "", name = "", subresource = "", ...more] = isNamespaced ? parts.slice(2) : parts;
  if (more.length > 0) throw unknownResource();
  return { namespace, plural, name, subresource };
}

const isNamespacePart = (segment: string): boolean => segment === "status" || segment === "finalize";

/** Percent-decodes one segment once. What could be taken for another path is refused. */
function decode(segment: string): string {
  let text = segment;
  try {
    // Few segments have anything to decode.
    if (segment.includes("%")) text = decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not percent-encoded UTF-8`);
  }
  if (text === "" || !isPathSegment(text) || text.includes("\u0000")) {
    throw new ApiError("NotFound", `the path segment ${JSON.stringify(segment)} can be no name of anything`);
  }
  return text;
}

/** Subresources that stream in both directions over a connection of their own. */
const podStreams: ReadonlySet<string> = new Set(["exec", "attach", "portforward"]);

export const isPodStream = (subresource: string): boolean => podStreams.has(subresource);
