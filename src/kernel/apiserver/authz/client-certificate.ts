import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Instant } from "#lib/base/index.ts";
import { isOwnOrigin } from "./browser-guard.ts";
import { authenticatedGroup, type Identity } from "./identity.ts";

/** The `OU` of client certificates that are valid only while their credential exists. */
export const revocableUnit = "slipway:revocable";

export interface CertifiedIdentity {
  readonly identity: Identity;
  /** SHA-256 of a revocable certificate, to find its credential. */
  readonly revocable?: string;
  readonly until: Instant;
}

interface Bearer extends CertifiedIdentity {
  readonly from: Instant;
}

const bearers = new WeakMap<TLSSocket, Bearer | null>();

/** `CN` is the user, each `O` a group. Ignored in browsers' requests from other origins: they send it unasked. */
export function certificateIdentity(
  socket: Socket,
  headers: IncomingHttpHeaders,
  now: Instant,
): CertifiedIdentity | undefined {
  return isFromBrowser(headers) ? undefined : bearerOf(socket, now);
}

/** Why a valid certificate is ignored; undefined when it is not. */
export const ignoredCertificate = (socket: Socket, headers: IncomingHttpHeaders, now: Instant): string | undefined =>
  isFromBrowser(headers) && bearerOf(socket, now) !== undefined
    ? "the client certificate does not count for a request that a browser may have sent (Origin or Sec-Fetch headers): send a bearer token"
    : undefined;

function bearerOf(socket: Socket, now: Instant): CertifiedIdentity | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  let bearer = bearers.get(socket);
  if (bearer === undefined) {
    bearer = socket.authorized ? readBearer(socket) : null;
    bearers.set(socket, bearer);
  }
  return bearer !== null && bearer.from <= now && now < bearer.until ? bearer : undefined;
}

/** A foreign `Origin` or any `Sec-Fetch-` header, which no page can suppress. */
function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined && !isOwnOrigin(headers)) return true;
  for (const name in headers) if (name.startsWith("sec-fetch-")) return true;
  return false;
}

function readBearer(socket: TLSSocket): Bearer | null {
  const { subject, fingerprint256, valid_from: from, valid_to: until } = socket.getPeerCertificate();
  // Repeated attributes come as a list, unlike the types say.
  const { CN, O, OU } = (subject ?? {}) as unknown as Readonly<
    Record<"CN" | "O" | "OU", string | readonly string[] | undefined>
  >;
  if (typeof CN !== "string" || CN === "") return null;
  const groups = O === undefined ? [] : typeof O === "string" ? [O] : O;
  return {
    identity: { user: CN, groups: [...new Set([...groups, authenticatedGroup])] },
    ...(OU === revocableUnit ? { revocable: fingerprint256.replaceAll(":", "").toLowerCase() } : {}),
    from: Date.parse(from),
    until: Date.parse(until),
  };
}
