import {
  type Clock,
  isJsonObject,
  jsonEquals,
  type JsonObject,
  type Logger,
  type Millis,
  type Random,
  objectsAt,
  textAt,
  textsAt,
} from "#lib/base/index.ts";
import { CustomResourceDefinition, type KubeObject, type Stored, asJson } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { foreignDefinition, storageDowngrade } from "./errors.ts";
import { waitFor } from "./wait-for.ts";
import { getOrUndefined, retryOnConflict } from "./writes.ts";

export interface CrdInstallOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly random: Random;
  readonly adopt?: boolean;
  /** Default: 30 s. */
  readonly timeout?: Millis;
}

/** `foreign`: belongs to others and was left alone. */
export type CrdOutcome = "created" | "updated" | "unchanged" | "foreign";

/** Marks definitions that Slipway installed and may update. */
export const managedByLabel = "app.kubernetes.io/managed-by";
const us = "slipway";

/**
 * Installs definitions and waits until each is served. A definition without our label is left alone with a warning
 * unless `adopt`. One that would drop a version in which objects are stored is refused (`crd-downgrade`).
 */
export async function installCrds(
  client: ApiClient,
  definitions: readonly KubeObject[],
  options: CrdInstallOptions,
): Promise<ReadonlyMap<string, CrdOutcome>> {
  const installed = await Promise.all(
    definitions.map(async (definition) => {
      const name = definition.metadata.name ?? "";
      const outcome = await retryOnConflict(options, () => install(client, definition, name, options));
      await established(client, name, options);
      return [name, outcome] as const;
    }),
  );
  return new Map(installed);
}

async function install(
  client: ApiClient,
  definition: KubeObject,
  name: string,
  { adopt, log, signal }: CrdInstallOptions,
): Promise<CrdOutcome> {
  const present = await getOrUndefined(client, { type: CustomResourceDefinition, name }, signal);
  if (present === undefined) {
    await client.create(CustomResourceDefinition, asOurs(definition), { signal });
    return "created";
  }
  if (present.metadata.labels?.[managedByLabel] !== us && !adopt) {
    const { message, hint } = foreignDefinition(name);
    log.warn(message, { hint });
    return "foreign";
  }
  const lost = storedVersions(present).filter((version) => !declaredVersions(definition).includes(version));
  if (lost.length > 0) throw storageDowngrade(name, lost);
  const wanted = merged(present, asOurs(definition));
  if (jsonEquals(wanted, present)) return "unchanged";
  await client.update(CustomResourceDefinition, wanted, { signal });
  return "updated";
}

export const asOurs = <T extends KubeObject>(definition: T): T => ({
  ...definition,
  metadata: { ...definition.metadata, labels: { ...definition.metadata.labels, [managedByLabel]: us } },
});

/** The present definition with our spec, labels and annotations. */
function merged(present: Stored, wanted: KubeObject): Stored {
  const labels = { ...present.metadata.labels, ...wanted.metadata.labels };
  const annotations = { ...present.metadata.annotations, ...wanted.metadata.annotations };
  const metadata = {
    ...present.metadata,
    labels,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  // Servers add defaults to the spec: only declared members are compared and replaced.
  const spec =
    isJsonObject(present.spec) && isJsonObject(wanted.spec) ? overlaid(present.spec, wanted.spec) : wanted.spec;
  return { ...present, metadata, spec };
}

function overlaid(present: JsonObject, wanted: JsonObject): JsonObject {
  const members = new Map(Object.entries(present));
  for (const [key, value] of Object.entries(wanted)) {
    const old = members.get(key);
    // Schemas are replaced as a whole: a removed property must go.
    members.set(key, key !== "schema" && isJsonObject(old) && isJsonObject(value) ? overlaid(old, value) : value);
  }
  return Object.fromEntries(members);
}

async function established(client: ApiClient, name: string, options: CrdInstallOptions): Promise<void> {
  const { clock, signal, random, timeout = 30_000 } = options;
  const ref = { type: CustomResourceDefinition, name };
  await waitFor(client, ref, isEstablished, { clock, signal, random, timeout });
}

const isEstablished = (definition: KubeObject | undefined): boolean =>
  definition !== undefined &&
  objectsAt(asJson(definition), "status", "conditions").some(
    ({ type, status }) => type === "Established" && status === "True",
  );

const storedVersions = (definition: KubeObject): readonly string[] =>
  textsAt(asJson(definition), "status", "storedVersions");

const declaredVersions = (definition: KubeObject): readonly string[] =>
  objectsAt(asJson(definition), "spec", "versions").flatMap((version) => textAt(version, "name") ?? []);
