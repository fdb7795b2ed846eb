/**
 * Estimates how many instructions a pattern compiles to, without compiling it: one per character or class, multiplied
 * by the counted repetitions around it (`x{2,50}`). Wrong patterns get some number; the compiler refuses them. Linear
 * in the pattern. Needed because a pattern of few characters can compile to hundreds of megabytes.
 */
export function estimateSize(pattern: string): number {
  // One entry per open group: what came before its last element, and that element, to which a repetition applies.
  const groups: Group[] = [{ done: 0, last: 0 }];
  for (let at = 0; at < pattern.length; ) {
    const group = groups.at(-1) ?? { done: 0, last: 0 };
    const [element = ""] = matchAt(pattern, at);
    at += Math.max(1, element.length);
    const repeat = /^\{(\d+)(?:,(\d*))?\}$/.exec(element);
    if (element === "(") groups.push({ done: 0, last: 0 });
    else if (element === ")") closeGroup(groups);
    else if (repeat !== null) group.last *= Math.max(1, Number(repeat[2] || repeat[1]));
    else if (!"*+?|".includes(element)) {
      group.done += group.last;
      group.last = 1;
    }
  }
  return groups.reduce((sum, group) => sum + group.done + group.last, 0);
}

interface Group {
  /** Instructions of everything in front of the last element. */
  done: number;
  /** Instructions of the last element, which a repetition behind it multiplies. */
  last: number;
}

// A class, an escape with its name in braces, a counted repetition, a quoted run's start, or a single character.
const elements = /\[\^?\]?(?:[^\]\\]|\\[^])*\]|\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\[^]|\{\d+(?:,\d*)?\}|[^]/y;

function matchAt(pattern: string, at: number): readonly string[] {
  elements.lastIndex = at;
  return elements.exec(pattern) ?? [];
}

function closeGroup(groups: Group[]): void {
  if (groups.length < 2) return;
  const inner = groups.pop();
  const outer = groups.at(-1);
  if (inner === undefined || outer === undefined) return;
  outer.done += outer.last;
  outer.last = inner.done + inner.last + 2;
}
