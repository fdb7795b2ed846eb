import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, request as plainRequest, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "#lib/base/index.ts";
import type { EgressRules } from "./egress.ts";

// Programs such as Git resolve names and follow redirects by themselves. Behind this proxy every connection of theirs
// goes to an address that was checked.

export interface EgressProxy {
  /** For the environment of one program, with the credentials that only this program has. */
  readonly url: string;
  /** Why a connection failed, of the last one that did. */
  failure(): string | undefined;
  close(): Promise<void>;
}

const user = "slipway";
const mostConnections = 32;

/** Listens on loopback. The caller closes it with its program. */
export async function openEgressProxy(rules: EgressRules): Promise<EgressProxy> {
  const token = randomBytes(24).toString("hex");
  const expected = Buffer.from(`Basic ${Buffer.from(`${user}:${token}`).toString("base64")}`);
  const streams = new Set<Duplex>();
  let failure: string | undefined;
  const note = (thrown: unknown): void => void (failure = messageOf(thrown));
  const isKnown = ({ headers }: IncomingMessage): boolean => {
    const given = Buffer.from(headers["proxy-authorization"] ?? "");
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  const server = createServer((request, response) => {
    if (isKnown(request)) forward(request, response, rules, note);
    else response.writeHead(407, challenge).end();
  });
  server.on("connect", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on("error", () => stream.destroy());
    if (isKnown(request)) tunnel(request, stream, head, { rules, note, streams });
    else stream.end(`HTTP/1.1 407 Proxy Authentication Required\r\n${words(challenge)}\r\n`);
  });
  server.maxConnections = mostConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    url: `http://${user}:${token}@127.0.0.1:${port}`,
    failure: () => failure,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const stream of streams) stream.destroy();
      }),
  };
}

const challenge = { "Proxy-Authenticate": 'Basic realm="egress"', "Content-Length": "0", Connection: "close" };

const words = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

interface Tunnelling {
  readonly rules: EgressRules;
  readonly note: (thrown: unknown) => void;
  readonly streams: Set<Duplex>;
}

function tunnel({ url = "" }: IncomingMessage, stream: Duplex, head: Buffer, { rules, note, streams }: Tunnelling) {
  const refuse = (thrown: unknown): void => {
    note(thrown);
    stream.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  };
  const parsed = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(url);
  const [, host = "", port = "0"] = parsed ?? [];
  const refusal = parsed === null ? "invalid target of a connection" : rules.refusal(host);
  if (refusal !== undefined) return refuse(new Error(refusal));
  const target = connect({ host: host.replace(/^\[|\]$/g, ""), port: Number(port), lookup: rules.lookup });
  for (const end of [stream, target]) {
    streams.add(end);
    end.once("close", () => streams.delete(end));
  }
  target.once("error", refuse);
  target.once("connect", () => {
    target.off("error", refuse);
    target.on("error", () => stream.destroy());
    stream.on("close", () => target.destroy());
    stream.write("HTTP/1.1 200 Connection established\r\n\r\n");
    target.write(head);
    stream.pipe(target).pipe(stream);
  });
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  rules: EgressRules,
  note: (thrown: unknown) => void,
): void {
  const refuse = (thrown: unknown): void => {
    note(thrown);
    if (response.headersSent) response.destroy();
    else response.writeHead(403, { "Content-Length": "0", Connection: "close" }).end();
  };
  const url = request.url !== undefined && URL.canParse(request.url) ? new URL(request.url) : undefined;
  const refusal = url?.protocol === "http:" ? rules.refusal(url.hostname) : "invalid target of a request";
  if (url === undefined || refusal !== undefined) return refuse(new Error(refusal));
  const { "proxy-authorization": _own, "proxy-connection": _also, ...headers } = request.headers;
  const options = { method: request.method ?? "GET", headers, lookup: rules.lookup, agent: false as const };
  const sent = plainRequest(url, options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on("error", refuse);
    answer.pipe(response);
  });
  sent.once("error", refuse);
  response.once("close", () => sent.destroy());
  request.pipe(sent);
}
