import type { Instant, JsonObject } from "#lib/base/index.ts";
import type { CompileRule } from "#lib/schema/index.ts";
import { splitApiVersion } from "#kernel/model/index.ts";
import { serveBuiltIn } from "../kinds/built-in.ts";
import { builtInKinds } from "../kinds/built-in-kinds.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { type AdmissionServer, type KindAdmission, withAdmission } from "./admission.ts";
import { crdKind } from "./crd-kind.ts";
import { customResource } from "./custom-resource.ts";
import { type Definition, readDefinition } from "./definition.ts";
import { discoveryOrder } from "./preferred-version.ts";

/**
 * The kinds served: built-ins, and what the stored CustomResourceDefinitions declare. It follows the store and is no truth of its own:
 * whoever writes a definition calls `setCrd` with what was stored, before the write is answered. Everything is synchronous, and a
 * change is seen whole: no lookup ever finds half a definition.
 */
export interface KindRegistry extends ResourceRegistry {
  /** Serves what a stored CustomResourceDefinition declares, or what it declares now. One whose names clash is not served. */
  setCrd(crd: JsonObject): void;
  /** Stops serving what the definition of this name declared. Unknown names are no mistake, and no change. */
  removeCrd(name: string): void;
  /** Definitions that were set and not removed, served or not, in the order of their first appearance. */
  definitions(): readonly Definition[];
  /** Calls `listener` after every change, when lookups have the new state; returns what ends that. */
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

/**
 * A registry that serves the built-in kinds. Lookups take constant time; a change rebuilds the index, O(kinds). Two definitions that
 * declare the same path cannot both be established, so that no kind ever hides another.
 */
export function createRegistry(options: RegistryOptions): KindRegistry {
  const builtIns: ServedResource[] = builtInKinds.map(serveBuiltIn);
  const definitions = new Map<string, Definition>();
  const customByDefinition = new Map<string, readonly ServedResource[]>();
  const listeners = new Set<() => void>();
  let generation = 0;
  let current = indexOf(builtIns);

  const refresh = () => {
    const custom = inDiscoveryOrder([...customByDefinition.values()].flat());
    current = indexOf([...builtIns, ...custom]);
    generation += 1;
    for (const listener of listeners) listener();
  };
  const server: AdmissionServer = {
    serves(apiVersion, kind) {
      const { group, version } = splitApiVersion(apiVersion);
      return registry.findKind(group, version, kind) !== undefined;
    },
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
          withAdmission(customResource(crd, version, options.compileRule), options.admissions ?? [], server),
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

/** One state of the registry; replaced as a whole, never edited. Keys are `group/version/plural` and `group/version/kind`. */
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

/** Custom kinds in the order of discovery: by group, the version to prefer first, then by plural. Not by age: restarts must agree. */
function inDiscoveryOrder(custom: readonly ServedResource[]): readonly ServedResource[] {
  const order = discoveryOrder(custom);
  return custom.toSorted(({ type: a }, { type: b }) => {
    if (a.group !== b.group) return a.group < b.group ? -1 : 1;
    return order(a, b) || (a.plural < b.plural ? -1 : 1);
  });
}
