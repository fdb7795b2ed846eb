import type { ApiClient } from "#kernel/kit/index.ts";
import {
  ApiError,
  asJson,
  isInvalid,
  isNotFound,
  type KubeObject,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { type Difference, differencesOf } from "./differences.ts";
import { UsageError } from "#kernel/command/index.ts";

/** What a document would do to the object of its name. */
export interface DocumentDiff {
  readonly kind: string;
  readonly name: string;
  /** `refused`: the server would not take the change, and `refusals` are why; the differences are there as far as they can be told. */
  readonly change: "none" | "create" | "update" | "refused";
  readonly differences: readonly Difference[];
  readonly refusals: readonly string[];
}

/**
 * Asks the server what would become of the live object if the document took its place, without storing anything: defaults and refusals
 * are the server's own. `name` is that of another object of the kind. Nothing is said of whether an object could be created.
 */
export async function diffDocument(
  client: ApiClient,
  object: KubeObject,
  own: string,
  name = object.metadata?.name,
): Promise<DocumentDiff> {
  const { apiVersion, kind } = object;
  if (name === undefined)
    throw new UsageError(`a ${kind} without a name is a new one each time: name a run to compare it with`);
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) throw new UsageError(`the control plane serves no ${apiVersion} ${kind}`);
  const place = type.namespaced ? { namespace: object.metadata.namespace ?? own } : {};
  const live = await client.get({ type, name, ...place }).catch((thrown: unknown) => {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  });
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
 * Where a change differs that the server refuses: it is asked about a new object of the same content, which has its defaults and takes
 * nobody's place. None where that is refused as well: without defaults nobody could tell what was left out from what was taken away.
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

/** Metadata stay those of the live object; labels and annotations of the document are added, because others write theirs there too. */
function inPlaceOf(live: Stored, object: KubeObject): Stored {
  const { labels, annotations } = object.metadata;
  const metadata = {
    ...live.metadata,
    ...(labels === undefined ? {} : { labels: { ...live.metadata.labels, ...labels } }),
    ...(annotations === undefined ? {} : { annotations: { ...live.metadata.annotations, ...annotations } }),
  };
  return { ...object, metadata };
}
