import { defined, type JsonObject } from "#lib/base/index.ts";
import { type ApiClient, createOrUpdate, getOrUndefined } from "#kernel/kit/index.ts";
import { apiVersionOf, asJson, isAlreadyExists, type KubeObject, Namespace, type Stored } from "#kernel/model/index.ts";
import type { Clock } from "#lib/base/index.ts";
import type { Definition } from "./definition.ts";
import type { Objects } from "./find.ts";
import { typeFacts } from "./types.ts";
import { jsonHash } from "../revision/hash.ts";

// Shipped definitions are objects of the system namespace, so that clients see them. A definition that somebody else
// wrote or changed there is theirs: it is used, and never overwritten.

/** Hash of the specification that was installed. */
export const shippedAnnotation = "slipway.dev/shipped";

export interface InstallParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly stored: Readonly<Record<Definition["type"], Objects>>;
  readonly systemNamespace: string;
  readonly signal: AbortSignal;
}

/** Creates missing definitions and updates those of older versions. Returns how many objects were written. */
export async function installShipped(shipped: readonly Definition[], parts: InstallParts): Promise<number> {
  const { client, clock, stored, systemNamespace: namespace, signal } = parts;
  const due = shipped.filter(({ type, name, template }) => {
    const present = stored[type].get(`${namespace}/${name}`);
    return template !== "" && (present === undefined || isOutdated(present, hashOfShipped(shipped, type, name)));
  });
  if (due.length > 0) await ensureNamespace(client, namespace, signal);
  for (const definition of due) {
    const { kind: type } = typeFacts[definition.type];
    const wanted = objectOfDefinition(definition, namespace);
    await createOrUpdate(
      client,
      { type, namespace, name: definition.name },
      (present) => (present === undefined ? wanted : isOurs(present) ? withContent(present, wanted) : present),
      { clock, signal, fieldManager: "slipway-vela" },
    );
  }
  return due.length;
}

const hashOfShipped = (shipped: readonly Definition[], type: string, name: string): string => {
  const definition = shipped.find((known) => known.type === type && known.name === name);
  return definition === undefined ? "" : jsonHash(specOf(definition));
};

const annotationOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[shippedAnnotation];

/** Installed by some version, and unchanged since. */
const isOurs = (object: KubeObject): boolean => annotationOf(object) === jsonHash(asJson(object)["spec"] as JsonObject);

const isOutdated = (object: Stored, hash: string): boolean => annotationOf(object) !== hash && isOurs(object);

const withContent = (present: Stored, wanted: KubeObject): KubeObject => ({
  ...present,
  spec: wanted.spec,
  metadata: { ...present.metadata, annotations: { ...present.metadata.annotations, ...wanted.metadata.annotations } },
});

const specOf = ({ spec, template }: Definition): JsonObject => ({ ...spec, schematic: { cue: { template } } });

/** A definition as an object. */
export function objectOfDefinition(definition: Definition, namespace: string): KubeObject {
  const { kind } = typeFacts[definition.type];
  const spec = specOf(definition);
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name: definition.name,
      namespace,
      ...defined({ labels: definition.labels }),
      annotations: { ...definition.annotations, [shippedAnnotation]: jsonHash(spec) },
      ...defined({ labels: definition.labels }),
    },
    spec,
  };
}

async function ensureNamespace(client: ApiClient, name: string, signal: AbortSignal): Promise<void> {
  if ((await getOrUndefined(client, { type: Namespace, name }, signal)) !== undefined) return;
  const namespace = { apiVersion: apiVersionOf(Namespace), kind: Namespace.kind, metadata: { name } };
  try {
    await client.create(Namespace, namespace, { signal });
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
}
