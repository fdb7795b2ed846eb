import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// The protobuf form of a Swagger 2.0 document, message `openapi.v2.Document` of the public OpenAPI schema definitions. Clients before
// 1.29 read nothing else to check documents before they send them, and those before 1.24 to explain fields.

const textEncoder = new TextEncoder();

/** Field numbers of the messages, as far as definitions need them. */
const field = {
  document: { swagger: 1, info: 2, paths: 8, definitions: 9 },
  info: { title: 1, version: 2 },
  // Definitions, Properties: a list of named schemas; NamedSchema, NamedAny: name and value.
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

/**
 * Encodes title, version and definitions of a Swagger document. Keywords that old clients do not use are left out. The first five bytes
 * are always `0a 03 32 2e 30`, the version: alone they are a document that every kubectl takes, without checks.
 */
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

/** Order is kept; clients look schemas up by name. */
const namedSchemas = (schemas: JsonObject): Uint8Array[] =>
  Object.entries(schemas).map(([name, schema]) =>
    message(field.list.item, [
      text(field.named.name, name),
      message(field.named.value, schemaParts(isJsonObject(schema) ? schema : {})),
    ]),
  );

/** Extensions go as YAML texts, which is where clients find the kind of a definition and its merge keys. */
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

/** A field that is absent takes no bytes at all. */
const none = new Uint8Array(0);
/** The wire type of texts and messages, which are all this document is made of. */
const lengthDelimited = 2;

/** A text field; empty texts are left out, as proto3 leaves out zero values. */
const text = (number: number, value: JsonValue | undefined): Uint8Array =>
  typeof value === "string" && value !== "" ? delimited(number, textEncoder.encode(value)) : none;

const message = (number: number, parts: readonly Uint8Array[]): Uint8Array => delimited(number, join(parts));

/** Tag, length, body. Field numbers here are below 2^28, so the tag is computed with shifts. */
const delimited = (number: number, body: Uint8Array): Uint8Array =>
  join([varint((number << 3) | lengthDelimited), varint(body.length), body]);

/** Seven bits a byte, lowest first; the high bit says that more follow. Lengths may go beyond 31 bits, hence no shifts. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** One allocation for all parts. */
function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
