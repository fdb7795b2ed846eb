import { type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { asJson, distinctWriters, type KubeObject, notedWriters, type Stored, writersOf } from "#kernel/model/index.ts";
import { type DefinitionRevision, DefinitionRevision as revisions, Package, WorkloadDefinition } from "../kinds.ts";
import { textsOf } from "../labels.ts";
import type { Definition, Definitions, DefinitionType } from "./definition.ts";
import { withPackages } from "./packages.ts";
import { builtInTypes, eachType, splitRevision, typeFacts } from "./types.ts";

/** Objects of one kind by `namespace/name`: a mirror, or those of files. */
export interface Objects<T extends KubeObject = KubeObject> {
  get(key: string): Stored<T> | undefined;
  list(options?: { readonly namespace?: string }): readonly Stored<T>[];
}

export interface DefinitionSources {
  readonly stored: Readonly<Record<DefinitionType, Objects>>;
  /** The older kind of component types. */
  readonly workloads: Objects;
  readonly revisions: Objects<DefinitionRevision>;
  readonly packages: Objects<Package>;
  /** Loaded on demand. */
  readonly shipped: () => Promise<readonly Definition[]>;
  readonly systemNamespace: string;
}

/** Mirrors of all kinds of definitions. Only before the manager runs. */
export function mirroredSources(
  manager: Manager,
  rest: Pick<DefinitionSources, "shipped" | "systemNamespace">,
): DefinitionSources {
  return {
    ...rest,
    stored: eachType((type) => manager.mirror(typeFacts[type].kind)),
    workloads: manager.mirror(WorkloadDefinition),
    revisions: manager.mirror<DefinitionRevision>(revisions),
    packages: manager.mirror<Package>(Package),
  };
}

/** Definitions of plain objects, such as those of files. */
export function sourcesOfObjects(
  objects: readonly KubeObject[],
  rest: Pick<DefinitionSources, "shipped" | "systemNamespace">,
): DefinitionSources {
  const of = <T extends KubeObject>(kind: string): Objects<T> => {
    // They need no identity to be found.
    const all = objects.filter((object) => object.kind === kind) as unknown as readonly Stored<T>[];
    const placeOf = ({ metadata }: KubeObject) => metadata.namespace ?? "default";
    return {
      get: (key) => all.find((object) => `${placeOf(object)}/${object.metadata.name}` === key),
      list: ({ namespace } = {}) => all.filter((object) => namespace === undefined || placeOf(object) === namespace),
    };
  };
  return {
    ...rest,
    stored: eachType((type) => of(typeFacts[type].kind.kind)),
    workloads: of(WorkloadDefinition.kind),
    revisions: of<DefinitionRevision>(revisions.kind),
    packages: of<Package>(Package.kind),
  };
}

/** The application's namespace comes first, then the system's, then what is shipped. */
export function definitionsOf(sources: DefinitionSources): Definitions {
  const placesFor = (namespace: string) => [...new Set([namespace, sources.systemNamespace])];
  const shipped = async (type: DefinitionType, name: string) =>
    (await sources.shipped()).find((definition) => definition.type === type && definition.name === name);
  const search = async (
    type: DefinitionType,
    wanted: string,
    places: readonly string[],
  ): Promise<Definition | undefined> => {
    const { name, revision } = splitRevision(wanted);
    if (builtInTypes[type].includes(name)) return (await shipped(type, name)) ?? builtIn(type, name);
    if (revision !== undefined) {
      const found = first(places, (place) => revisionIn(sources, type, `${place}/${name}-v${revision}`));
      // Shipped definitions are their own first revision.
      return found ?? (revision === 1 ? await shipped(type, name) : undefined);
    }
    const stored = first(places, (place) => {
      const object = sources.stored[type].get(`${place}/${name}`);
      return object && definitionOf(type, object);
    });
    if (stored !== undefined) return stored;
    const found = await shipped(type, name);
    if (found !== undefined || type !== "component") return found;
    return first(places, (place) => {
      const object = sources.workloads.get(`${place}/${name}`);
      return object && definitionOfWorkload(object);
    });
  };
  const complete = (definition: Definition, namespace: string): Definition =>
    withPackages(
      definition,
      placesFor(namespace).flatMap((place) => sources.packages.list({ namespace: place })),
    );
  return {
    async find(type, wanted, namespace) {
      const found = await search(type, wanted, placesFor(namespace));
      return found && complete(found, namespace);
    },
    complete,
    async names(type, namespace) {
      const lists = [sources.stored[type], ...(type === "component" ? [sources.workloads] : [])];
      const stored = placesFor(namespace).flatMap((place) => lists.flatMap((list) => list.list({ namespace: place })));
      const others = (await sources.shipped()).filter((definition) => definition.type === type);
      const names = [...stored.map(({ metadata }) => metadata.name), ...others.map(({ name }) => name)];
      return [...new Set([...names, ...builtInTypes[type]])].sort();
    },
  };
}

function first<T>(places: readonly string[], find: (place: string) => T | undefined): T | undefined {
  for (const place of places) {
    const found = find(place);
    if (found !== undefined) return found;
  }
  return undefined;
}

const builtIn = (type: DefinitionType, name: string): Definition => ({
  type,
  name,
  template: "",
  spec: {},
  annotations: {},
});

/** A stored definition. */
export function definitionOf(type: DefinitionType, object: Stored): Definition {
  return { ...partsOf(type, asJson(object)), name: object.metadata.name, stored: object, writers: writersOf(object) };
}

/** What a definition says, wherever the object is kept. */
export function partsOf(type: DefinitionType, object: JsonObject): Omit<Definition, "stored" | "writers"> {
  const { schematic, ...spec } = objectAt(object, "spec") ?? {};
  return {
    type,
    name: textAt(object, "metadata", "name") ?? "",
    template: textAt(schematic, "cue", "template") ?? "",
    spec,
    annotations: textsOf(objectAt(object, "metadata", "annotations")),
  };
}

function definitionOfWorkload(object: Stored): Definition {
  const definition = definitionOf("component", object);
  return { ...definition, spec: { ...definition.spec, workload: { type: definition.name } } };
}

/** Both who wrote the revision and who wrote the definition in it count. */
function revisionIn(
  { revisions: stored }: DefinitionSources,
  type: DefinitionType,
  key: string,
): Definition | undefined {
  const revision = stored.get(key);
  const { revisionType, snapshot } = typeFacts[type];
  if (revision?.spec.definitionType !== revisionType) return undefined;
  const object = objectAt(asJson(revision), "spec", snapshot);
  if (object === undefined) return undefined;
  const writers = distinctWriters([...writersOf(revision), ...notedWriters(object)]);
  return { ...partsOf(type, object), stored: revision, writers };
}

/** The message for a type that no definition has. */
export async function notFoundMessage(
  definitions: Definitions,
  {
    type,
    name,
    namespace,
    systemNamespace,
  }: {
    readonly type: DefinitionType;
    readonly name: string;
    readonly namespace: string;
    readonly systemNamespace: string;
  },
): Promise<string> {
  const places = [...new Set([namespace, systemNamespace])];
  const near = nearest(splitRevision(name).name, await definitions.names(type, namespace), 3);
  const hint = near === undefined ? "" : `; nearest: ${near}`;
  return `${typeFacts[type].kind.kind} "${name}" not found in ns ${places.join(", ")}${hint}`;
}
