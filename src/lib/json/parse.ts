import { err, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { decodeUtf8 } from "./utf8.ts";
import { diagnoseJson } from "./diagnose.ts";
import { countMembers, scanJson } from "./scan.ts";

/** Why a text is not JSON this program can keep without loss. `offset` counts UTF-16 code units (bytes for invalid UTF-8). */
export interface JsonError {
  /** `number-range`: JSON, but a double would change it. `too-deep`: beyond the limit. `encoding`: the bytes are no UTF-8. */
  readonly code: "syntax" | "too-deep" | "number-range" | "encoding";
  readonly message: string;
  readonly offset: number;
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

/** A key that one object holds more than once; `path` names the member (`spec.containers[0].name`), `offset` the repetition. */
export interface DuplicateKey {
  readonly path: string;
  readonly offset: number;
}

/** What a text says, and what JSON.parse would have hidden. */
export interface JsonDocument {
  readonly value: JsonValue;
  /** Repeated keys in the order of the text, at most the first 100. The last value of a key wins. */
  readonly duplicates: readonly DuplicateKey[];
}

export interface JsonReadLimits {
  /** Deepest nesting of objects and arrays; 200 unless told. Scalars count no level: `[[1]]` has two. */
  readonly maxDepth?: number;
}

/**
 * Reads exactly one JSON value (RFC 8259) from a text or UTF-8 bytes and reports repeated keys. Nothing is changed
 * silently: integers that a double cannot hold, numbers that overflow and negative zero are errors, and so are a byte
 * order mark and invalid UTF-8. `__proto__` and the like are ordinary keys. Cost is linear in the length of the text.
 */
export function readJson(input: string | Uint8Array, limits: JsonReadLimits = {}): Result<JsonDocument, JsonError> {
  const decoded = typeof input === "string" ? ok(input) : decodeUtf8(input);
  if (!decoded.ok) return decoded;
  const text = decoded.value;
  const maxDepth = limits.maxDepth ?? 200;
  const scan = scanJson(text, maxDepth);
  if (scan.suspicious) return readCarefully(text, maxDepth);
  try {
    const value: JsonValue = JSON.parse(text);
    // Fewer members than the text names means that a key was repeated.
    return countMembers(value) === scan.members ? ok({ value, duplicates: [] }) : readCarefully(text, maxDepth);
  } catch {
    // JSON.parse does not say where; the careful reader does.
    return readCarefully(text, maxDepth);
  }
}

/** The slow path: finds the place of the error, or the repeated keys. A text without faults is then read after all. */
function readCarefully(text: string, maxDepth: number): Result<JsonDocument, JsonError> {
  const found = diagnoseJson(text, maxDepth);
  if (!found.ok) return err(found.error);
  const value: JsonValue = JSON.parse(text);
  return ok({ value, duplicates: found.value });
}

/** `readJson` for callers to whom repeated keys do not matter. */
export function parseJson(input: string | Uint8Array, limits: JsonReadLimits = {}): Result<JsonValue, JsonError> {
  const document = readJson(input, limits);
  return document.ok ? ok(document.value.value) : document;
}
