import type { ApiClient, Ref } from "#kernel/kit/index.ts";
import { type Environment, type Session, UsageError } from "#kernel/command/index.ts";
import { findKind, findKinds } from "./kinds.ts";
import { readManifests, refOf } from "./manifests.ts";
import { kindHaving } from "./runs.ts";

/** The options that select objects, as in kubectl. */
export interface SelectionOptions {
  readonly filename?: readonly string[];
  readonly selector?: string;
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
  readonly namespace?: string;
}

export const selectionOptions = [
  {
    flags: "-f, --filename <file>",
    summary: "the objects of a file, a folder or - for stdin; may be repeated",
    repeatable: true,
  },
  { flags: "-l, --selector <labels>", summary: "only objects with these labels" },
  { flags: "--all", summary: "all objects of the kind" },
  { flags: "-A, --all-namespaces", summary: "in all namespaces" },
] as const;

/**
 * The objects selected by `KIND NAME…`, `KIND/NAME…`, `KIND[,KIND] -l LABELS`, `KIND --all` or `-f FILE`. Named objects
 * need not exist.
 */
export async function selectObjects(
  { client, namespace }: Session,
  words: readonly string[],
  options: SelectionOptions,
  environment: Pick<Environment, "directory">,
): Promise<readonly Ref[]> {
  const { filename = [], selector, all, allNamespaces } = options;
  const [first, ...names] = words;
  if (first === undefined) {
    if (filename.length === 0) throw new UsageError("name the objects: KIND NAME, KIND/NAME or -f FILE");
    const objects = await readManifests(filename, environment);
    return await Promise.all(objects.map((object) => refOf(client, object, namespace, options.namespace)));
  }
  if (filename.length > 0) throw new UsageError("name objects or files, not both");
  if (first.includes("/")) return await Promise.all(words.map((word) => named(client, namespace, word)));
  const picked = selector !== undefined || all === true;
  if (names.length > 0 && picked) throw new UsageError("name objects, or select them with -l or --all, not both");
  if (names.length > 0) return await Promise.all(names.map((name) => named(client, namespace, `${first}/${name}`)));
  if (!picked) throw new UsageError(`name the objects of kind ${first}, or select them with -l or --all`);
  const types = await Promise.all(first.split(",").map((word) => findKind(client, word)));
  const lists = types.map(async (type) => {
    const scope = type.namespaced && allNamespaces !== true ? { namespace } : {};
    const { items } = await client.list(type, {
      ...scope,
      ...(selector === undefined ? {} : { labelSelector: selector }),
    });
    return items.map(({ metadata }) => refIn(type, metadata.name, metadata.namespace));
  });
  return (await Promise.all(lists)).flat();
}

async function named(client: ApiClient, namespace: string, word: string): Promise<Ref> {
  const [kind = "", name = "", more] = word.split("/");
  if (name === "" || more !== undefined) throw new UsageError(`expected KIND/NAME, found "${word}"`);
  const type = await kindHaving(client, namespace, await findKinds(client, kind), name);
  return refIn(type, name, namespace);
}

const refIn = (type: Ref["type"], name: string, namespace: string | undefined): Ref =>
  type.namespaced && namespace !== undefined ? { type, name, namespace } : { type, name };
