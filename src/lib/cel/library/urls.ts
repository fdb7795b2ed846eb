import type { TextValue } from "../values.ts";
import { asText, type LibraryFunction } from "./function.ts";

interface UrlParts {
  readonly text: string;
  readonly scheme: string;
  /** Host and port as written. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** A URL in an expression, as written. */
export class CelUrl implements TextValue {
  readonly #parts: UrlParts;

  constructor(parts: UrlParts) {
    this.#parts = parts;
  }

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

/** Absolute URIs and absolute paths, which is what Go's `ParseRequestURI` takes. */
function parseUrl(text: string): UrlParts | undefined {
  const match = /[\s\u0000-\u001f\u007f]/.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text) ? null : shape.exec(text);
  if (match === null || text === "") return undefined;
  const [, scheme = "", host = "", path = "", query = ""] = match;
  if (!hostShape.test(host) || (scheme === "" && !text.startsWith("/"))) return undefined;
  return { text, scheme, host, path, query };
}

function url(text: unknown): CelUrl {
  const parts = parseUrl(asText(text));
  if (parts !== undefined) return new CelUrl(parts);
  throw new Error(`${JSON.stringify(text)} is not a URL`);
}

const partsOf = (value: unknown): UrlParts => CelUrl.partsOf(value);
const hostname = (host: string): string => host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
const port = (host: string): string => /:(\d*)$/.exec(host)?.[1] ?? "";

/** Every key with all its values; what cannot be decoded is left out, as in Go. */
function queryOf(text: string): Map<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (const part of text.split("&")) {
    const [key, value] = [part.replace(/=.*$/, ""), /=(.*)$/.exec(part)?.[1] ?? ""].map(decode);
    if (part === "" || key === undefined || value === undefined) continue;
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    // The bytes behind the escapes are not UTF-8.
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

export const isSameUrl = (a: unknown, b: unknown): boolean => partsOf(a).text === partsOf(b).text;
