import { defined, isJsonObject, type JsonObject, objectAt, objectsAt } from "#lib/base/index.ts";
import {
  asJson,
  distinctWriters,
  type KubeObject,
  notedWriters,
  type Stored,
  type Writer,
  writersOf,
} from "#kernel/model/index.ts";
import { partsOf } from "../definitions/find.ts";
import type { App, Step } from "../app.ts";
import type { Definition, Definitions, DefinitionType } from "../definitions/definition.ts";
import { definitionTypes, typeFacts } from "../definitions/types.ts";
import { packed, unpacked } from "./packed.ts";

/** Everything that an application was rendered from. */
export interface Snapshot {
  /** The Application without its status. */
  readonly application: JsonObject;
  readonly definitions: Readonly<Record<DefinitionType, Readonly<Record<string, JsonObject>>>>;
  /** Policies of the namespace that the workflow refers to, by name. */
  readonly policies: Readonly<Record<string, JsonObject>>;
  /** The Workflow that `spec.workflow.ref` names. */
  readonly workflow?: JsonObject;
  readonly referredObjects: readonly JsonObject[];
  /** Of the revision, if people have edited it. */
  readonly writers?: readonly Writer[];
}

/** `componentDefinitions`, … */
const member = (type: DefinitionType): string => `${typeFacts[type].snapshot}s`;

/** Names of all definitions that the application uses; those that are not found are for admission to report. */
export async function snapshotOf(
  application: Stored,
  app: App,
  definitions: Definitions,
  referred: Pick<Snapshot, "policies" | "workflow" | "referredObjects">,
): Promise<Snapshot> {
  const used: Record<DefinitionType, readonly string[]> = {
    component: app.components.map(({ type }) => type),
    trait: app.components.flatMap(({ traits }) => traits.map(({ type }) => type)),
    policy: app.policies.map(({ type }) => type),
    "workflow-step": app.workflow.steps.flatMap((step) => [step.type, ...step.subSteps.map(({ type }: Step) => type)]),
  };
  const found = { component: {}, trait: {}, policy: {}, "workflow-step": {} };
  for (const type of definitionTypes) {
    const byName: Record<string, JsonObject> = found[type];
    for (const name of [...new Set(used[type])].sort()) {
      const definition = await definitions.find(type, name, app.identity.namespace);
      if (definition !== undefined) byName[name] = storedDefinition(definition);
    }
  }
  return { application: bareApplication(application), definitions: found, ...referred };
}

/** A definition as a Kubernetes object, so that clients can read it in the revision. */
function storedDefinition({ type, name, template, spec, annotations, stored }: Definition): JsonObject {
  const { apiVersion = "core.oam.dev/v1beta1", metadata } = stored ?? {};
  return {
    apiVersion,
    kind: typeFacts[type].kind.kind,
    metadata: {
      name: metadata?.name ?? name,
      ...(metadata?.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: { ...spec, ...(template === "" ? {} : { schematic: { cue: { template } } }) },
  };
}

function bareApplication(application: Stored): JsonObject {
  const { apiVersion, kind, metadata } = application;
  const { name, namespace, labels, annotations } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...defined({ namespace, labels, annotations }),
    },
    spec: asJson(application)["spec"] ?? {},
  };
}

export function encodeSnapshot(snapshot: Snapshot): JsonObject {
  const { application, definitions, policies, workflow, referredObjects } = snapshot;
  const fields: JsonObject = {
    application,
    ...Object.fromEntries(definitionTypes.map((type) => [member(type), definitions[type]])),
    policies,
    ...defined({ workflow }),
    ...(referredObjects.length === 0 ? {} : { referredObjects }),
  };
  const { spec: _spec, ...head } = application;
  const large = packed(fields);
  return large === undefined ? fields : { application: head, ...large };
}

/** Unreadable revisions throw. */
export function decodeSnapshot(revision: KubeObject): Snapshot {
  const spec = objectAt(asJson(revision), "spec") ?? {};
  const fields = unpacked(spec) ?? spec;
  if (!isJsonObject(fields)) throw new Error(`revision ${revision.metadata.name ?? ""} cannot be read`);
  const workflow = objectAt(fields, "workflow");
  const objects = (name: string) => objectsIn(objectAt(fields, name));
  return {
    application: objectAt(fields, "application") ?? {},
    definitions: {
      component: objects(member("component")),
      trait: objects(member("trait")),
      policy: objects(member("policy")),
      "workflow-step": objects(member("workflow-step")),
    },
    policies: objects("policies"),
    ...defined({ workflow }),
    referredObjects: objectsAt(fields, "referredObjects"),
    writers: writersOf(revision),
  };
}

const objectsIn = (map: JsonObject | undefined): Readonly<Record<string, JsonObject>> =>
  Object.fromEntries(
    Object.entries(map ?? {}).flatMap(([name, value]) => (isJsonObject(value) ? [[name, value]] : [])),
  );

/** Definitions as the revision has them; others, such as those of added overrides, as they are now. */
export function snapshotDefinitions({ definitions, writers = [] }: Snapshot, others: Definitions): Definitions {
  return {
    async find(type, name, namespace) {
      const kept = Object.hasOwn(definitions[type], name) ? definitions[type][name] : undefined;
      if (kept === undefined) return await others.find(type, name, namespace);
      const own = distinctWriters([...writers, ...notedWriters(kept)]);
      const definition = { ...partsOf(type, kept), name, writers: own };
      return others.complete?.(definition, namespace) ?? definition;
    },
    names: (type, namespace) => others.names(type, namespace),
  };
}

/** Everybody who wrote part of what is rendered; see `actingClient`. */
export const snapshotWriters = ({
  application,
  definitions,
  workflow,
  policies,
  writers = [],
}: Snapshot): readonly Writer[] =>
  distinctWriters([
    ...writers,
    ...notedWriters(application),
    ...definitionTypes.flatMap((type) => Object.values(definitions[type]).flatMap(notedWriters)),
    ...Object.values(policies).flatMap(notedWriters),
    ...(workflow === undefined ? [] : notedWriters(workflow)),
  ]);
