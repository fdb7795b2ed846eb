import { type JsonObject, type JsonValue, type Millis, objectAt, parseDuration } from "#lib/base/index.ts";
import { done } from "./form.ts";
import type { ActionResult } from "./provider.ts";

// Inputs of actions are in `$params`, or beside `#do` in older templates; results are in `$returns`.

export const inputOf = (value: JsonObject): JsonObject => objectAt(value, "$params") ?? value;

export const returning = (result: JsonValue): ActionResult => done({ $returns: result });

/** `50%` of a whole, or a number of it, between 0 and the whole; halves and less are rounded up. */
export function partOf(whole: number, part: JsonValue | undefined, fallback: string): number | undefined {
  const given = part ?? fallback;
  const percent = typeof given === "string" ? /^(\d+(?:\.\d+)?)%$/.exec(given.trim())?.[1] : undefined;
  const count = typeof given === "number" ? given : Number(given);
  if (percent === undefined && (typeof given === "boolean" || !Number.isInteger(count) || count < 0)) return undefined;
  const exact = percent === undefined ? count : (whole * Number(percent)) / 100;
  return Math.min(whole, Math.ceil(Number(exact.toFixed(6))));
}

/** The same share as a percentage from 0 to 100. */
export function percentageOf(whole: number, part: JsonValue | undefined, fallback: string): number | undefined {
  const given = part ?? fallback;
  const percent = typeof given === "string" ? /^(\d+(?:\.\d+)?)%$/.exec(given.trim())?.[1] : undefined;
  if (percent !== undefined) return Math.min(100, Math.round(Number(percent)));
  const count = partOf(whole, part, fallback);
  return count === undefined ? undefined : whole === 0 ? 100 : Math.round((count * 100) / whole);
}

export function durationOf(value: JsonValue | undefined, fallback: Millis): Millis | undefined {
  if (value === undefined) return fallback;
  const read = typeof value === "string" ? parseDuration(value) : undefined;
  return read?.ok === true ? read.value : undefined;
}
