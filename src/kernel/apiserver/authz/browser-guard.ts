import type { IncomingHttpHeaders } from "node:http";
import { ApiError, type Status } from "#kernel/model/index.ts";

// Any web page can make a browser send requests to localhost. It must not reach any answer, so these are refused first:
//
//   DNS rebinding          evil.example resolves to 127.0.0.1        its name is in `Host`: 421
//   cross-site requests    fetch, forms, WebSockets of another site  `Origin` or `Sec-Fetch-Site`: 403
//   preflights             OPTIONS with an Origin                    403 without CORS headers: the browser gives up
//
// Only a link to a page of the web UI may be followed from anywhere: it is open to all, runs nothing for the other site
// and refuses frames.

/** A refusal before authentication; 421 (RFC 9110 15.5.20) has no Kubernetes reason. */
export interface GuardRefusal {
  readonly code: number;
  readonly status: Status;
}

export const loopbackNames: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Refuses other hosts and other sites' requests. `names` are lower case, without ports, which may be forwarded. With
 * `isPage`, the request is for a page open to all.
 */
export function guardBrowser(
  headers: IncomingHttpHeaders,
  names: readonly string[],
  isPage = false,
): GuardRefusal | undefined {
  const host = hostName(headers.host ?? "");
  if (host === undefined || !names.includes(host)) {
    return refusal(421, `this server does not answer for the host ${JSON.stringify(headers.host ?? "")}`);
  }
  const { origin } = headers;
  if (origin !== undefined && !isOwnOrigin(headers) && !isToldByProgram(headers)) {
    return refusal(403, `requests from the origin ${JSON.stringify(origin)} are not allowed`);
  }
  const site = headers["sec-fetch-site"];
  if ((site === "cross-site" || site === "same-site") && !(isPage && isVisit(headers))) {
    return refusal(403, "requests from other sites are not allowed");
  }
  return undefined;
}

/** A person follows a link: the answer becomes a document of its own, which its origin alone can read. */
const isVisit = ({ origin, ...headers }: IncomingHttpHeaders): boolean =>
  origin === undefined && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";

/** The port is part of an origin: another program on this machine is another site. */
export const isOwnOrigin = ({ origin, host = "" }: IncomingHttpHeaders): boolean => origin === `https://${host}`;

/**
 * WebSocket libraries, such as older Python clients of Kubernetes, send the server's address with http as Origin. Web
 * pages cannot add an Authorization header to a WebSocket. Certificates do not count with such an Origin
 * (`certificateIdentity`).
 */
const isToldByProgram = ({ origin, host = "", upgrade, authorization }: IncomingHttpHeaders): boolean =>
  authorization !== undefined && upgrade?.toLowerCase() === "websocket" && origin === `http://${host}`;

/** The host without its port, lower case; undefined when malformed. */
function hostName(host: string): string | undefined {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
}

function refusal(code: number, message: string): GuardRefusal {
  return { code, status: { ...new ApiError("Forbidden", message).toStatus(), code } };
}
