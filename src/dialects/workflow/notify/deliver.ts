import { lookup as resolve } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Clock, messageOf as textOf, type Millis, orAborted } from "#lib/base/index.ts";
import type { Message } from "./message.ts";
import { isPublicAddress } from "./target-rules.ts";

/** From the address lookup to the head of the response. */
const timeout: Millis = 10_000;

export interface Posting {
  readonly url: URL;
  readonly message: Message;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether a host with a private address is allowed. */
  readonly mayReach: (host: string) => Promise<boolean>;
}

/**
 * Posts a message. Resolves with the problem, undefined for a 2xx response. Redirects are not followed, and the checked
 * addresses are the ones connected to. Never reveals the URL.
 */
export async function deliver({ url, message, clock, signal, mayReach }: Posting): Promise<string | undefined> {
  const late = new AbortController();
  const cancel = clock.after(timeout, () => late.abort());
  const ended = AbortSignal.any([signal, late.signal]);
  try {
    // Resolved here, so that the checked addresses are used.
    const addresses = await orAborted(addressesOf(url), ended);
    const open = addresses.filter(isPublicAddress);
    const reachable = open.length === addresses.length || (await mayReach(hostOf(url))) ? addresses : open;
    if (reachable.length === 0)
      return "the address is not public: its use is a right (notificationtargets.slipway.dev) the writer does not have";
    const code = await post(url, message, reachable, ended);
    return code >= 200 && code < 300 ? undefined : `the answer was ${code}`;
  } catch (thrown) {
    if (late.signal.aborted) return `no answer within ${timeout / 1000} s`;
    signal.throwIfAborted();
    return problemOf(thrown);
  } finally {
    cancel();
  }
}

/** Node's codes, because its messages name hosts and addresses. */
const problemOf = (thrown: unknown): string =>
  typeof thrown === "object" && thrown !== null && "code" in thrown && typeof thrown.code === "string"
    ? `no connection: ${thrown.code}`
    : textOf(thrown);

/** Without the brackets of IPv6 addresses in URLs. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/** All addresses of the host; a private one is used only if allowed. An address resolves to itself. */
async function addressesOf(url: URL): Promise<readonly string[]> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [host];
  return (await resolve(host, { all: true })).map(({ address }) => address);
}

/** Resolves with the status code and ignores the body. Uses its own connection, so that none stays open. */
function post(url: URL, { headers, body }: Message, addresses: readonly string[], signal: AbortSignal) {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, { all }, answer) => {
    const [first] = found;
    if (all === true) answer(null, found);
    else answer(null, first?.address ?? "", first?.family);
  };
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise<number>((settle, fail) => {
    const length = { "content-length": String(Buffer.byteLength(body)) };
    const sent = request(url, { method: "POST", headers: { ...headers, ...length }, lookup, signal, agent: false });
    sent.once("response", (response) => {
      // The body may be endless.
      settle(response.statusCode ?? 0);
      response.destroy();
    });
    sent.on("error", fail);
    // The only event if the target switches protocols.
    sent.once("close", () => fail(new Error("the connection was closed without an answer")));
    sent.end(body);
  });
}
