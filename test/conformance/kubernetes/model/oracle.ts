import { container, type Flat, type Owners } from "./flat-object.ts";

// What Kubernetes makes of writes, in the plainest words there are: sets of paths. Nothing of it is fast or shared with the server.

/** An object as the oracle knows it. */
export interface Known {
  readonly fields: Flat;
  readonly owners: Owners;
  readonly generation: number;
  readonly revision: number;
  readonly terminating: boolean;
}

interface Change {
  readonly added: ReadonlySet<string>;
  readonly modified: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

export const isBelow = (path: string, above: string): boolean => path.startsWith(`${above}/`);
const parentOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

export function changeOf(before: Flat, after: Flat): Change {
  return {
    added: new Set([...after.keys()].filter((path) => !before.has(path))),
    modified: new Set(
      [...after].filter(([path, value]) => before.has(path) && before.get(path) !== value).map(([path]) => path),
    ),
    removed: new Set([...before.keys()].filter((path) => !after.has(path))),
  };
}

const without = (set: ReadonlySet<string>, ...gone: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  new Set([...set].filter((path) => !gone.some((paths) => paths.has(path))));

/** Entries without fields are no entries. */
const tidy = (owners: Iterable<readonly [string, ReadonlySet<string>]>): Owners =>
  new Map([...owners].filter(([, paths]) => paths.size > 0));

const othersThan = (owners: Owners, who: string) => [...owners].filter(([name]) => name !== who);

/** A write that is no apply: who wrote owns what is new or different, and nobody else does any more. */
export function ownersAfterUpdate(owners: Owners, who: string, before: Flat, after: Flat): Owners {
  const { added, modified, removed } = changeOf(before, after);
  const own = new Set([...without(owners.get(who) ?? new Set(), removed), ...added, ...modified]);
  const others = othersThan(owners, who).map(
    ([name, paths]) => [name, without(paths, added, modified, removed)] as const,
  );
  return tidy([...others, [who, own]]);
}

/** What applying a document declares: all values and items, and no object that only holds them. */
export const declaredBy = (document: Flat): ReadonlySet<string> =>
  new Set(
    [...document]
      .filter(([path, value]) => value !== container || path.includes("/k:{") || !hasChildren(document, path))
      .map(([path]) => path),
  );

const hasChildren = (fields: Flat, path: string): boolean => [...fields.keys()].some((other) => isBelow(other, path));

/** Fields of the schema that hold the path: they count as declared by whoever declares something in them. */
const namedAbove = (path: string): readonly string[] =>
  ["f:spec", "f:spec/f:fields", "f:spec/f:items", "f:spec/f:tags", "f:metadata/f:labels"].filter((above) =>
    isBelow(path, above),
  );

/**
 * Takes away what was declared before, is not now, and nobody else wants, whole: with what nobody owns in it. Objects and lists that
 * this leaves empty go too, unless somebody wants them.
 */
function prune(merged: Flat, last: ReadonlySet<string>, wanted: ReadonlySet<string>): Flat {
  const isWanted = (path: string) => wanted.has(path) || [...wanted].some((other) => isBelow(other, path));
  const isKey = (path: string) => path.endsWith("/f:name") && path.includes("/k:{");
  const left = new Map(merged);
  // The key of an item goes with the item.
  const declared = [...last].filter((path) => !isKey(path));
  for (const path of new Set([...declared.flatMap(namedAbove), ...declared])) {
    if (isWanted(path)) continue;
    for (const other of merged.keys()) if (other === path || isBelow(other, path)) left.delete(other);
    for (let above = parentOf(path); above.includes("f:"); above = parentOf(above)) {
      if (left.get(above) !== container || isWanted(above) || hasChildren(left, above)) break;
      left.delete(above);
    }
  }
  return left;
}

/** Maps of metadata that are empty are no maps: Kubernetes drops them. */
export function withoutEmptyLabels(fields: Flat): Flat {
  const labels = "f:metadata/f:labels";
  return hasChildren(fields, labels) ? fields : new Map([...fields].filter(([path]) => path !== labels));
}

/** What applying makes of an object, and of whom it takes something. */
export function applied(live: Flat, owners: Owners, who: string, document: Flat) {
  const declared = declaredBy(document);
  const merged = new Map([...live, ...document]);
  const others = othersThan(owners, who);
  const wanted = new Set([...declared, ...others.flatMap(([, paths]) => [...paths])]);
  const fields = withoutEmptyLabels(prune(merged, owners.get(who) ?? new Set(), wanted));
  const { added, modified, removed } = changeOf(live, fields);
  const conflicts = others.some(([, paths]) => [...paths].some((path) => added.has(path) || modified.has(path)));
  const left = others.map(([name, paths]) => [name, without(paths, added, modified, removed)] as const);
  return { fields, owners: tidy([...left, [who, declared]]), conflicts };
}

export const sameOwners = (a: Owners, b: Owners): boolean =>
  a.size === b.size && [...a].every(([name, paths]) => sameSet(paths, b.get(name)));
const sameSet = (a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean =>
  a.size === b?.size && [...a].every((path) => b.has(path));
export const sameFields = (a: Flat, b: Flat): boolean =>
  a.size === b.size && [...a].every(([path, value]) => b.get(path) === value);
