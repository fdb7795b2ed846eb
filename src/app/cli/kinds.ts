import type { ApiClient } from "#kernel/kit/index.ts";
import { nearest } from "#lib/text/index.ts";
import { qualifiedResource, type ResourceType } from "#kernel/model/index.ts";
import { UsageError } from "#kernel/command/index.ts";

/** Every word a kind may be called by: plural, singular, short names, with or without the group. */
export const namesOf = (type: ResourceType): readonly string[] => {
  const plain = [type.plural, type.singular ?? type.kind.toLowerCase(), ...(type.shortNames ?? [])];
  return type.group === "" ? plain : [...plain, ...plain.map((name) => `${name}.${type.group}`)];
};

/**
 * Every kind a word may mean, one of each name: several groups have a kind of one name, and users of a language call its runs by names that
 * are another's here. The first is the one that `findKind` finds.
 */
export async function findKinds(client: ApiClient, word: string): Promise<readonly ResourceType[]> {
  const first = await findKind(client, word);
  const wanted = word.toLowerCase();
  const { loadDialects } = await import("#dialects/index.ts");
  const runs = (await loadDialects()).map((dialect) => dialect.runs);
  const isAlias = ({ group, kind }: ResourceType): boolean =>
    runs.some(
      ({ aliases = [], kinds }) =>
        aliases.includes(wanted) && kinds.some((known) => known.group === group && known.kind === kind),
    );
  const found = (await client.resourceTypes()).filter((type) => namesOf(type).includes(wanted) || isAlias(type));
  // Of several versions the first is the one that the server prefers.
  const byName = new Map([first, ...found].toReversed().map((type) => [qualifiedResource(type), type]));
  return [...byName.values()].toReversed();
}

/**
 * The kind a word names, as kubectl takes it: `wf`, `workflow`, `Workflows`, `workflows.slipway.dev`; the first
 * served one when several bear the name. Rejects with a UsageError that names what is near, or else everything that is
 * served.
 */
export async function findKind(client: ApiClient, word: string): Promise<ResourceType> {
  const types = await client.resourceTypes();
  const wanted = word.toLowerCase();
  const found = types.find((type) => namesOf(type).includes(wanted));
  if (found !== undefined) return found;
  const suggestion = nearest(wanted, types.flatMap(namesOf));
  const problem = `the server serves no kind "${word}"`;
  if (suggestion !== undefined) throw new UsageError(`${problem}; did you mean "${suggestion}"?`);
  throw new UsageError(problem, `it serves: ${types.map(qualifiedResource).sort().join(", ")}`);
}

/**
 * `workflow/hello workflow/other` or `workflow hello other`, as kubectl takes both, but not mixed and only of one
 * kind.
 */
export function splitNames(words: readonly string[]): { readonly kind: string; readonly names: readonly string[] } {
  const [first = "", ...rest] = words;
  const slash = first.indexOf("/");
  if (slash < 0) return { kind: first, names: rest };
  const kind = first.slice(0, slash);
  const names = words.map((word) => {
    const [otherKind, name] = word.split("/");
    if (otherKind !== kind || name === undefined || name === "")
      throw new UsageError(`expected ${kind}/NAME, found "${word}"`);
    return name;
  });
  return { kind, names };
}
