import type { RebarEvent } from "../store.ts";

/** One part of a filter; undefined: `*`. */
type Part = ReadonlySet<string> | undefined;

export interface EventFilter {
  readonly types: Part;
  readonly actions: Part;
  readonly keys: Part;
}

/** `TYPE.ACTION.KEY`, each `*` or a comma list; the key may contain dots. Undefined for anything else. */
export function readFilter(text: string): EventFilter | undefined {
  const [, type, action, key] = /^([^.]+)\.([^.]+)\.(.+)$/s.exec(text) ?? [];
  if (type === undefined || action === undefined || key === undefined) return undefined;
  return { types: partOf(type), actions: partOf(action), keys: partOf(key) };
}

const partOf = (text: string): Part =>
  text === "*" ? undefined : new Set(text.split(",").map((word) => unescaped(word).trim()));

const escapes: Readonly<Record<string, string>> = { "1": ".", "2": ",", "3": "*" };
const unescaped = (word: string): string =>
  word.includes("\\") ? word.replace(/\\([123])/g, (_all, digit: string) => escapes[digit] ?? "") : word;

type Named = Pick<RebarEvent, "Type" | "Action" | "Key">;

export const matches = ({ types, actions, keys }: EventFilter, { Type, Action, Key }: Named): boolean =>
  (types === undefined || types.has(Type)) &&
  (actions === undefined || actions.has(Action)) &&
  (keys === undefined || keys.has(Key));
