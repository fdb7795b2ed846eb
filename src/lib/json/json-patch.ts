import { err, isJsonObject, jsonEquals, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { Draft } from "./draft.ts";
import { formatPointer, getPointer, parsePointer, type PointerTokens } from "./pointer.ts";

/**
 * Why a JSON Patch was refused. `invalid` is a malformed patch, `path` names something that does not exist or cannot
 * take the change, `test` is a failed `test` operation, `limit` a patch that would grow too large.
 */
export interface JsonPatchError {
  readonly kind: "invalid" | "path" | "test" | "limit";
  /** Index of the operation, or absent when the patch as a whole is wrong. */
  readonly operation?: number;
  /** The operation's `path` as given; absent when it has none. */
  readonly path?: string;
  /** Begins with the place: `operation 0 at "/a": the test failed: …`. */
  readonly message: string;
}

/** Bounds on what a patch may cost. Patches come from clients and are applied while a writer waits. */
export interface JsonPatchLimits {
  /** Most operations in one patch; 10,000 unless told. */
  readonly maxOperations?: number;
  /** Most nodes that `copy` and `move` may touch (32 letters are one), against patches that double a document. */
  readonly maxMovedNodes?: number;
  /** Most reference tokens in all paths together; 250,000 unless told. Each is a step through the document. */
  readonly maxTokens?: number;
  /** Deepest nesting an operation may create; 200 unless told. */
  readonly maxDepth?: number;
}

/**
 * Applies a JSON Patch (RFC 6902). Atomic: the document is never changed, and one failed operation refuses the whole
 * patch. Untouched branches are shared with the document. Costs each node on an edited path one copy per patch.
 */
export function applyJsonPatch(
  document: JsonValue,
  patch: unknown,
  limits: JsonPatchLimits = {},
): Result<JsonValue, JsonPatchError> {
  const parts = jsonPatchParts(document, patch, limits);
  for (;;) {
    const part = parts.next();
    if (part.done === true) return part.value;
  }
}

/** Operations of one part, which take a millisecond or two together. */
const operationsOfPart = 500;

/** Like `applyJsonPatch`, part by part: a caller may let others have their turn in between. */
export function* jsonPatchParts(
  document: JsonValue,
  patch: unknown,
  limits: JsonPatchLimits = {},
): Generator<undefined, Result<JsonValue, JsonPatchError>> {
  const maxOperations = limits.maxOperations ?? 10_000;
  if (!Array.isArray(patch)) return err({ kind: "invalid", message: "a JSON patch must be an array of operations" });
  if (patch.length > maxOperations) {
    const message = `a JSON patch may have at most ${maxOperations} operations, found ${patch.length}`;
    return err({ kind: "limit", message });
  }
  const work: Work = {
    draft: new Draft(document),
    nodesLeft: limits.maxMovedNodes ?? 100_000,
    tokensLeft: limits.maxTokens ?? 250_000,
    maxDepth: limits.maxDepth ?? 200,
  };
  for (const [index, operation] of patch.entries()) {
    if (index > 0 && index % operationsOfPart === 0) yield;
    const done = applyOperation(work, operation);
    if (!done.ok) return err(withPlace(done.error, index, operation));
    if (work.draft.shifted > mostShifted) {
      return err(withPlace({ kind: "limit", message: "the patch moves too many items" }, index, operation));
    }
  }
  return ok(work.draft.root);
}

/** Items that insertions and removals may push along. */
const mostShifted = 100_000_000;

interface Work {
  readonly draft: Draft;
  readonly maxDepth: number;
  /** What `copy` and `move` may still touch; the sum over the whole patch is bounded, not each operation. */
  nodesLeft: number;
  tokensLeft: number;
}
/** A JsonPatchError before it knows its operation. */
interface Refusal {
  readonly kind: JsonPatchError["kind"];
  readonly message: string;
}
type Step = Result<void, Refusal>;

const done: Step = ok(undefined);
const refuse = (kind: Refusal["kind"], message: string): Result<never, Refusal> => err({ kind, message });
const fromDraft = (result: Result<void, string>): Step => (result.ok ? done : refuse("path", result.error));

/** The refusal in the words users see. */
function withPlace(refusal: Refusal, index: number, operation: unknown): JsonPatchError {
  const path = isJsonObject(operation) ? ownText(operation, "path") : undefined;
  const place = path === undefined ? `operation ${index}` : `operation ${index} at ${JSON.stringify(path)}`;
  const located = { kind: refusal.kind, operation: index, message: `${place}: ${refusal.message}` };
  return path === undefined ? located : { ...located, path };
}

/** One operation on the draft. Members it does not know are ignored (RFC 6902 section 4). */
function applyOperation(work: Work, operation: unknown): Step {
  if (!isJsonObject(operation)) return refuse("invalid", "an operation must be an object");
  const path = pointerMember(work, operation, "path");
  if (!path.ok) return path;
  const op = ownText(operation, "op") ?? "";
  switch (op) {
    case "add":
    case "replace":
      return put(work, op, path.value, ownMember(operation, "value"));
    case "test":
      return test(work, path.value, ownMember(operation, "value"));
    case "remove":
      return fromDraft(work.draft.remove(path.value));
    case "move":
    case "copy": {
      const from = pointerMember(work, operation, "from");
      return from.ok ? transfer(work, op, from.value, path.value) : from;
    }
    default: {
      const found = JSON.stringify(ownMember(operation, "op") ?? null);
      return refuse("invalid", `"op" must be add, remove, replace, move, copy or test, found ${found}`);
    }
  }
}

/** Only the new value's depth is checked; how much it holds is bounded by the length of the patch itself. */
function put(work: Work, op: "add" | "replace", path: PointerTokens, value: JsonValue | undefined): Step {
  if (value === undefined) return refuse("invalid", `"value" is missing`);
  if (nodesWithin(value, Number.POSITIVE_INFINITY, work.maxDepth - path.length) === undefined) return tooDeep(work);
  return fromDraft(work.draft[op](path, value));
}

/** RFC 6902 4.6: equal as JSON, so that the order of members does not matter and 1 equals 1.0, but "1" does not. */
function test(work: Work, path: PointerTokens, expected: JsonValue | undefined): Step {
  if (expected === undefined) return refuse("invalid", `"value" is missing`);
  const found = getPointer(work.draft.root, path);
  if (found === undefined) return refuse("test", "the test failed: there is no such value");
  return jsonEquals(found, expected) ? done : refuse("test", "the test failed: the value is another one");
}

/** `move` is `remove` and `add` of the same node; `copy` adds a clone. The source must exist (RFC 6902 4.4 and 4.5). */
function transfer(work: Work, op: "move" | "copy", from: PointerTokens, path: PointerTokens): Step {
  const value = getPointer(work.draft.root, from);
  if (value === undefined) return refuse("path", `"from" ${quoted(from)} does not exist`);
  if (op === "move" && isPrefix(from, path)) {
    // RFC 6902 4.4: the source must not be a proper prefix of the target. Onto itself it changes nothing.
    return from.length === path.length ? done : refuse("path", `${quoted(from)} cannot move into its own child`);
  }
  const nodes = nodesWithin(value, work.nodesLeft, Number.POSITIVE_INFINITY);
  if (nodes === undefined) return refuse("limit", "the patch copies or moves too much");
  work.nodesLeft -= nodes;
  if (nodesWithin(value, nodes, work.maxDepth - path.length) === undefined) return tooDeep(work);
  // A copy must not share nodes with its source, because the draft edits its own nodes in place.
  if (op === "copy") return fromDraft(work.draft.add(path, copyOf(value)));
  const removed = work.draft.remove(from);
  return fromDraft(removed.ok ? work.draft.add(path, value) : removed);
}

const tooDeep = (work: Work): Step => refuse("limit", `the patch nests deeper than ${work.maxDepth} levels`);

/** The nodes in a value, or undefined if there are more than `most` or any is deeper than `depth`. */
function nodesWithin(value: JsonValue, most: number, depth: number): number | undefined {
  if (most < 1 || depth < 0) return undefined;
  if (typeof value === "string") return 1 + (value.length >>> 5) > most ? undefined : 1 + (value.length >>> 5);
  if (typeof value !== "object" || value === null) return 1;
  let nodes = 1;
  for (const child of isArray(value) ? value : Object.values(value)) {
    const inner = child === undefined ? 0 : nodesWithin(child, most - nodes, depth - 1);
    if (inner === undefined) return undefined;
    nodes += inner;
  }
  return nodes;
}

/** Faster than `structuredClone` for the small values that most copies are of. */
function copyOf(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map(copyOf);
  // A spread makes members of all names, `__proto__` included; after it they are own ones and can be assigned.
  const copy: Record<string, JsonValue | undefined> = { ...value };
  for (const name of Object.keys(copy)) {
    const member = copy[name];
    if (typeof member === "object" && member !== null) copy[name] = copyOf(member);
  }
  return copy;
}
const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** Only own members count: an operation without "value" must not find one on a prototype. */
const ownMember = (operation: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(operation, name) ? operation[name] : undefined;

function ownText(operation: JsonObject, name: string): string | undefined {
  const value = ownMember(operation, name);
  return typeof value === "string" ? value : undefined;
}

/** A pointer of an operation. More tokens than a document may be deep cannot name anything. */
function pointerMember(work: Work, operation: JsonObject, name: "path" | "from"): Result<PointerTokens, Refusal> {
  const text = ownText(operation, name);
  if (text === undefined) return refuse("invalid", `${JSON.stringify(name)} must be a JSON pointer`);
  const tokens = parsePointer(text);
  if (!tokens.ok) return refuse("invalid", tokens.error);
  const { length } = tokens.value;
  if (length > work.maxDepth) return refuse("limit", `${JSON.stringify(name)} has more than ${work.maxDepth} tokens`);
  work.tokensLeft -= length;
  return work.tokensLeft < 0 ? refuse("limit", "the paths of the patch are too long together") : tokens;
}

const quoted = (tokens: PointerTokens): string => JSON.stringify(formatPointer(tokens));
const isPrefix = (prefix: PointerTokens, tokens: PointerTokens): boolean =>
  prefix.length <= tokens.length && prefix.every((token, index) => token === tokens[index]);
