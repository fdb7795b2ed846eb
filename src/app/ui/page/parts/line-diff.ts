export interface DiffLine {
  readonly is: "same" | "added" | "removed" | "gap";
  readonly text: string;
}

/** Longer differences are shown as all lines of one text after all of the other. */
const mostCompared = 1500;
const contextLines = 3;

/** What changes between two texts, by lines, with three lines around each change. Empty if nothing does. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (text: string): DiffLine => ({ is: "same", text });
  const all = [
    ...a.slice(0, start).map(same),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
  return all.every(({ is }) => is === "same") ? [] : withGaps(all);
}

/** By the longest common subsequence. */
function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const removed = (text: string): DiffLine => ({ is: "removed", text });
  const added = (text: string): DiffLine => ({ is: "added", text });
  if (a.length > mostCompared || b.length > mostCompared) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]];
    if (left !== undefined && left === right) {
      lines.push({ is: "same", text: left });
      i += 1;
      j += 1;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(left));
      i += 1;
    } else if (right !== undefined) {
      lines.push(added(right));
      j += 1;
    }
  }
  return lines;
}

function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  for (const [index, { is }] of lines.entries())
    if (is !== "same") isNear.fill(1, Math.max(0, index - contextLines), index + contextLines + 1);
  return lines.flatMap((line, index): readonly DiffLine[] => {
    if (isNear[index] === 1) return [line];
    return index === 0 || isNear[index - 1] === 1 ? [{ is: "gap", text: "⋯" }] : [];
  });
}

const lineOfVersion = /^ {2}resourceVersion: .*$/m;

/** The text on top of another version of its object: only the version is taken from there. */
export function onVersionOf(text: string, newer: string): string {
  const version = lineOfVersion.exec(newer)?.[0];
  return version === undefined ? text : text.replace(lineOfVersion, () => version);
}
