import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

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
