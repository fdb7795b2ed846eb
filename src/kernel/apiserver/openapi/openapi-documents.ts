import { randomBytes } from "node:crypto";
import { apiGroups } from "../discovery/groups.ts";
import { tagged, taggedReply, type TaggedText } from "../discovery/tagged.ts";
import type { DocumentReply, DocumentRequest, Documents } from "../http/documents.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { openApiV3, documentInfo } from "./v3.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refTo } from "#kernel/specs/index.ts";
import { componentsOf } from "./components.ts";

/**
 * A document and the kinds that it is made of, compared by identity. The index names the documents of all groups, of
 * which clients ask for one or two: the hash is random and not of the text, which is made when it is asked for.
 */
interface CachedDocument {
  readonly resources: readonly ServedResource[];
  readonly hash: string;
  text?: string;
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
      byGroupVersion.set(path, { resources, hash: randomBytes(20).toString("hex").toUpperCase() });
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
    return found === undefined ? undefined : documentReply(path, found, request);
  };
}

const isSame = (a: readonly ServedResource[] | undefined, b: readonly ServedResource[]): boolean =>
  a !== undefined && a.length === b.length && a.every((resource, index) => resource === b[index]);

/** `/openapi/v3`: paths and hashes of the documents. */
const indexOf = (documents: ReadonlyMap<string, CachedDocument>) => ({
  paths: Object.fromEntries(
    [...documents].map(([path, { hash }]) => [path, { serverRelativeURL: `${root}/${path}?hash=${hash}` }]),
  ),
});

/** A document with a hash never changes; an old hash redirects to the current one. */
function documentReply(path: string, made: CachedDocument, request: DocumentRequest): DocumentReply {
  const document = { text: (made.text ??= JSON.stringify(openApiV3(made.resources))), hash: made.hash };
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

/** Clients ask for it as `…v2@v1.0+protobuf`. */
const swaggerProtobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Swagger 2.0: definitions of every kind, without paths, for kubectl up to 1.28. */
export function swagger(resources: readonly ServedResource[]): JsonObject {
  const custom = new Set(resources.filter((resource) => resource.custom).map(({ schema }) => schema.name));
  const definitions = [...componentsOf(resources)].map(([name, schema]) => [
    name,
    custom.has(name) && schema[anyFields] === true ? openObject(schema) : downgrade(schema),
  ]);
  return { swagger: "2.0", info: documentInfo, paths: {}, definitions: Object.fromEntries(definitions) };
}

const anyFields = "x-kubernetes-preserve-unknown-fields";
const kindMark = "x-kubernetes-group-version-kind";

/** Keeps unknown fields: as in Kubernetes no properties are listed, since old clients would refuse others. */
const openObject = (schema: JsonObject): JsonObject => ({
  type: "object",
  ...(schema[kindMark] === undefined ? {} : { [kindMark]: schema[kindMark] }),
});

const newer = new Set(["oneOf", "anyOf", "not", "nullable"]);
const refPrefix = refTo("");

/** References lead to `#/definitions`, newer keywords are left out. The server validates anyway. */
function downgrade(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([keyword]) => !newer.has(keyword));
  const [only] = Array.isArray(schema["allOf"]) ? (schema["allOf"] as readonly JsonValue[]) : [];
  const isReference = isJsonObject(only) && typeof only["$ref"] === "string";
  return Object.fromEntries(
    kept.flatMap(([keyword, value]): [string, JsonValue][] => {
      if (value === undefined) return [];
      if (keyword === "allOf") return isReference ? [["$ref", swaggerRef(only["$ref"])]] : [];
      if (keyword === "$ref") return [["$ref", swaggerRef(value)]];
      if (keyword === "properties" && isJsonObject(value)) return [[keyword, mapValues(value)]];
      const isSchema = keyword === "items" || keyword === "additionalProperties";
      return [[keyword, isSchema && isJsonObject(value) ? downgrade(value) : value]];
    }),
  );
}

/** Names of members are no keywords. */
const mapValues = (properties: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isJsonObject(schema) ? downgrade(schema) : {}]),
  );

const swaggerRef = (ref: JsonValue | undefined): string =>
  typeof ref === "string" ? ref.replace(refPrefix, "#/definitions/") : "";

// Swagger 2.0 as protobuf, message `openapi.v2.Document`: what clients before 1.29 use for validation.

const textEncoder = new TextEncoder();

/** Field numbers of the messages. */
const field = {
  document: { swagger: 1, info: 2, paths: 8, definitions: 9 },
  info: { title: 1, version: 2 },
  list: { item: 1 },
  named: { name: 1, value: 2 },
  any: { yaml: 2 },
  schema: {
    ref: 1,
    format: 2,
    description: 4,
    required: 19,
    additionalProperties: 21,
    type: 22,
    items: 23,
    properties: 25,
    extension: 31,
  },
} as const;

/** Without keywords that old clients ignore. The first bytes, `0a 03 32 2e 30`, are always the version. */
export function encodeSwagger(swagger: JsonObject): Uint8Array {
  const info = isJsonObject(swagger["info"]) ? swagger["info"] : {};
  const definitions = isJsonObject(swagger["definitions"]) ? swagger["definitions"] : {};
  return join([
    text(field.document.swagger, "2.0"),
    message(field.document.info, [text(field.info.title, info["title"]), text(field.info.version, info["version"])]),
    message(field.document.paths, []),
    message(field.document.definitions, namedSchemas(definitions)),
  ]);
}

const namedSchemas = (schemas: JsonObject): Uint8Array[] =>
  Object.entries(schemas).map(([name, schema]) =>
    message(field.list.item, [
      text(field.named.name, name),
      message(field.named.value, schemaParts(isJsonObject(schema) ? schema : {})),
    ]),
  );

/** Extensions are YAML texts. */
function schemaParts(schema: JsonObject): Uint8Array[] {
  const { $ref, format, description, required, additionalProperties, type, items, properties } = schema;
  const extensions = Object.entries(schema).filter(([keyword]) => keyword.startsWith("x-"));
  return [
    text(field.schema.ref, $ref),
    text(field.schema.format, format),
    text(field.schema.description, description),
    ...(Array.isArray(required) ? (required as readonly JsonValue[]) : []).map((name) =>
      text(field.schema.required, name),
    ),
    isJsonObject(additionalProperties)
      ? message(field.schema.additionalProperties, [message(field.list.item, schemaParts(additionalProperties))])
      : none,
    typeof type === "string" ? message(field.schema.type, [text(field.list.item, type)]) : none,
    isJsonObject(items) ? message(field.schema.items, [message(field.list.item, schemaParts(items))]) : none,
    isJsonObject(properties) ? message(field.schema.properties, namedSchemas(properties)) : none,
    ...extensions.map(([name, value]) =>
      // JSON is YAML.
      message(field.schema.extension, [
        text(field.named.name, name),
        message(field.named.value, [text(field.any.yaml, JSON.stringify(value))]),
      ]),
    ),
  ];
}

const none = new Uint8Array(0);
/** Wire type of texts and messages. */
const lengthDelimited = 2;

/** Empty texts are left out, as in proto3. */
const text = (number: number, value: JsonValue | undefined): Uint8Array =>
  typeof value === "string" && value !== "" ? delimited(number, textEncoder.encode(value)) : none;

const message = (number: number, parts: readonly Uint8Array[]): Uint8Array => delimited(number, join(parts));

/** Tag, length, body. Field numbers are below 2^28. */
const delimited = (number: number, body: Uint8Array): Uint8Array =>
  join([varint((number << 3) | lengthDelimited), varint(body.length), body]);

/** Lengths may exceed 31 bits, hence no shifts. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
