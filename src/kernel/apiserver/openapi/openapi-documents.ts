import { apiGroups } from "../discovery/groups.ts";
import { tagged, taggedReply, type TaggedText } from "../discovery/tagged.ts";
import type { DocumentReply, DocumentRequest, Documents } from "../http/documents.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { swagger, swaggerProtobufType } from "./v2.ts";
import { encodeSwagger } from "./v2-protobuf.ts";
import { openApiV3 } from "./v3.ts";

/** A document and the kinds it was made of, compared by identity. */
interface CachedDocument {
  readonly resources: readonly ServedResource[];
  readonly document: TaggedText;
}

interface Swagger {
  readonly registry: ResourceRegistry;
  readonly generation: number;
  text?: TaggedText;
  protobuf?: Buffer;
}

const root = "/openapi/v3";
/** Never expires. */
const farFuture = "Thu, 31 Dec 2099 23:59:59 GMT";

/** Undefined for other paths. A group's document is made on demand, again only when its kinds change. */
export function openApiDocuments(): Documents {
  const byGroupVersion = new Map<string, CachedDocument>();
  let version2: Swagger | undefined;

  /** By path below `/openapi/v3`: `api/v1`, `apis/batch/v1`. */
  const current = (registry: ResourceRegistry): ReadonlyMap<string, CachedDocument> => {
    const served = new Map(
      apiGroups(registry).flatMap(({ name, versions }) =>
        versions.map(
          ({ version, resources }) => [name === "" ? `api/${version}` : `apis/${name}/${version}`, resources] as const,
        ),
      ),
    );
    for (const path of byGroupVersion.keys()) if (!served.has(path)) byGroupVersion.delete(path);
    for (const [path, resources] of served) {
      if (isSame(byGroupVersion.get(path)?.resources, resources)) continue;
      byGroupVersion.set(path, { resources, document: tagged(JSON.stringify(openApiV3(resources))) });
    }
    return byGroupVersion;
  };
  const currentSwagger = (registry: ResourceRegistry): Swagger => {
    if (version2?.registry !== registry || version2.generation !== registry.generation)
      version2 = { registry, generation: registry.generation };
    return version2;
  };
  return (registry, request) => {
    const path = request.path.replace(/\/$/, "");
    if (path === "/openapi/v2") return swaggerReply(request, currentSwagger(registry));
    if (path === root)
      return taggedReply(tagged(JSON.stringify(indexOf(current(registry)))), request, "application/json");
    if (!path.startsWith(`${root}/`)) return undefined;
    const found = current(registry).get(path.slice(root.length + 1));
    return found === undefined ? undefined : documentReply(path, found.document, request);
  };
}

const isSame = (a: readonly ServedResource[] | undefined, b: readonly ServedResource[]): boolean =>
  a !== undefined && a.length === b.length && a.every((resource, index) => resource === b[index]);

/** `/openapi/v3`: paths and hashes of the documents. */
const indexOf = (documents: ReadonlyMap<string, CachedDocument>) => ({
  paths: Object.fromEntries(
    [...documents].map(([path, { document }]) => [
      path,
      { serverRelativeURL: `${root}/${path}?hash=${document.hash}` },
    ]),
  ),
});

/** A document with a hash never changes; an old hash redirects to the current one. */
function documentReply(path: string, document: TaggedText, request: DocumentRequest): DocumentReply {
  const hash = request.query.get("hash");
  if (hash === null || hash === "") return taggedReply(document, request, "application/json");
  if (hash !== document.hash) {
    return { code: 301, headers: { Location: `${path}?hash=${document.hash}` }, body: "" };
  }
  return taggedReply(document, request, "application/json", {
    "Cache-Control": "public, immutable",
    Expires: farFuture,
  });
}

/** Version 2, as JSON or protobuf. Cached, because clients ask before each document they send. */
function swaggerReply(request: DocumentRequest, made: Swagger): DocumentReply {
  const document = () => swagger(made.registry.all());
  // Old clients accept nothing else.
  if (!/protobuf/.test(request.accept)) {
    made.text ??= tagged(JSON.stringify(document()));
    return taggedReply(made.text, request, "application/json");
  }
  made.protobuf ??= Buffer.from(encodeSwagger(document()));
  return { code: 200, headers: { "Content-Type": swaggerProtobufType }, body: made.protobuf };
}
