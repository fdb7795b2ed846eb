import { EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE } from "js-yaml";
import type { JsonValue } from "#lib/base/index.ts";
import { keyText, resolvePlain } from "./scalar.ts";

// Nearly all documents are right and hold nothing but mappings, lists and scalars. Their values are made of the events
// of `js-yaml`, in a quarter of the time that trees take (docs/decisions/0039). Whatever has anything else, and
// everything that is wrong, is left to trees: a property holds both against each other.

/** What is read here of a text, and how far down. */
export interface PlainLimits {
  readonly maxDepth: number;
  readonly maxParts: number;
}

/** The values of all documents; undefined if they need trees, are wrong or maybe too large. Never throws. O(length). */
export function readPlain(text: string, limits: PlainLimits): readonly JsonValue[] | undefined {
  if (foreign.some((pattern) => pattern.test(text)) || mayExceed(text, limits.maxParts)) return undefined;
  try {
    const state: State = { text, events: parseEvents(text, { maxDepth: limits.maxDepth }), at: 0 };
    const documents: JsonValue[] = [];
    while (state.at < state.events.length) documents.push(readDocument(state));
    return documents;
  } catch {
    // What is wrong is told by the reader of trees, with its place.
    return undefined;
  }
}

/** What the two libraries read differently. */
const foreign: readonly RegExp[] = [
  // Control characters, odd line ends and byte order marks.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]|\r(?!\n)/,
  // Indentation by tabs, `...`, which ends documents, `---` that is indented, which begins none, and directives.
  /^ *(?:\t|\.\.\.| ---|%)/m,
  // Texts in the lines below that say how far they are indented.
  /(?:^|[ \t])[|>][-+]?[1-9]/m,
];

/** The most parts that a character can bring about: a line break itself, a comment before it and a text behind it. */
const partsOf = new Uint8Array(128);
for (const [marks, parts] of [
  ["\n\r", 3],
  [",[{", 2],
  [":-?", 1],
] as const)
  for (const mark of marks) partsOf[mark.charCodeAt(0)] = parts;

/** Whether a text can have more parts than it may. Looked at before anything is made of them. */
function mayExceed(text: string, maxParts: number): boolean {
  if (maxParts === Number.POSITIVE_INFINITY) return false;
  let parts = 3;
  for (let at = 0; at < text.length && parts <= maxParts; at++) parts += partsOf[text.charCodeAt(at)] ?? 0;
  return parts > maxParts;
}

interface State {
  readonly text: string;
  readonly events: readonly Event[];
  /** The event that comes next. */
  at: number;
}

type EventOf<Name extends keyof typeof EVENT_ID> = Extract<Event, { readonly type: (typeof EVENT_ID)[Name] }>;

/** Leaves the text to trees, from however deep. */
function leave(): never {
  throw new Error("left to the reader of trees");
}

const next = (state: State): Event => state.events[state.at++] ?? leave();

/** A document is one node between two events. */
function readDocument(state: State): JsonValue {
  const begin = next(state);
  if (begin.type !== EVENT_ID.DOCUMENT || begin.directives.length > 0) return leave();
  const value = readNode(state);
  if (next(state).type !== EVENT_ID.POP) leave();
  return value;
}

function readNode(state: State): JsonValue {
  const event = next(state);
  if (event.type === EVENT_ID.SCALAR) return readScalar(state, event);
  if (event.type === EVENT_ID.SEQUENCE && isBare(event)) return readList(state);
  if (event.type === EVENT_ID.MAPPING && isBare(event)) return readMapping(state);
  return leave();
}

/** Without anchor and tag. */
const isBare = ({ anchorStart, tagStart }: EventOf<"SCALAR" | "SEQUENCE" | "MAPPING">): boolean =>
  anchorStart < 0 && tagStart < 0;

function readScalar(state: State, event: EventOf<"SCALAR">): JsonValue {
  if (!isBare(event)) return leave();
  const text = getScalarValue(state.text, event);
  if (event.style !== SCALAR_STYLE.PLAIN) return text;
  const value = resolvePlain(text);
  return value.ok ? value.value : leave();
}

function readList(state: State): JsonValue {
  const items: JsonValue[] = [];
  while (!atEnd(state)) items.push(readNode(state));
  return items;
}

function readMapping(state: State): JsonValue {
  const members: Record<string, JsonValue> = {};
  while (!atEnd(state)) {
    const key = readKey(state);
    // A repeated key is a mistake with a place.
    if (Object.hasOwn(members, key)) leave();
    members[key] = readNode(state);
  }
  return members;
}

/** Steps behind the end of a collection, if that is what comes. */
function atEnd(state: State): boolean {
  if (state.events[state.at]?.type !== EVENT_ID.POP) return false;
  state.at++;
  return true;
}

/** YAML's bound is 1,024 characters, quotes included. */
const longestKey = 256;

/** A text with its colon right behind it, as nearly all keys are; `yes` is a key called `true`. */
function readKey(state: State): string {
  const event = next(state);
  if (event.type !== EVENT_ID.SCALAR) return leave();
  const { valueStart, valueEnd, style } = event;
  const colon = style === SCALAR_STYLE.PLAIN ? valueEnd : valueEnd + 1;
  if (valueEnd - valueStart > longestKey || state.text[colon] !== ":") leave();
  const value = readScalar(state, event);
  const isOdd = value === "__proto__" || (value === "<<" && style === SCALAR_STYLE.PLAIN);
  return isOdd || value === null || typeof value === "object" ? leave() : keyText(value);
}
