import type { ResourceType } from "#kernel/model/index.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import type { Definition, DefinitionNames } from "./definition.ts";

/**
 * A name that another kind of the group has already. Names are unique within a group only: `kubectl get events` finds two groups and
 * takes the first by priority.
 */
export interface NameClash {
  readonly reason: "PluralConflict" | "SingularConflict" | "ShortNamesConflict" | "KindConflict" | "ListKindConflict";
  readonly message: string;
}

/** What the other kinds of a group are called. */
interface TakenNames {
  /** Plurals, singulars and short names: what a client may type. */
  readonly words: ReadonlySet<string>;
  /** Kinds and list kinds: what may stand in a document. */
  readonly kinds: ReadonlySet<string>;
}

/**
 * The first name of a definition that clashes with another kind of its group, built-in or custom, or undefined. Versions of one kind
 * share their names and do not clash. O(kinds served).
 */
export function findClash(crd: Definition, registry: ResourceRegistry): NameClash | undefined {
  const taken = takenNames(crd, registry);
  const { plural, singular, shortNames, kind, listKind } = crd.names;
  // In the order in which Kubernetes looks: the plural decides first, because paths are made of it.
  const clash = (reason: NameClash["reason"], name: string, names: ReadonlySet<string>): NameClash | undefined =>
    name !== "" && names.has(name) ? { reason, message: `${JSON.stringify(name)} is already in use` } : undefined;
  return (
    clash("PluralConflict", plural, taken.words) ??
    clash("SingularConflict", singular, taken.words) ??
    shortNames.map((name) => clash("ShortNamesConflict", name, taken.words)).find((found) => found !== undefined) ??
    clash("KindConflict", kind, taken.kinds) ??
    clash("ListKindConflict", listKind, taken.kinds)
  );
}

function takenNames(crd: Definition, registry: ResourceRegistry): TakenNames {
  // The definition's own plural tells its kinds from the others: two definitions cannot share a plural and a group.
  const own = (crd.acceptedNames ?? crd.names).plural;
  const others = registry
    .all()
    .filter(({ type, custom }) => type.group === crd.group && !(custom && type.plural === own));
  return {
    words: new Set(others.flatMap(({ type }) => [type.plural, singularOf(type), ...(type.shortNames ?? [])])),
    kinds: new Set(others.flatMap(({ type, listKind }) => [type.kind, listKind])),
  };
}

/** The name of one object in commands: `kubectl get widget x`. The kind in lower case unless the type says otherwise. */
export const singularOf = (type: ResourceType): string => type.singular ?? type.kind.toLowerCase();

/** Names as they stand in a CustomResourceDefinition: empty lists are left out. */
export const namesAsJson = ({ shortNames, categories, ...names }: DefinitionNames) => ({
  ...names,
  ...(shortNames.length === 0 ? {} : { shortNames }),
  ...(categories.length === 0 ? {} : { categories }),
});
