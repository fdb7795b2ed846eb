import type { IncomingHttpHeaders } from "node:http";
import { ApiError, type Status } from "#kernel/model/index.ts";

// A page of any site can make the browser of a developer send requests to localhost. It cannot read the token, but it must not even
// reach an answer that tells what is here. The three ways in are closed before anything else is looked at:
//
//   DNS rebinding          evil.example resolves to 127.0.0.1        its name is in `Host`: 421
//   cross-site requests    fetch, forms, WebSockets of another site  `Origin` or `Sec-Fetch-Site`: 403
//   preflights             OPTIONS with an Origin                    403 without CORS headers: the browser gives up

/** A refusal before authentication; 421 (RFC 9110 15.5.20) has no Kubernetes reason. */
export interface GuardRefusal {
  readonly code: number;
  readonly status: Status;
}

/** `localhost`, `127.0.0.1` and `[::1]` are always our names; a server may have more. */
export const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Protects an API on localhost from pages in a browser: `Host` must be a name of this server (defeats DNS rebinding), and
 * requests that a browser marks as coming from another site are refused, preflights included. Undefined when the request may pass.
 * `names` are lower case and without ports: any port will do, because a listener may be behind a forwarding.
 */
export function guardBrowser(headers: IncomingHttpHeaders, names: readonly string[]): GuardRefusal | undefined {
  const host = hostName(headers.host ?? "");
  if (host === undefined || !names.includes(host)) {
    return refusal(421, `this server does not answer for the host ${JSON.stringify(headers.host ?? "")}`);
  }
  const { origin } = headers;
  if (origin !== undefined && !isOwnOrigin(headers) && !isToldByProgram(headers)) {
    return refusal(403, `requests from the origin ${JSON.stringify(origin)} are not allowed`);
  }
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site") {
    return refusal(403, "requests from other sites are not allowed");
  }
  return undefined;
}

/**
 * The origin is this server's, whose own pages run in a sandbox without one. The port is part of an origin: another program on this
 * machine is another site.
 */
export const isOwnOrigin = ({ origin, host = "" }: IncomingHttpHeaders): boolean => origin === `https://${host}`;

/**
 * Libraries for WebSockets, older ones of Kubernetes' Python client among them, send an Origin of their own: the server's address, as if
 * it were plain HTTP. No page can put an Authorization header on a WebSocket, so that whoever does is a program. It needs a token: with
 * such an Origin a certificate does not count (`certificateIdentity`).
 */
const isToldByProgram = ({ origin, host = "", upgrade, authorization }: IncomingHttpHeaders): boolean =>
  authorization !== undefined && upgrade?.toLowerCase() === "websocket" && origin === `http://${host}`;

/** The host without its port, lower case; undefined when it is malformed. */
function hostName(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
}

/** The values are repeated as JSON, so that what a stranger sent cannot change the look of a log. */
function refusal(code: number, message: string): GuardRefusal {
  return { code, status: { ...new ApiError("Forbidden", message).toStatus(), code } };
}
