import { isJsonObject, type JsonObject, type JsonValue, objectAt, textAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { Secret } from "#kernel/model/index.ts";
import { definitionNames, withMembers, withUnset } from "#kernel/specs/index.ts";
import { secretTable } from "../tables/small-kinds.ts";
import { type BuiltIn, type Rule, textField } from "./built-in.ts";
import { dataKeyProblem, immutableDataRule, mostDataBytes } from "./small-kinds.ts";

// Secrets: Kubernetes' built-in types and their keys. No message repeats a value.

/** Required keys by type; of `anyOf` one is enough. Other types may hold anything. */
const keysByType: Readonly<Record<string, { readonly allOf?: readonly string[]; readonly anyOf?: readonly string[] }>> =
  {
    "kubernetes.io/dockercfg": { allOf: [".dockercfg"] },
    "kubernetes.io/dockerconfigjson": { allOf: [".dockerconfigjson"] },
    "kubernetes.io/basic-auth": { anyOf: ["username", "password"] },
    "kubernetes.io/ssh-auth": { allOf: ["ssh-privatekey"] },
    "kubernetes.io/tls": { allOf: ["tls.crt", "tls.key"] },
  };
/** Keys that hold a JSON object. */
const jsonKeys = [".dockercfg", ".dockerconfigjson"];
const accountAnnotation = "kubernetes.io/service-account.name";

/** `stringData` is write-only: merged into `data`, overriding it. */
function foldStringData(object: JsonObject): JsonObject {
  const texts = objectAt(object, "stringData");
  if (texts === undefined) return withMembers(object, { stringData: undefined });
  const encoded = Object.entries(texts).map(([key, text]): [string, JsonValue] => [
    key,
    // Validation refuses other values.
    typeof text === "string" ? Buffer.from(text).toString("base64") : (text ?? null),
  ]);
  const data = new Map([...Object.entries(objectAt(object, "data") ?? {}), ...encoded]);
  return withMembers(object, { stringData: undefined, data: Object.fromEntries(data) });
}

/** Keys that are valid file names, and the total size; the schema checks base64. */
const dataRule: Rule = (object, { errors }) => {
  let bytes = 0;
  for (const [key, value] of Object.entries(objectAt(object, "data") ?? {})) {
    const problem = dataKeyProblem(key);
    if (problem !== undefined) errors.push(fieldError.invalid(`data[${key}]`, key, problem));
    bytes += typeof value === "string" ? Buffer.byteLength(value, "base64") : 0;
  }
  if (bytes > mostDataBytes) errors.push(fieldError.tooLong("data", mostDataBytes, "bytes"));
};

/** An empty value is fine. */
const typeRule: Rule = (object, { errors }) => {
  const type = textAt(object, "type") ?? "";
  const data = objectAt(object, "data") ?? {};
  const has = (key: string) => Object.hasOwn(data, key);
  const { allOf = [], anyOf = [] } = (Object.hasOwn(keysByType, type) ? keysByType[type] : undefined) ?? {};
  for (const key of allOf) if (!has(key)) errors.push(fieldError.required(`data[${key}]`));
  if (anyOf.length > 0 && !anyOf.some(has)) for (const key of anyOf) errors.push(fieldError.required(`data[${key}]`));
  for (const key of jsonKeys.filter((key) => allOf.includes(key) && has(key))) {
    // Without the value, which is secret.
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

function isBase64Json(value: JsonValue | undefined): boolean {
  try {
    return isJsonObject(JSON.parse(Buffer.from(typeof value === "string" ? value : "", "base64").toString()));
  } catch {
    // Not JSON.
    return false;
  }
}

const typeIsImmutable: Rule = (object, { errors }, old) => {
  if (old !== undefined && object["type"] !== old["type"]) {
    errors.push(fieldError.invalid("type", object["type"], "field is immutable"));
  }
};

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
