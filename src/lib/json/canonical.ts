import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

/**
 * One text per value: keys sorted by code unit, no blanks, absent and `undefined` members alike. Equal values give
 * equal texts, so the text can be hashed or used as a key. Costs one visit per node plus the sorting of keys.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}
