import type { ApiClient } from "#kernel/kit/index.ts";
import { nearest } from "#lib/text/index.ts";
import { qualifiedResource, type ResourceType } from "#kernel/model/index.ts";
import { UsageError } from "./exit-codes.ts";

/** Every word a kind may be called by: plural, singular, short names, with or without the group. */
export const namesOf = (type: ResourceType): readonly string[] => {
  const plain = [type.plural, type.singular ?? type.kind.toLowerCase(), ...(type.shortNames ?? [])];
  return type.group === "" ? plain : [...plain, ...plain.map((name) => `${name}.${type.group}`)];
};

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
  const suggestion = nearest(
    wanted,
    types.flatMap((type) => [type.plural, ...(type.shortNames ?? [])]),
  );
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
