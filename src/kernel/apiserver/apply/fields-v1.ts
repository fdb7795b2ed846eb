import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalElement, compareElements, sortElements } from "./elements.ts";
import { type FieldSet, leaf, unionOfNodes } from "./field-set.ts";

// Stored sets were written here and are canonical; those that clients send (kubectl hands entries over with a JSON patch) may be spelled
// in other ways and must not lead to two names for one field.

// What was found canonical once: the sets in stored objects, which are frozen and met again at every write.
const known = new WeakMap<object, FieldSet>();

/**
 * Reads a `fieldsV1`. The answer is the very object when that is in canonical form, else its canonical form, and undefined when it
 * is no field set. Elements of kinds that do not exist yet are left out, as Kubernetes does. Costs one visit per node, and one
 * look-up for a frozen value that was read before.
 */
export function decodeFields(value: JsonValue): FieldSet | undefined {
  if (!isJsonObject(value)) return undefined;
  const found = known.get(value);
  if (found !== undefined) return found;
  const set = value["."] === undefined && isCanonicalNode(value) ? value : canonicalNode(value, true);
  if (set !== undefined && Object.isFrozen(value)) known.set(value, set);
  return set;
}

function isCanonicalNode(value: JsonObject): value is FieldSet {
  let before: string | undefined;
  for (const name in value) {
    const child = value[name];
    if (!isJsonObject(child)) return false;
    if (name === ".") {
      if (before !== undefined || Object.keys(child).length > 0) return false;
      continue;
    }
    if (canonicalElement(name) !== name || (before !== undefined && compareElements(before, name) >= 0)) return false;
    if (!isCanonicalNode(child)) return false;
    before = name;
  }
  // A member with nothing inside has one spelling: `{}`.
  return before !== undefined || value["."] === undefined;
}

function canonicalNode(value: JsonObject, isRoot = false): FieldSet | undefined {
  const children = new Map<string, FieldSet>();
  for (const name of Object.keys(value)) {
    const child = value[name];
    if (!isJsonObject(child)) return undefined;
    if (name === ".") continue;
    const element = canonicalElement(name);
    if (element === undefined && isOfKnownKind(name)) return undefined;
    const node = element === undefined ? undefined : canonicalNode(child);
    if (element === undefined) continue;
    if (node === undefined) return undefined;
    const same = children.get(element);
    children.set(element, same === undefined ? node : unionOfNodes(same, node));
  }
  const set: Record<string, FieldSet> = {};
  if (!isRoot && value["."] !== undefined && children.size > 0) set["."] = leaf;
  for (const element of sortElements([...children.keys()])) set[element] = children.get(element) ?? leaf;
  return set;
}

// A misspelt element of a kind that exists is an error; a kind from the future is not.
const isOfKnownKind = (name: string): boolean =>
  name.length < 2 || name[1] !== ":" || "fkvi".includes(name.slice(0, 1));
