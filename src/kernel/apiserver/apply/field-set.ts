import { getOrAdd } from "#lib/base/index.ts";
import { sortElements } from "./elements.ts";

// Field sets are kept as FieldsV1 writes them, so stored sets need no decoding. Names begin with `f:`, `k:`, `v:`, `i:`
// or are `.`, so plain objects are safe.

/**
 * A set of paths as a trie, `{"f:spec": {"f:image": {}}}`; never edited in place. A node is a member when it has `.` or
 * nothing inside; `{}` as a root is the empty set. Elements are sorted. The functions here return their first argument
 * when nothing changes.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export type ElementPath = readonly string[];

const self = ".";
/** A member with nothing inside, and the empty set. */
export const leaf: FieldSet = Object.freeze({});

export function isEmptySet(set: FieldSet): boolean {
  for (const _element in set) return false;
  return true;
}

export const isMember = (node: FieldSet): boolean => node[self] !== undefined || isEmptySet(node);

export const asMember = (node: FieldSet | undefined): FieldSet =>
  node === undefined || isMember(node) ? (node ?? leaf) : { [self]: leaf, ...node };

/** Undefined for a node with no member. `children` must be sorted. */
function nodeOf(member: boolean, children: readonly (readonly [string, FieldSet])[]): FieldSet | undefined {
  if (children.length === 0) return member ? leaf : undefined;
  const node: Record<string, FieldSet> = member ? { [self]: leaf } : {};
  for (const [element, child] of children) node[element] = child;
  return node;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b)) return a;
  return isEmptySet(a) ? b : unionOfNodes(a, b);
}

/** The union of two nodes of one path, where `{}` is a member. */
export function unionOfNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const changed = new Map<string, FieldSet>();
  let isLarger = false;
  for (const element in b) {
    const theirs = b[element];
    if (theirs === undefined || element === self) continue;
    const ours = a[element];
    const both = ours === undefined ? theirs : unionOfNodes(ours, theirs);
    if (both === ours) continue;
    changed.set(element, both);
    isLarger ||= ours === undefined;
  }
  const member = isMember(a) || isMember(b);
  if (changed.size === 0 && member === isMember(a)) return a;
  const elements = childElements(a);
  if (isLarger) {
    for (const element of changed.keys()) if (a[element] === undefined) elements.push(element);
    sortElements(elements);
  }
  return (
    nodeOf(
      member,
      elements.map((element) => [element, changed.get(element) ?? a[element] ?? leaf]),
    ) ?? leaf
  );
}

/** What is in `a` and not in `b`. A path in `b` removes itself, not what is inside. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet =>
  isEmptySet(a) || isEmptySet(b) ? a : (subtract(a, b, false) ?? leaf);

/** What is in `a` and neither in `b` nor inside a path of `b`. */
export const withoutSubtrees = (a: FieldSet, b: FieldSet): FieldSet =>
  isEmptySet(a) || isEmptySet(b) ? a : (subtract(a, b, true) ?? leaf);

function subtract(a: FieldSet, b: FieldSet, whole: boolean): FieldSet | undefined {
  const member = isMember(a) && !isMember(b);
  let hasChanged = member !== isMember(a);
  const children: [string, FieldSet][] = [];
  for (const element in a) {
    const ours = a[element];
    if (ours === undefined || element === self) continue;
    const theirs = b[element];
    const rest = theirs === undefined ? ours : whole && isMember(theirs) ? undefined : subtract(ours, theirs, whole);
    hasChanged ||= rest !== ours;
    if (rest !== undefined) children.push([element, rest]);
  }
  return hasChanged ? nodeOf(member, children) : a;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return isEmptySet(a) || isEmptySet(b) ? leaf : (intersectNodes(a, b) ?? leaf);
}

function intersectNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const children: [string, FieldSet][] = [];
  for (const element in a) {
    const ours = a[element];
    const theirs = b[element];
    if (ours === undefined || theirs === undefined || element === self) continue;
    const both = intersectNodes(ours, theirs);
    if (both !== undefined) children.push([element, both]);
  }
  return nodeOf(isMember(a) && isMember(b), children);
}

export function onlyBelow(set: FieldSet, element: string): FieldSet {
  const child = set[element];
  return child === undefined ? leaf : { [element]: child };
}

export function childElements(node: FieldSet): string[] {
  const elements: string[] = [];
  for (const element in node) if (element !== self) elements.push(element);
  return elements;
}

export function hasPath(set: FieldSet, path: ElementPath): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) node = node?.[element];
  return path.length > 0 && node !== undefined && isMember(node);
}

/** Every path of the set, a node's own before its children's. */
export function pathsOf(set: FieldSet): readonly ElementPath[] {
  const paths: ElementPath[] = [];
  collectPaths(set, [], paths);
  return paths;
}

function collectPaths(node: FieldSet, at: ElementPath, paths: ElementPath[]): void {
  const elements = childElements(node);
  for (const element of elements) if (isMember(node[element] ?? leaf)) paths.push([...at, element]);
  for (const element of elements) collectPaths(node[element] ?? leaf, [...at, element], paths);
}

interface Draft {
  member: boolean;
  whole: FieldSet | undefined;
  children: Map<string, Draft> | undefined;
}

const newDraft = (): Draft => ({ member: false, whole: undefined, children: undefined });

/** A set under construction; elements may come in any order. */
export class FieldSetBuilder {
  #root: Draft | undefined;

  /** Adds the path and everything in `inside`, which must be sorted. */
  insert(path: ElementPath, inside?: FieldSet): void {
    let draft = (this.#root ??= newDraft());
    for (const element of path) {
      draft.children ??= new Map();
      const next = getOrAdd(draft.children, element, () => newDraft());
      draft = next;
    }
    draft.member = true;
    if (inside !== undefined) draft.whole = draft.whole === undefined ? inside : unionOfNodes(draft.whole, inside);
  }

  build(): FieldSet {
    return this.#root === undefined ? leaf : (finish(this.#root) ?? leaf);
  }
}

function finish({ member, whole, children }: Draft): FieldSet | undefined {
  // Most are: a path ends here.
  if (children === undefined) return asMember(whole);
  const parts: [string, FieldSet][] = [];
  for (const element of sortElements([...children.keys()])) {
    const child = children.get(element);
    const node = child === undefined ? undefined : finish(child);
    if (node !== undefined) parts.push([element, node]);
  }
  const drawn = nodeOf(member, parts);
  return whole === undefined || drawn === undefined ? (drawn ?? whole) : unionOfNodes(drawn, asMember(whole));
}
