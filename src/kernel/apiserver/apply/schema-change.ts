import { fieldNameOf } from "./elements.ts";
import { childElements, type FieldSet, leaf } from "./field-set.ts";
import type { TypeNode } from "./type-node.ts";

// Sets that were found to fit a schema. Stored sets are frozen and met at every write, schemas change rarely.
const fitting = new WeakMap<TypeNode, WeakSet<FieldSet>>();

/**
 * A set written when the schema was another one. Where a list or object has become atomic since, whoever owned something inside owns
 * the whole place. The other way round nothing is to be done: the owner of the place stays its owner. The very set when it fits.
 */
export function fitToSchema(set: FieldSet, type: TypeNode): FieldSet {
  const known = fitting.get(type);
  if (known?.has(set) === true) return set;
  const fitted = fitNode(set, type);
  if (fitted === set && Object.isFrozen(set)) {
    if (known === undefined) fitting.set(type, new WeakSet([set]));
    else known.add(set);
  }
  return fitted;
}

function fitNode(node: FieldSet, type: TypeNode): FieldSet {
  let changed: Record<string, FieldSet> | undefined;
  for (const element of childElements(node)) {
    const child = node[element] ?? leaf;
    const name = fieldNameOf(element);
    if ((name === undefined ? type.lists : type.objects) === "atomic") return leaf;
    const fitted = fitNode(child, name === undefined ? type.items : type.member(name));
    if (fitted === child) continue;
    changed ??= { ...node };
    changed[element] = fitted;
  }
  return changed ?? node;
}
