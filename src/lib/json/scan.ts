import type { JsonValue } from "#lib/base/index.ts";

// The fast path in front of JSON.parse. It only has to be right in one direction: a text that it calls unsuspicious is
// read by JSON.parse without loss or refused by it. Whatever it doubts goes to the careful reader, and costs time but
// no accuracy.

/** What one pass over a text can tell before JSON.parse sees it. */
export interface JsonScan {
  /** Number of `:` outside strings, which is the number of members when the text is JSON. */
  readonly members: number;
  /** True when only the careful reader can decide: too deep, or numbers that a double may not hold. */
  readonly suspicious: boolean;
}

const quote = 0x22;
const backslash = 0x5c;

/** Looks at every character once and keeps nothing. Strings are skipped by searching for their end. */
export function scanJson(text: string, maxDepth: number): JsonScan {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
    } else if (code === 0x3a) {
      members += 1;
    } else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > maxDepth) return { members, suspicious: true };
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
    } else if (code === 0x2d || isDigit(code)) {
      const end = endOfNumber(text, at);
      if (end - at >= 16 || isOdd(text, at, end)) return { members, suspicious: true };
      at = end - 1;
    }
  }
  return { members, suspicious: false };
}

/** Index of the closing quote, or the end of the text when it is missing (JSON.parse will say so). */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

/** Below 16 characters only an exponent or a leading minus zero can make a number that does not survive. */
function isOdd(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(start) === 0x2d && text.charCodeAt(start + 1) === 0x30) return true;
  for (let at = start; at < end; at += 1) if ((text.charCodeAt(at) | 0x20) === 0x65) return true;
  return false;
}

/** Index behind the longest run of characters that numbers are made of; whether it is one is for JSON.parse to say. */
export function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isNumberPart(text.charCodeAt(end))) end += 1;
  return end;
}

// Digits, "+", "-", ".", "E" and "e".
const isNumberPart = (code: number): boolean =>
  isDigit(code) || code === 0x2b || code === 0x2d || code === 0x2e || code === 0x45 || code === 0x65;

export const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Number of members in all objects of a value. Recurses as deep as the value nests, which the scan has bounded. */
export function countMembers(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  const isList = Array.isArray(value);
  const children: readonly JsonValue[] = isList ? value : Object.values(value);
  let members = isList ? 0 : children.length;
  for (const child of children) if (typeof child === "object" && child !== null) members += countMembers(child);
  return members;
}
