import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";

// An entry tells what its step was carried out with, for people who ask why another one was carried out again. It outlives the
// Workflow, so that it is bounded, and holds nothing in plain that looks like a secret.

/** Fields of one entry; characters of a value and of a path. Together at most 112 KiB, and a hundredth of that as a rule. */
const mostFields = 256;
const longestText = 256;
const longestPath = 192;

/** Names of fields and variables whose values are not for everybody. */
const secretName = /pass(?:word|wd|phrase)?|secret|token|credential|auth|api[-_]?key|private[-_]?key|cookie/i;
/** Values that say themselves what they are: authorization headers, keys in PEM, addresses with a password. */
const secretValue = /\b(?:bearer|basic)\s+\S|-----BEGIN|:\/\/[^/\s@]*:[^/\s@]*@|\b(?:password|token|secret)\b\s*[=:]/i;

/** Instead of a text: equal digests are equal texts, and nothing more can be told. */
const digestOf = (text: string): string => `digest ${hashName([text], 16)} of ${text.length} characters`;

/**
 * The leaves of a value by their path, as `container.env[LEVEL].value`: members of a list that have a name go by it, so that one more of
 * them moves no other. Long texts and what may be secret are digests. The same value always gives the same. What is beyond the bound is one
 * digest under `…`.
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

/** Of a list in which every member has a name of its own. */
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
