import type { ApiClient } from "#kernel/kit/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import { qualifiedResource, type ResourceType } from "#kernel/model/index.ts";
import { UsageError } from "#kernel/command/index.ts";

/** All words for a kind: plural, singular and short names, with or without the group. */
export const namesOf = (type: ResourceType): readonly string[] => {
  const plain = [type.plural, type.singular ?? type.kind.toLowerCase(), ...(type.shortNames ?? [])];
  return type.group === "" ? plain : [...plain, ...plain.map((name) => `${name}.${type.group}`)];
};

/**
 * Every kind a word may mean: several groups may have a kind of one name, and dialects have aliases. The first is the
 * one that `findKind` finds.
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
  // The first of several versions is the one the server prefers.
  const byName = new Map([first, ...found].toReversed().map((type) => [qualifiedResource(type), type]));
  return [...byName.values()].toReversed();
}

/**
 * The first served kind that a word names, as in kubectl: `wf`, `workflow`, `Workflows`, `workflows.slipway.dev`.
 * Rejects with a UsageError that suggests a kind, or says how to list them.
 */
export async function findKind(client: ApiClient, word: string): Promise<ResourceType> {
  const types = await client.resourceTypes();
  const wanted = word.toLowerCase();
  const found = types.find((type) => namesOf(type).includes(wanted));
  if (found !== undefined) return found;
  const suggestion = didYouMean(wanted, types.flatMap(namesOf));
  const problem = `the server serves no kind "${word}"`;
  if (suggestion !== undefined) throw new UsageError(`${problem}; ${suggestion}`);
  throw new UsageError(problem, "all kinds: kubectl api-resources");
}

/** Splits `workflow/hello workflow/other` or `workflow hello other`; refuses a mix, and several kinds. */
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
