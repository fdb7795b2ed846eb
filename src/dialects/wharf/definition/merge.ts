// Merge keys are how people keep what several steps have in common in one place. The original keeps both copies of a member that is merged and
// overridden, so that such a step runs twice; the documents of YAML say that the map's own member is the only one.

import type { Reporter } from "./diagnostics.ts";
import { kindOf, type MapNode, type Member, type Node } from "./node.ts";

/**
 * The members of a map with those of its merge keys, which come first. Its own members win over merged ones wherever the merge key stands,
 * and earlier maps of a list over later ones, so that nothing is there twice: a step that is merged and overridden runs once.
 */
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

/** What a merge key holds: a map, or a list of maps. */
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
