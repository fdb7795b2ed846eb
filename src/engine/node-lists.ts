import type { NodeSpec } from "./graph.ts";

/** Every id depends on the one before it. */
export const chain = (ids: readonly string[]): NodeSpec[] =>
  ids.map((id, at) => ({ id, dependsOn: ids.slice(Math.max(0, at - 1), at) }));

// No document can hold this character in a name, so a barrier never meets a step.
const barrierPrefix = "\u0000barrier/";

/** Every step of a group depends on every one of the group before, through a barrier: n + m edges, not n * m. */
export function stages(groups: readonly (readonly string[])[]): NodeSpec[] {
  const nodes: NodeSpec[] = [];
  let before: readonly string[] = [];
  for (const [at, group] of groups.filter((members) => members.length > 0).entries()) {
    if (before.length > 0) {
      const id = `${barrierPrefix}${at}`;
      nodes.push({ id, dependsOn: before, barrier: true });
      before = [id];
    }
    for (const member of group) nodes.push({ id: member, dependsOn: before });
    before = group;
  }
  return nodes;
}

/** Order of keys by their UTF-8 bytes: the declaration order of steps that a document holds in a map. */
export function compareBytes(a: string, b: string): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const x = a.charCodeAt(at);
    const y = b.charCodeAt(at);
    if (x !== y) return byteRank(x) - byteRank(y);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above U+FFFF, so they rank above the units U+E000 to U+FFFF.
const byteRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
