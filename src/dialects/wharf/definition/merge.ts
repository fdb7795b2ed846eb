// Unlike the original, which keeps both copies of an overridden member and runs such a step twice, YAML's rule
// applies: the map's own member wins.

import type { Reporter } from "./diagnostics.ts";
import { kindOf, type MapNode, type Member, type Node } from "./node.ts";

/** Merged members come first. Own members win wherever the merge key is, and earlier maps win over later ones. */
export function mergeMembers(
  own: readonly Member[],
  sources: readonly Node[],
  scope: string,
  reporter: Reporter,
): readonly Member[] {
  if (sources.length === 0) return own;
  const names = new Set(own.map(({ name }) => name));
  const merged: Member[] = [];
  for (const map of sources.flatMap((source) => mapsOf(source, scope, reporter))) {
    for (const member of map.members) {
      if (names.has(member.name)) continue;
      names.add(member.name);
      merged.push(member);
    }
  }
  return [...merged, ...own];
}

function mapsOf(source: Node, scope: string, reporter: Reporter): readonly MapNode[] {
  if (source.kind === "map") return [source];
  const wrong = (found: Node): readonly MapNode[] => {
    const message = `expected a map or a list of maps to merge, found ${kindOf(found)}`;
    reporter.error({ scope, at: found.at }, "type", message);
    return [];
  };
  if (source.kind !== "list") return wrong(source);
  return source.items.flatMap((item) => (item.kind === "map" ? [item] : wrong(item)));
}
