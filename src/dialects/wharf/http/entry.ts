import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { refuse, type RestRefusal } from "./problem.ts";

/** Who may ask. */
export interface EntryRules {
  /** What clients present; without a token, every client is let in. */
  readonly token?: string | undefined;
  /** Clients that present nothing are let in although there is a token. */
  readonly allowsAnonymous?: boolean;
  /** Requests that may bring it as `token` of their query: their senders know no other way. None unless told. */
  readonly takesTokenInQuery?: (request: AskedRequest) => boolean;
  /** Origins of web pages that may ask, as browsers send them; `*` is all of them. None unless told. */
  readonly origins?: readonly string[];
  /** The address that is listened on is one that this machine alone can reach. */
  readonly isLoopback: boolean;
}

/** What is asked for. */
export interface AskedRequest {
  readonly method: string;
  readonly path: string;
}

/** The first line of a request as Node has it. */
interface RequestLine {
  readonly method?: string | undefined;
  /** With its query. */
  readonly url?: string | undefined;
}

/**
 * Why a request is refused, before anything of it is read; undefined if it is let in. Health and version need no token. A server that lets in clients
 * without a token must not take pages in a browser for them: it refuses names that lead here from elsewhere (DNS rebinding) and requests that a page
 * of another origin has made.
 */
export function refusalOf(
  headers: IncomingHttpHeaders,
  rules: EntryRules,
  asked: RequestLine = {},
): RestRefusal | undefined {
  const { token, allowsAnonymous = false, origins = [], isLoopback } = rules;
  if (token !== undefined && !isHealth(asked)) {
    const { authorization } = headers;
    const given = authorization === undefined ? tokenInQuery(asked, rules) : bearerOf(authorization);
    if (given !== undefined && isSame(given, token)) return undefined;
    if (given !== undefined || !allowsAnonymous)
      return refuse("unauthorized", "the request needs a token: Authorization: Bearer …");
  }
  const host = hostOf(headers);
  if (isLoopback && !isLocalName(host))
    return refuse("misdirected-request", `this server does not answer for the host ${JSON.stringify(host)}`);
  const { origin } = headers;
  const isForeign = origin !== undefined && originHost(origin) !== host.toLowerCase();
  const isCross = ["cross-site", "same-site"].includes(String(headers["sec-fetch-site"]));
  if (!isForeign && !isCross) return undefined;
  if (origins.includes("*") || (origin !== undefined && origins.includes(origin))) return undefined;
  return refuse("forbidden", `requests from the origin ${JSON.stringify(origin ?? "")} are not allowed`);
}

/** That a service is there, and of which version, is no secret. */
const isHealth = ({ method = "", url = "" }: RequestLine): boolean =>
  method === "GET" && /^\/api\/(?:health|ping|version)\/?(?:\?|$)/.test(url);

/**
 * Whether a request is only a browser's question for a page of an origin that may ask. Browsers never bring a token with it, and it is answered
 * without anything being done.
 */
export function isAllowedPreflight(
  method: string | undefined,
  { origin, "access-control-request-method": wanted }: IncomingHttpHeaders,
  { origins = [] }: EntryRules,
): boolean {
  if (method !== "OPTIONS" || wanted === undefined || origin === undefined) return false;
  return origins.includes("*") || origins.includes(origin);
}

/** Empty for credentials of another kind. */
const bearerOf = (authorization: string): string => /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "";

/** Of a request that may bring it there. */
function tokenInQuery({ method = "", url = "" }: RequestLine, { takesTokenInQuery }: EntryRules): string | undefined {
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  if (takesTokenInQuery?.({ method, path }) !== true) return undefined;
  return new URLSearchParams(query).get("token") || undefined;
}

/** Takes as long for a token that is nearly right as for any other: of both a digest is compared. */
const isSame = (given: string, token: string): boolean => timingSafeEqual(digestOf(given), digestOf(token));

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** HTTP/2 has a header of its own for it. */
function hostOf(headers: IncomingHttpHeaders): string {
  const authority: unknown = headers[":authority"];
  return typeof authority === "string" ? authority : (headers.host ?? "");
}

const originHost = (origin: string): string => (URL.canParse(origin) ? new URL(origin).host.toLowerCase() : "");

/** Names that nobody else can make lead here. Clients of gRPC that speak over a pipe or a forwarded port name none. */
function isLocalName(host: string): boolean {
  if (host === "") return true;
  const [, name = ""] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host) ?? [];
  const lower = name.toLowerCase();
  return lower === "localhost" || lower.endsWith(".localhost") || isIP(lower.replaceAll(/[[\]]/g, "")) !== 0;
}

/** Whether only this machine can reach an address that the system has given. */
export const isLoopbackAddress = (address: string): boolean =>
  address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address);
