import { isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { ApiError, asJson, isInvalid, type KubeObject, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { UsageError } from "#kernel/command/index.ts";

export interface DocumentDiff {
  readonly kind: string;
  readonly name: string;
  /** `refused`: the server rejects the change, for the reasons in `refusals`. */
  readonly change: "none" | "create" | "update" | "refused";
  readonly differences: readonly Difference[];
  readonly refusals: readonly string[];
}

/**
 * Compares the live object with what the server would store for the document, with a dry run: defaults and refusals are
 * the server's. `name` selects another object of the kind.
 */
export async function diffDocument(
  client: ApiClient,
  object: KubeObject,
  own: string,
  name = object.metadata?.name,
): Promise<DocumentDiff> {
  const { apiVersion, kind } = object;
  if (name === undefined)
    throw new UsageError(`a ${kind} without a name always creates a new object: name a run to compare it with`);
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) throw new UsageError(`the control plane serves no ${apiVersion} ${kind}`);
  const place = type.namespaced ? { namespace: object.metadata.namespace ?? own } : {};
  const live = await getOrUndefined(client, { type, name, ...place });
  const about = { kind, name, differences: [], refusals: [] };
  if (live === undefined) return { ...about, change: "create" };
  const wanted = inPlaceOf(live, object);
  try {
    const after = await client.update(type, wanted, { dryRun: true });
    const differences = differencesOf(asJson(live), asJson(after));
    return { ...about, change: differences.length === 0 ? "none" : "update", differences };
  } catch (thrown) {
    if (!isInvalid(thrown) || !(thrown instanceof ApiError)) throw thrown;
    const causes = (thrown.details.causes ?? []).map(({ field = "", message = "" }) => `${field}: ${message}`);
    const refusals = causes.length === 0 ? [thrown.message] : causes;
    return { ...about, change: "refused", refusals, differences: await refusedDifferences(client, type, live, wanted) };
  }
}

/**
 * The differences of a refused change, from a dry run that creates a new object of the same content, for its defaults.
 * None if that is refused too: without defaults, omitted and removed fields look alike.
 */
async function refusedDifferences(
  client: ApiClient,
  type: ResourceType,
  live: Stored,
  wanted: Stored,
): Promise<readonly Difference[]> {
  const { name, namespace } = wanted.metadata;
  const metadata = { generateName: `${name}-`, ...(namespace === undefined ? {} : { namespace }) };
  const { status: _live, ...content } = wanted;
  try {
    const made = await client.create(type, { ...content, metadata }, { dryRun: true });
    return differencesOf(asJson(live), asJson({ ...made, metadata: wanted.metadata }));
  } catch (thrown) {
    if (thrown instanceof ApiError) return [];
    throw thrown;
  }
}

/** Keeps the live metadata and adds the document's labels and annotations: others add theirs too. */
function inPlaceOf(live: Stored, object: KubeObject): Stored {
  const { labels, annotations } = object.metadata;
  const metadata = {
    ...live.metadata,
    ...(labels === undefined ? {} : { labels: { ...live.metadata.labels, ...labels } }),
    ...(annotations === undefined ? {} : { annotations: { ...live.metadata.annotations, ...annotations } }),
  };
  return { ...object, metadata };
}

/** One place where two objects differ; an absent value is undefined. */
export interface Difference {
  readonly path: string;
  readonly from?: JsonValue;
  readonly to?: JsonValue;
}

/**
 * Where two objects differ, in the order of paths. Lists are compared as wholes: without keys, a moved item looks like
 * a changed one. Status and server-written metadata are left out.
 */
export function differencesOf(live: JsonObject, wanted: JsonObject): readonly Difference[] {
  return compare(comparable(live), comparable(wanted), "").toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function comparable({ status: _status, metadata, ...rest }: JsonObject): JsonObject {
  const { labels = {}, annotations = {} } = isJsonObject(metadata) ? metadata : {};
  return { ...rest, metadata: { labels, annotations } };
}

function compare(from: JsonValue | undefined, to: JsonValue | undefined, path: string): readonly Difference[] {
  if (isJsonObject(from) && isJsonObject(to)) {
    const names = new Set([...Object.keys(from), ...Object.keys(to)]);
    return [...names].flatMap((name) =>
      compare(own(from, name), own(to, name), path === "" ? name : `${path}.${name}`),
    );
  }
  if (jsonEquals(from, to)) return [];
  return [{ path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
}

const own = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
