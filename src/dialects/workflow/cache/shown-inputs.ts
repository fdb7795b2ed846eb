import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";

// An entry shows the inputs of its step, so that people can see why another one ran. It outlives the Workflow, so it is
// bounded and shows nothing that looks like a secret.

/** Limits of fields, values and paths: 112 KiB in all, usually a hundredth of that. */
const mostFields = 256;
const longestText = 256;
const longestPath = 192;

/** Names of fields and variables that may hold secrets. */
const secretName = /pass(?:word|wd|phrase)?|secret|token|credential|auth|api[-_]?key|private[-_]?key|cookie/i;
/** Values that are secrets by their form: authorization headers, PEM keys, URLs with passwords. */
const secretValue = /\b(?:bearer|basic)\s+\S|-----BEGIN|:\/\/[^/\s@]*:[^/\s@]*@|\b(?:password|token|secret)\b\s*[=:]/i;

/** Replaces a text; equal digests mean equal texts. */
const digestOf = (text: string): string => `digest ${hashName([text], 16)} of ${text.length} characters`;

/**
 * The leaves of a value by path, such as `container.env[LEVEL].value`: named list members go by name, so that adding
 * one moves no other. Long texts and possible secrets become digests; everything beyond the limit is one digest under
 * `…`. Deterministic.
 */
export function shownInputs(value: JsonValue): Readonly<Record<string, string>> {
  const leaves = [...leavesOf(value, "", false)].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const shown = leaves.slice(0, mostFields - 1);
  const rest = leaves.slice(mostFields - 1);
  const [only] = rest;
  if (rest.length === 1 && only !== undefined) shown.push(only);
  else if (rest.length > 1) shown.push(["…", `${rest.length} more fields, ${digestOf(JSON.stringify(rest))}`]);
  return Object.fromEntries(shown);
}

function* leavesOf(value: JsonValue, path: string, isSecret: boolean): Generator<readonly [string, string]> {
  if (Array.isArray(value)) {
    const names = namesOf(value);
    for (const [index, member] of value.entries()) {
      const name = names?.[index] ?? String(index);
      yield* leavesOf(member, `${path}[${name}]`, isSecret || (names !== undefined && secretName.test(name)));
    }
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield* leavesOf(member, path === "" ? name : `${path}.${name}`, isSecret || secretName.test(name));
    }
  } else yield [pathText(path), shownText(value, isSecret)];
}

function namesOf(list: readonly JsonValue[]): readonly string[] | undefined {
  const names = list.flatMap((member) => (isJsonObject(member) ? (member["name"] ?? []) : []));
  const texts = names.filter((name) => typeof name === "string");
  return texts.length === list.length && new Set(texts).size === list.length ? texts : undefined;
}

function shownText(value: JsonValue, isSecret: boolean): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return isSecret || text.length > longestText || secretValue.test(text) ? digestOf(text) : text;
}

const pathText = (path: string): string =>
  path.length <= longestPath ? path : `${path.slice(0, longestPath - 20)}…${hashName([path], 16)}`;
