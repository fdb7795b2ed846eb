import { recover } from "#lib/base/index.ts";
import type { Described, Dialect, Neighbours } from "#kernel/dialect/index.ts";
import type { RunView } from "#engine/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { isForbidden, type KubeObject, type ResourceType, splitApiVersion } from "#kernel/model/index.ts";

/** The dialect whose runs have this kind. Loads all dialects. */
export async function dialectOf({
  group,
  kind,
}: {
  readonly group: string;
  readonly kind: string;
}): Promise<Dialect | undefined> {
  const { loadDialects } = await import("#dialects/index.ts");
  return (await loadDialects()).find(({ runs }) =>
    runs.kinds.some((known) => known.group === group && known.kind === kind),
  );
}

/** A dialect's description of a kind that is not a run. */
export async function describedOf({ group, kind }: ResourceType): Promise<Described | undefined> {
  const { loadDialects } = await import("#dialects/index.ts");
  return (await loadDialects())
    .flatMap(({ described }) => described)
    .find((known) => known.group === group && known.kind === kind);
}

/** Whether an object is a run of this dialect. */
export const isRunOf = ({ runs }: Dialect, { apiVersion, kind }: KubeObject): boolean =>
  runs.kinds.some((known) => known.kind === kind && known.group === splitApiVersion(apiVersion).group);

/** The view of a run, including its children. */
export function viewOf(dialect: Dialect, object: KubeObject, children: readonly KubeObject[] = []): RunView {
  return dialect.runs.view(object, children);
}

/** The objects that the run owns, of the kinds its steps have. One list for each kind that is still served. */
export async function childrenOf(client: ApiClient, run: KubeObject, dialect: Dialect): Promise<readonly KubeObject[]> {
  const kinds = new Map(
    viewOf(dialect, run).children.map(({ apiVersion, kind }) => [`${apiVersion}/${kind}`, { apiVersion, kind }]),
  );
  return await controlledBy(client, run, [...kinds.values()]);
}

/** The objects of these kinds that the object owns and the caller may list. One list for each kind. */
export async function controlledBy(
  client: ApiClient,
  owner: KubeObject,
  kinds: readonly { readonly apiVersion: string; readonly kind: string }[],
): Promise<readonly KubeObject[]> {
  const { namespace } = owner.metadata;
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind }) => {
      const type = await client.resourceType(apiVersion, kind);
      if (type === undefined) return [];
      const scope = type.namespaced && namespace !== undefined ? { namespace } : {};
      return await client.list(type, scope).then(
        ({ items }) => items,
        (thrown: unknown) => {
          // The caller may see a run but not its children.
          if (isForbidden(thrown)) return [];
          throw thrown;
        },
      );
    }),
  );
  return lists.flat().filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid));
}

/**
 * Other objects that the dialect shows with a run, as far as the caller may read them: of all namespaces, or of the
 * run's own if the caller may list no others.
 */
export async function neighboursOf(
  client: ApiClient,
  run: KubeObject,
  { runs }: Dialect,
): Promise<{ readonly found: readonly KubeObject[]; readonly hidden: readonly string[] }> {
  const hidden: string[] = [];
  const found = await Promise.all(
    (runs.neighbours?.(run) ?? []).map(async (wanted) => {
      const seen = await readNeighbours(client, run, wanted);
      if (seen === undefined) hidden.push(wanted.kind);
      return seen ?? [];
    }),
  );
  return { found: found.flat(), hidden };
}

/** Undefined if the caller may not read them or the kind is not served. */
async function readNeighbours(
  client: ApiClient,
  { metadata: { namespace = "default" } }: KubeObject,
  { apiVersion, kind, names }: Neighbours,
): Promise<readonly KubeObject[] | undefined> {
  const type = await client.resourceType(apiVersion, kind);
  if (type === undefined) return undefined;
  const place = type.namespaced ? { namespace } : {};
  const reads =
    names === undefined
      ? [() => client.list(type).then(({ items }) => items), () => client.list(type, place).then(({ items }) => items)]
      : [
          async () =>
            (await Promise.all(names.map((name) => getOrUndefined(client, { type, name, ...place })))).flatMap(
              (one) => one ?? [],
            ),
        ];
  for (const read of reads) {
    try {
      return await read();
    } catch (thrown) {
      if (!isForbidden(thrown)) throw thrown;
    }
  }
  return undefined;
}

/** Undefined if the object does not exist or the caller may not read it. */
export async function readIfVisible(
  client: ApiClient,
  { type, namespace, name }: { readonly type: ResourceType; readonly namespace: string; readonly name: string },
) {
  return await getOrUndefined(client, { type, name, ...(type.namespaced ? { namespace } : {}) }).catch(
    recover(isForbidden, undefined),
  );
}
