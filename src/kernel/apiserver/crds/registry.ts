import type { Instant, JsonObject } from "#lib/base/index.ts";
import type { CompileRule } from "#lib/schema/index.ts";
import { serveBuiltIn } from "../kinds/built-in.ts";
import { builtInKinds } from "../kinds/built-in-kinds.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { type KindAdmission, withAdmission } from "./admission.ts";
import { crdKind } from "./crd-kind.ts";
import { customResource } from "./custom-resource.ts";
import { type Definition, readDefinition } from "./definition.ts";
import { compareVersions } from "./version-priority.ts";

/** The kinds served: built-ins, and what the stored CustomResourceDefinitions declare. */
export interface KindRegistry extends ResourceRegistry {
  /** Serves what a stored CustomResourceDefinition declares, or what it declares now. One whose names clash is not served. */
  setCrd(crd: JsonObject): void;
  /** Stops serving what the definition of this name declared. */
  removeCrd(name: string): void;
  /** Definitions in force, by name. */
  definitions(): readonly Definition[];
  /** Calls `listener` after every change; returns what ends that. */
  onChange(listener: () => void): () => void;
}

export interface RegistryOptions {
  /** For the transition times of a definition's conditions. */
  readonly now: () => Instant;
  /** Compiles validation rules of custom kinds; without it they are accepted with a warning and not evaluated. */
  readonly compileRule?: CompileRule;
  /** Rules of custom kinds beyond their schemas. */
  readonly admissions?: readonly KindAdmission[];
}

/** A registry that serves the built-in kinds. Lookups take constant time. */
export function createRegistry(options: RegistryOptions): KindRegistry {
  const builtIns: ServedResource[] = builtInKinds.map(serveBuiltIn);
  const definitions = new Map<string, Definition>();
  const customByDefinition = new Map<string, readonly ServedResource[]>();
  const listeners = new Set<() => void>();
  let generation = 0;
  let current = indexOf(builtIns);

  const refresh = () => {
    const custom = [...customByDefinition.values()].flat().sort(byGroupAndVersion);
    current = indexOf([...builtIns, ...custom]);
    generation += 1;
    for (const listener of listeners) listener();
  };
  const registry: KindRegistry = {
    find: (group, version, plural) => current.byPlural.get(`${group}/${version}/${plural}`),
    findKind: (group, version, kind) => current.byKind.get(`${group}/${version}/${kind}`),
    all: () => current.all,
    get generation() {
      return generation;
    },
    definitions: () => [...definitions.values()],
    setCrd(object) {
      const crd = readDefinition(object);
      definitions.set(crd.name, crd);
      const served =
        crd.isEstablished && crd.acceptedNames !== undefined ? crd.versions.filter((version) => version.served) : [];
      customByDefinition.set(
        crd.name,
        served.map((version) =>
          withAdmission(customResource(crd, version, options.compileRule), options.admissions ?? []),
        ),
      );
      refresh();
    },
    removeCrd(name) {
      if (!definitions.delete(name)) return;
      customByDefinition.delete(name);
      refresh();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  builtIns.push(serveBuiltIn(crdKind(registry, options)));
  current = indexOf(builtIns);
  return registry;
}

interface Index {
  readonly all: readonly ServedResource[];
  readonly byPlural: ReadonlyMap<string, ServedResource>;
  readonly byKind: ReadonlyMap<string, ServedResource>;
}

const indexOf = (all: readonly ServedResource[]): Index => ({
  all: [...all],
  byPlural: new Map(all.map((one) => [`${one.type.group}/${one.type.version}/${one.type.plural}`, one])),
  byKind: new Map(all.map((one) => [`${one.type.group}/${one.type.version}/${one.type.kind}`, one])),
});

function byGroupAndVersion({ type: a }: ServedResource, { type: b }: ServedResource): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  return compareVersions(a.version, b.version) || (a.plural < b.plural ? -1 : 1);
}
