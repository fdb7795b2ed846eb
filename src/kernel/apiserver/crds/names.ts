import type { ResourceType } from "#kernel/model/index.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import type { Definition, DefinitionNames } from "./definition.ts";

/** A name that another kind of the group has. Names are unique within a group only. */
export interface NameClash {
  readonly reason: "PluralConflict" | "SingularConflict" | "ShortNamesConflict" | "KindConflict" | "ListKindConflict";
  readonly message: string;
}

interface TakenNames {
  /** Plurals, singulars and short names. */
  readonly words: ReadonlySet<string>;
  /** Kinds and list kinds. */
  readonly kinds: ReadonlySet<string>;
}

/** The first name that clashes with another kind of the group. Versions of one kind share their names. */
export function findClash(crd: Definition, registry: ResourceRegistry): NameClash | undefined {
  const taken = takenNames(crd, registry);
  const { plural, singular, shortNames, kind, listKind } = crd.names;
  // In Kubernetes' order.
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
  // Two definitions cannot share plural and group.
  const own = (crd.acceptedNames ?? crd.names).plural;
  const others = registry
    .all()
    .filter(({ type, custom }) => type.group === crd.group && !(custom && type.plural === own));
  return {
    words: new Set(others.flatMap(({ type }) => [type.plural, singularOf(type), ...(type.shortNames ?? [])])),
    kinds: new Set(others.flatMap(({ type, listKind }) => [type.kind, listKind])),
  };
}

/** Defaults to the lower-case kind. */
export const singularOf = (type: ResourceType): string => type.singular ?? type.kind.toLowerCase();

/** Without empty lists. */
export const namesAsJson = ({ shortNames, categories, ...names }: DefinitionNames) => ({
  ...names,
  ...(shortNames.length === 0 ? {} : { shortNames }),
  ...(categories.length === 0 ? {} : { categories }),
});
