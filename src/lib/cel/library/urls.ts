import { getOrAdd } from "#lib/base/index.ts";
import type { TextValue } from "../values.ts";
import { asText, type LibraryFunction } from "./function.ts";

// Kubernetes' url library, which is Go's net/url: `ParseRequestURI` decides what a URL is, `Parse` takes it apart.

interface UrlParts {
  /** As written; two URLs are equal when their texts are. */
  readonly text: string;
  /** In lower case; empty for an absolute path. */
  readonly scheme: string;
  /** Host and port as written. */
  readonly host: string;
  /** As `getEscapedPath` gives it. */
  readonly path: string;
  /** Between "?" and "#", as written. */
  readonly query: string;
}

/** A URL in an expression; leaves it as it was written. */
export class CelUrl implements TextValue {
  readonly #parts: UrlParts;

  constructor(parts: UrlParts) {
    this.#parts = parts;
  }

  /** The parts behind a value of this class; the field is private so that expressions see no members. */
  static partsOf(value: unknown): UrlParts {
    if (value instanceof CelUrl) return value.#parts;
    throw new Error("expected a URL");
  }

  toText(): string {
    return this.#parts.text;
  }
}

// RFC 3986 3: scheme, authority (user information, host, port), path, query, fragment.
const shape = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:[^/?#@]*@)?([^/?#@]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?$/;
const hostShape = /^(?:\[[0-9A-Fa-f:.]+\]|[^[\]:\s]*)(?::\d*)?$/;
const control = /[\u0000-\u001f\u007f]/;
const wrongEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * Absolute URIs and absolute paths, which is what Go's `ParseRequestURI` takes. Blanks are allowed in path and query,
 * where people write them; escapes are checked in the path, in the query a wrong one only loses its key.
 */
function parseUrl(text: string): UrlParts | undefined {
  const match = control.test(text) ? null : shape.exec(text);
  if (match === null || text === "") return undefined;
  const [, scheme = "", host = "", path = "", query = ""] = match;
  if (!hostShape.test(host) || wrongEscape.test(path) || (scheme === "" && !text.startsWith("/"))) return undefined;
  // `mailto:a@b` has an opaque part in the place of a path.
  const isOpaque = scheme !== "" && match[2] === undefined && !path.startsWith("/");
  return { text, scheme: scheme.toLowerCase(), host, path: isOpaque ? "" : escapePath(path), query };
}

// What Go leaves as it was written: RFC 3986's pchar, and brackets.
const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9A-Fa-f]{2})*$/;

/** A path that cannot be sent as written is decoded and re-escaped: `/a b` is `/a%20b`, `/(a b` is `/%28a%20b`. */
function escapePath(path: string): string {
  if (validPath.test(path)) return path;
  const bytes = new TextEncoder().encode(path);
  let escaped = "";
  for (let at = 0; at < bytes.length; at += 1) {
    const isEscape = bytes[at] === 0x25;
    const byte = isEscape ? Number.parseInt(String.fromCharCode(...bytes.subarray(at + 1, at + 3)), 16) : bytes[at];
    if (isEscape) at += 2;
    escaped += escapeByte(byte ?? 0);
  }
  return escaped;
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
}

function url(text: unknown): CelUrl {
  const parts = parseUrl(asText(text));
  if (parts !== undefined) return new CelUrl(parts);
  throw new Error(`${JSON.stringify(text)} is not a URL`);
}

// Getters of parts; an absent part is the empty text, as in Kubernetes.
const partsOf = (value: unknown): UrlParts => CelUrl.partsOf(value);
/** Without port, and without the brackets of an IPv6 address. */
const hostname = (host: string): string => host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
const port = (host: string): string => /:(\d*)$/.exec(host)?.[1] ?? "";

/** Every key with all its values; what cannot be decoded, and what holds a semicolon, is left out, as in Go. */
function queryOf(text: string): Map<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const part of text.split("&")) {
    const equals = part.indexOf("=");
    const key = decode(equals === -1 ? part : part.slice(0, equals));
    const value = decode(equals === -1 ? "" : part.slice(equals + 1));
    if (part === "" || part.includes(";") || key === undefined || value === undefined) continue;
    getOrAdd(values, key, () => []).push(value);
  }
  return values;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // An escape is wrong, or the bytes behind the escapes are not UTF-8.
    return undefined;
  }
}

const type = "kubernetes.URL";

export const urlFunctions: readonly LibraryFunction[] = [
  { signature: `url(string): ${type}`, call: url },
  { signature: "isURL(string): bool", call: (text) => parseUrl(asText(text)) !== undefined },
  { signature: `${type}.getScheme(): string`, call: (value) => partsOf(value).scheme },
  { signature: `${type}.getHost(): string`, call: (value) => partsOf(value).host },
  { signature: `${type}.getHostname(): string`, call: (value) => hostname(partsOf(value).host) },
  { signature: `${type}.getPort(): string`, call: (value) => port(partsOf(value).host) },
  { signature: `${type}.getEscapedPath(): string`, call: (value) => partsOf(value).path },
  { signature: `${type}.getQuery(): map<string, list<string>>`, call: (value) => queryOf(partsOf(value).query) },
];

/** By text: `https://h` and `https://h/` are different, although every server takes them for the same. */
export const isSameUrl = (a: unknown, b: unknown): boolean => partsOf(a).text === partsOf(b).text;
