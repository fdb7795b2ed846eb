import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Duplex } from "node:stream";
import { refuse } from "../http/problem.ts";

export type Connect = (signal: AbortSignal) => Promise<Duplex>;

export interface RestAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
}

/** Sends a request over its own connection, because released workers only speak HTTP/1.1. */
export async function askWorker(
  connect: Connect,
  { method = "GET", path, headers = {} }: { method?: string; path: string; headers?: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<RestAnswer> {
  const connection = await connect(signal);
  return await new Promise((resolve, reject) => {
    const asked: ClientRequest = httpRequest({
      method,
      path,
      headers: { host: "localhost", connection: "close", ...headers },
      createConnection: () => connection,
      signal,
    });
    asked.once("error", reject);
    asked.once("response", (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }));
    // Without an error if the server switches protocols.
    asked.once("close", () => reject(new Error("the connection was closed without an answer")));
    asked.end();
  });
}

const longestDocument = 16 * 1024 * 1024;

export async function readJsonBody({ body }: RestAnswer): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > longestDocument) throw refuse("too-large", `expected at most ${longestDocument} bytes of a worker`);
    pieces.push(piece);
  }
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}
