import { isJsonObject, type JsonObject, type JsonValue, objectAt, textAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { definitionNames, withMembers, withUnset } from "#kernel/specs/index.ts";
import { secretTable } from "../tables/small-kinds.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { dataKeyProblem, immutableDataRule, mostDataBytes } from "./small-kinds.ts";

// Secrets: Kubernetes' built-in types with the keys that their readers rely on. Values are base64 in JSON; no message repeats one.

/** The keys a type of secret must have; of `anyOf` one is enough. Other types, and the default `Opaque`, may hold anything. */
const keysByType: Readonly<Record<string, { readonly allOf?: readonly string[]; readonly anyOf?: readonly string[] }>> =
  {
    "kubernetes.io/dockercfg": { allOf: [".dockercfg"] },
    "kubernetes.io/dockerconfigjson": { allOf: [".dockerconfigjson"] },
    "kubernetes.io/basic-auth": { anyOf: ["username", "password"] },
    "kubernetes.io/ssh-auth": { allOf: ["ssh-privatekey"] },
    "kubernetes.io/tls": { allOf: ["tls.crt", "tls.key"] },
  };
/** Keys whose decoded value is the configuration of a Docker client: a JSON object. */
const jsonKeys = [".dockercfg", ".dockerconfigjson"];
/** Which account a token belongs to. */
const accountAnnotation = "kubernetes.io/service-account.name";

/** `stringData` is only ever a way to write `data`: its texts win over data of the same key, and nobody ever reads it back. */
function foldStringData(object: JsonObject): JsonObject {
  const texts = objectAt(object, "stringData");
  if (texts === undefined) return withMembers(object, { stringData: undefined });
  const encoded = Object.entries(texts).map(([key, text]): [string, JsonValue] => [
    key,
    // A value that is no text is left for validation to refuse.
    typeof text === "string" ? Buffer.from(text).toString("base64") : (text ?? null),
  ]);
  const data = new Map([...Object.entries(objectAt(object, "data") ?? {}), ...encoded]);
  // By entries: a key named like a part of JavaScript is a key.
  return withMembers(object, { stringData: undefined, data: Object.fromEntries(data) });
}

/** Keys that can be files, and a total of decoded bytes; that values are base64 is the schema's to check. */
const dataRule: Rule = (object, { errors }) => {
  let bytes = 0;
  for (const [key, value] of Object.entries(objectAt(object, "data") ?? {})) {
    const problem = dataKeyProblem(key);
    if (problem !== undefined) errors.push(fieldError.invalid(`data[${key}]`, key, problem));
    bytes += typeof value === "string" ? Buffer.byteLength(value, "base64") : 0;
  }
  if (bytes > mostDataBytes) errors.push(fieldError.tooLong("data", mostDataBytes, "bytes"));
};

/** What a type promises must be there. An empty value is a value: only the key is demanded. */
const typeRule: Rule = (object, { errors }) => {
  const type = textAt(object, "type") ?? "";
  const data = objectAt(object, "data") ?? {};
  const has = (key: string) => Object.hasOwn(data, key);
  const { allOf = [], anyOf = [] } = (Object.hasOwn(keysByType, type) ? keysByType[type] : undefined) ?? {};
  for (const key of allOf) if (!has(key)) errors.push(fieldError.required(`data[${key}]`));
  if (anyOf.length > 0 && !anyOf.some(has)) for (const key of anyOf) errors.push(fieldError.required(`data[${key}]`));
  for (const key of jsonKeys.filter((key) => allOf.includes(key) && has(key))) {
    // The value itself is a secret and does not stand in the message.
    if (!isBase64Json(data[key]))
      errors.push(fieldError.invalid(`data[${key}]`, "<secret contents redacted>", "must be a JSON object"));
  }
  if (
    type === "kubernetes.io/service-account-token" &&
    textAt(object, "metadata", "annotations", accountAnnotation) === undefined
  ) {
    errors.push(fieldError.required(`metadata.annotations[${accountAnnotation}]`));
  }
};

/** Whether a value, decoded, is a JSON object. Base64 itself has been checked by the schema. */
function isBase64Json(value: JsonValue | undefined): boolean {
  try {
    return isJsonObject(JSON.parse(Buffer.from(typeof value === "string" ? value : "", "base64").toString()));
  } catch {
    // Not JSON is the answer that was asked for.
    return false;
  }
}

/** Whoever has read a type relies on its keys; another type is another Secret. */
const typeIsImmutable: Rule = (object, { errors }, old) => {
  if (old !== undefined && object["type"] !== old["type"]) {
    errors.push(fieldError.invalid("type", object["type"], "field is immutable"));
  }
};

/** `type` is Opaque when absent or empty. A Secret marked immutable keeps its data for good. */
export const secretKind: BuiltIn = {
  type: Secret,
  definition: definitionNames.secret,
  table: secretTable,
  defaults: (object) => withUnset(object, { type: "Opaque" }),
  prepareForCreate: foldStringData,
  prepareForUpdate: foldStringData,
  hidden: ["data"],
  rules: [dataRule, typeRule],
  updateRules: [immutableDataRule("data"), typeIsImmutable],
  fields: { type: textField("type") },
};
