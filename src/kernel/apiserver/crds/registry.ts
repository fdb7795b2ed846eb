import type { JsonObject } from "#lib/base/index.ts";
import { splitApiVersion } from "#kernel/model/index.ts";
import { serveBuiltIn } from "../kinds/built-in.ts";
import { builtInKinds } from "../kinds/built-in-kinds.ts";
import type { ResourceRegistry, ServedResource } from "../kinds/served-resource.ts";
import { type AdmissionServer, type RegistryOptions, withAdmission } from "./admission.ts";
import { crdKind } from "./crd-kind.ts";
import { customResource } from "./custom-resource.ts";
import { type Definition, readDefinition } from "./definition.ts";
import { discoveryOrder } from "./preferred-version.ts";

/** Writers of definitions call `setCrd` before the answer. Synchronous; changes are atomic. */
export interface KindRegistry extends ResourceRegistry {
  /** Serves a stored definition unless its names clash. */
  setCrd(crd: JsonObject): void;
  /** Unknown names are ignored. */
  removeCrd(name: string): void;
  /** Served or not, in the order they appeared. */
  definitions(): readonly Definition[];
  /** Calls `listener` after every change; the returned function unsubscribes. */
  onChange(listener: () => void): () => void;
}

/** A registry with the built-in kinds. Lookups take constant time; a change rebuilds the index. */
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

/** Replaced as a whole. Keys are `group/version/plural` and `group/version/kind`. */
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

/** Clients read a name that several groups have, such as `workflow`, as a kind of the first one. */
const ownGroup = "slipway.dev";

/** By group, Slipway's own first, preferred version and plural; not by age, since restarts must agree. */
function inDiscoveryOrder(custom: readonly ServedResource[]): readonly ServedResource[] {
  const order = discoveryOrder(custom);
  return custom.toSorted(({ type: a }, { type: b }) => {
    if (a.group !== b.group) return b.group === ownGroup || (a.group !== ownGroup && b.group < a.group) ? 1 : -1;
    return order(a, b) || (a.plural < b.plural ? -1 : 1);
  });
}
