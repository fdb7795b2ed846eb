import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Instant } from "#lib/base/index.ts";
import { isOwnOrigin } from "./browser-guard.ts";
import { authenticatedGroup, type Identity } from "./identity.ts";

/**
 * The organizational unit (`OU`) of client certificates that count only while their credential is there. Kubernetes reads nothing
 * from it.
 */
export const revocableUnit = "slipway:revocable";

/** Whom a certificate names. */
export interface CertifiedIdentity {
  readonly identity: Identity;
  /** SHA-256 of a certificate that counts only while there is a credential of this hash; absent for those that nobody can take back. */
  readonly revocable?: string;
  /** The end of its time: from then on it is nobody's. */
  readonly until: Instant;
}

/** What a connection's certificate says, read once per connection: requests on it are many. */
interface Bearer extends CertifiedIdentity {
  readonly from: Instant;
}

const bearers = new WeakMap<TLSSocket, Bearer | null>();

/**
 * Who the client's certificate is made out to: `CN` is the user, each `O` a group, as in Kubernetes. Undefined without one, with one
 * that our authority did not sign for clients, and outside its dates, also when those end while the connection lasts.
 *
 * Browsers send certificates by themselves, so that a request which a browser has marked is never anybody's by certificate alone. The
 * server's own origin is no such mark: WebSocket libraries send it, and the server has no pages of that origin.
 */
export function certificateIdentity(
  socket: Socket,
  headers: IncomingHttpHeaders,
  now: Instant,
): CertifiedIdentity | undefined {
  return isFromBrowser(headers) ? undefined : bearerOf(socket, now);
}

/** Why a certificate that would count does not, for the answer; undefined where it does, and without one. */
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

/** A foreign `Origin` and every `Sec-Fetch-` header there is or will be: no page can keep its browser from sending them. */
function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined && !isOwnOrigin(headers)) return true;
  for (const name in headers) if (name.startsWith("sec-fetch-")) return true;
  return false;
}

function readBearer(socket: TLSSocket): Bearer | null {
  const { subject, fingerprint256, valid_from: from, valid_to: until } = socket.getPeerCertificate();
  // Several values of one attribute come as a list, which the types do not say.
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
