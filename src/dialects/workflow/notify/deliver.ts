import { lookup as resolve } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Clock, messageOf as textOf, type Millis } from "#lib/base/index.ts";
import type { Message } from "./message.ts";
import { isPublicAddress } from "./target-rules.ts";

/** From looking for the address to the head of the answer. */
const timeout: Millis = 10_000;

/** What posting needs to know. */
export interface Posting {
  readonly url: URL;
  readonly message: Message;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Asked for a host that has an address which is not public. */
  readonly mayReach: (host: string) => Promise<boolean>;
}

/**
 * Posts a message. Resolves with what went wrong, undefined when the answer was 2xx. Redirects are not followed: they lead anywhere. The
 * addresses that were judged are those it connects to: asking for them twice could give others. Never says the URL.
 */
export async function deliver({ url, message, clock, signal, mayReach }: Posting): Promise<string | undefined> {
  const late = new AbortController();
  const cancel = clock.after(timeout, () => late.abort());
  const ended = AbortSignal.any([signal, late.signal]);
  try {
    // Looked up here and not by the connection, so that what is judged is what is connected to.
    const addresses = await unlessAborted(addressesOf(url), ended);
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

/** Node's own codes, where there is one: its messages name hosts and addresses. */
const problemOf = (thrown: unknown): string =>
  typeof thrown === "object" && thrown !== null && "code" in thrown && typeof thrown.code === "string"
    ? `no connection: ${thrown.code}`
    : textOf(thrown);

/** The host as rights and look-ups name it: an address of IPv6 stands in brackets in a URL, and nowhere else. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

/**
 * Every address the host has now: a host with a public and a private one is posted to at the public one, or at any of them where that is
 * allowed. An address is its own answer.
 */
async function addressesOf(url: URL): Promise<readonly string[]> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [host];
  return (await resolve(host, { all: true })).map(({ address }) => address);
}

/** A look-up cannot be called back; its answer comes too late then, and nobody hears it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((settle, fail) => {
    signal.addEventListener("abort", () => fail(new Error("aborted")), { once: true });
    work.then(settle, fail);
  });
}

/** Resolves with the status code; the body of the answer is nobody's. A connection of its own, so that none is left open. */
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
      // Whatever follows the head is not waited for: it may be endless.
      settle(response.statusCode ?? 0);
      response.destroy();
    });
    sent.on("error", fail);
    // The only word of a target that switches to another protocol: no error comes, and no signal ends what is closed.
    sent.once("close", () => fail(new Error("the connection was closed without an answer")));
    sent.end(body);
  });
}
