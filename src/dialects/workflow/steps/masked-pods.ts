import { type FieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { maskAnnotation } from "#kernel/model/index.ts";

/** Length of the path from a Pod to `valueFrom`: `spec`, list, index, `env`, index, `valueFrom`. */
const tail = 6;

/** Requests masking of secret parameters on each Pod and Pod template. `places`: those of `valueFrom`. */
export function withMasks(document: JsonObject, places: readonly FieldPath[]): JsonObject {
  return places.reduce<JsonObject>((masked, place) => {
    const name = valueAt(masked, [...place.slice(0, -1), "name"]);
    const pod = place.slice(0, -tail);
    return typeof name === "string" ? objectOf(edited(masked, pod, (found) => asking(objectOf(found), name))) : masked;
  }, document);
}

function asking(pod: JsonObject, name: string): JsonObject {
  const metadata = objectOf(pod["metadata"]);
  const annotations = objectOf(metadata["annotations"]);
  const given = annotations[maskAnnotation];
  const names = typeof given === "string" ? given.split(",").map((one) => one.trim()) : [];
  const all = [...new Set([...names, name])].filter((one) => one !== "").join(",");
  return { ...pod, metadata: { ...metadata, annotations: { ...annotations, [maskAnnotation]: all } } };
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const memberOf = (value: JsonValue | undefined, part: string | number): JsonValue | undefined =>
  typeof part === "number" ? listOf(value)[part] : objectOf(value)[part];

const valueAt = (value: JsonValue, path: FieldPath): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(memberOf, value);

function edited(value: JsonValue, path: FieldPath, edit: (value: JsonValue) => JsonValue): JsonValue {
  const [part, ...rest] = path;
  if (part === undefined) return edit(value);
  const member = edited(memberOf(value, part) ?? null, rest, edit);
  if (typeof part === "string") return { ...objectOf(value), [part]: member };
  return listOf(value).with(part, member);
}
