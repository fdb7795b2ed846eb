import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { asJson, type KubeObject } from "#kernel/model/index.ts";
import { templateHashLabel } from "./deployment-types.ts";

// No vowels, and no letters that look alike.
const alphabet = "bcdf2456789ghjklmn";

/**
 * Names a template: the label `pod-template-hash`, and the suffix of its ReplicaSet or ControllerRevision. Equal
 * templates have equal hashes, whatever the order of members. `collisions` changes the name if it was taken.
 */
export function templateHash(object: KubeObject, collisions = 0): string {
  const text = canonicalJson(templateOf(object));
  let hash = fnv1a(collisions === 0 ? text : `${text}#${collisions}`);
  let name = "";
  while (name.length < 8) {
    name += alphabet[hash % alphabet.length];
    hash = Math.floor(hash / alphabet.length);
  }
  return name;
}

/** Ignores the label of the hash itself. */
export const isSameTemplate = (a: KubeObject, b: KubeObject): boolean =>
  canonicalJson(templateOf(a)) === canonicalJson(templateOf(b));

function templateOf(object: KubeObject): JsonValue {
  const { spec } = asJson(object);
  const template = isJsonObject(spec) && isJsonObject(spec["template"]) ? spec["template"] : {};
  const metadata = isJsonObject(template["metadata"]) ? template["metadata"] : {};
  const { [templateHashLabel]: _own, ...labels } = isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
  return { ...template, metadata: { ...metadata, labels } };
}

/** 53 bits of two runs of the 32-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv). */
function fnv1a(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x811c9dc5 ^ 0x5bd1e995;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code ^ (low >>> 24), 0x01000193);
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}
