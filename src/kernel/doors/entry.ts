import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { DoorRefusal } from "./refusal.ts";

export interface EntryRules {
  /** Without a token every client is let in. */
  readonly token?: string | undefined;
  /** Lets in clients without credentials although there is a token. */
  readonly allowsAnonymous?: boolean;
  /** Requests that need no token, such as health; default: none. */
  readonly isOpen?: (request: AskedRequest) => boolean;
  /** Requests that may carry `token` in their query; default: none. */
  readonly takesTokenInQuery?: (request: AskedRequest) => boolean;
  /** Allowed origins of web pages, `*` for all; default: none. */
  readonly origins?: readonly string[];
  /** `Host` names that mean this server, besides those of this machine; lower case. Default: none. */
  readonly hosts?: readonly string[];
  readonly isLoopback: boolean;
}

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
}

interface RequestLine {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
}

/** Why a request is refused; undefined if allowed. Without a token, names that resolve here from elsewhere (DNS
 * rebinding) and cross-origin requests are refused, so that web pages do not count as local clients. */
export function refusalOf(
  headers: IncomingHttpHeaders,
  rules: EntryRules,
  asked: RequestLine = {},
): DoorRefusal | undefined {
  const { token, allowsAnonymous = false, origins = [], hosts = [], isLoopback, isOpen } = rules;
  if (token !== undefined && isOpen?.(lineOf(asked)) !== true) {
    const { authorization } = headers;
    const given = authorization === undefined ? tokenInQuery(asked, rules) : bearerOf(authorization);
    if (given !== undefined && isSame(given, token)) return undefined;
    if (given !== undefined || !allowsAnonymous)
      return new DoorRefusal("unauthorized", "the request needs a token: Authorization: Bearer …", {
        headers: { "www-authenticate": "Bearer" },
      });
  }
  const host = hostOf(headers);
  if (isLoopback && !isLocalName(host) && !hosts.includes(host.toLowerCase()))
    return new DoorRefusal("misdirected-request", `this server does not answer for the host ${JSON.stringify(host)}`);
  const { origin } = headers;
  const isForeign = origin !== undefined && originHost(origin) !== host.toLowerCase();
  const isCross = ["cross-site", "same-site"].includes(String(headers["sec-fetch-site"]));
  if (!isForeign && !isCross) return undefined;
  if (origins.includes("*") || (origin !== undefined && origins.includes(origin))) return undefined;
  return new DoorRefusal("forbidden", `requests from the origin ${JSON.stringify(origin ?? "")} are not allowed`);
}

/** The path without its query. */
const lineOf = ({ method = "", url = "" }: RequestLine): AskedRequest => ({ method, path: url.replace(/\?.*/s, "") });

/** CORS preflight of an allowed origin; browsers send no token with it. */
export function isAllowedPreflight(
  method: string | undefined,
  { origin, "access-control-request-method": wanted }: IncomingHttpHeaders,
  { origins = [] }: EntryRules,
): boolean {
  if (method !== "OPTIONS" || wanted === undefined || origin === undefined) return false;
  return origins.includes("*") || origins.includes(origin);
}

/** Empty for other schemes. */
const bearerOf = (authorization: string): string => /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "";

function tokenInQuery(asked: RequestLine, { takesTokenInQuery }: EntryRules): string | undefined {
  if (takesTokenInQuery?.(lineOf(asked)) !== true) return undefined;
  const [, query = ""] = (asked.url ?? "").split(/\?(.*)/s);
  return new URLSearchParams(query).get("token") || undefined;
}

/** Compares digests in constant time. */
const isSame = (given: string, token: string): boolean => timingSafeEqual(digestOf(given), digestOf(token));

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

function hostOf(headers: IncomingHttpHeaders): string {
  const authority: unknown = headers[":authority"];
  return typeof authority === "string" ? authority : (headers.host ?? "");
}

const originHost = (origin: string): string => (URL.canParse(origin) ? new URL(origin).host.toLowerCase() : "");

/** Names that always mean this machine. gRPC clients over pipes send none. */
function isLocalName(host: string): boolean {
  if (host === "") return true;
  const [, name = ""] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host) ?? [];
  const lower = name.toLowerCase();
  return lower === "localhost" || lower.endsWith(".localhost") || isIP(lower.replaceAll(/[[\]]/g, "")) !== 0;
}

export const isLoopbackAddress = (address: string): boolean =>
  address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address);
