import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createReadStream } from "node:fs";
import { once } from "node:events";
import { parseRange } from "./byte-range.ts";
import { refuse } from "./problem.ts";
import type { RestContext } from "./rest-api.ts";

// Answers that are longer than memory: read as fast as the caller takes them, and no further.

type Headers = Readonly<Record<string, string | number>>;

/** What an answer is made of. The signal aborts when the caller has gone. */
export type Body = (signal: AbortSignal) => AsyncIterable<Buffer>;

/**
 * Sends an answer piece by piece. What goes wrong in the middle of it cuts the connection, so that nobody takes what he has for all of it. Headers
 * that middleware has set are kept.
 */
export async function sendStream(
  context: RestContext,
  { status = 200, headers, body }: { readonly status?: number; readonly headers: Headers; readonly body: Body },
): Promise<Response> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  outgoing.writeHead(status, { ...Object.fromEntries(context.res.headers), ...headers });
  // There may be nothing to send for long.
  outgoing.flushHeaders();
  if (context.req.method === "HEAD") outgoing.end();
  else void write(outgoing, body, gone);
  return RESPONSE_ALREADY_SENT;
}

/** Never rejects. */
async function write(outgoing: RestContext["env"]["outgoing"], body: Body, gone: AbortController): Promise<void> {
  const { signal } = gone;
  try {
    for await (const piece of body(signal)) {
      if (signal.aborted) return;
      if (!outgoing.write(piece)) await once(outgoing, "drain", { signal });
    }
    outgoing.end();
  } catch {
    // The caller has gone, or the file has; the headers are sent, and a broken answer is all that is left to say it with.
    outgoing.destroy();
  }
}

/** A file, or the part of it that is known by now. */
export interface FileAnswer {
  readonly path: string;
  readonly size: number;
  readonly contentType: string;
  /** What it is to be saved as; without it is shown. */
  readonly name?: string;
  /** In hexadecimal: what the file is known by. */
  readonly sha256?: string | undefined;
}

/** Of one reading of a file. */
const pieceBytes = 256 * 1024;

/** Sends a file, or the part of it that is asked for, or that nothing has changed (RFC 9110 13, 14). */
export async function sendFile(context: RestContext, file: FileAnswer): Promise<Response> {
  const { path, size, contentType, name, sha256 } = file;
  const tag = sha256 === undefined ? undefined : `"${sha256}"`;
  const known: Headers = { ...(tag === undefined ? {} : { etag: tag }), "accept-ranges": "bytes" };
  if (tag !== undefined && names(context.req.header("if-none-match"), tag))
    return await sendStream(context, { status: 304, headers: known, body: nothing });
  const only = context.req.header("if-range");
  const range = only === undefined || only === tag ? parseRange(context.req.header("range"), size) : undefined;
  if (range === "bad") {
    context.header("content-range", `bytes */${size}`);
    throw refuse("range-not-satisfiable", `expected a part of ${size} bytes, found ${context.req.header("range")}`);
  }
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const headers: Headers = {
    ...known,
    "content-type": contentType,
    "content-length": last - first + 1,
    ...(name === undefined ? {} : { "content-disposition": disposition(name) }),
    // A build has made it: no browser is to take it for something else, or to run it.
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    ...(range === undefined ? {} : { "content-range": `bytes ${first}-${last}/${size}` }),
  };
  const body: Body = (signal) =>
    last < first ? nothing() : createReadStream(path, { start: first, end: last, highWaterMark: pieceBytes, signal });
  return await sendStream(context, { status: range === undefined ? 200 : 206, headers, body });
}

async function* nothing(): AsyncGenerator<Buffer, void> {
  // No bytes.
}

/** Whether a list of tags has this one; weak ones are as good here. */
const names = (header: string | undefined, tag: string): boolean =>
  header?.trim() === "*" || (header?.split(",") ?? []).some((one) => one.trim().replace(/^W\//, "") === tag);

/** RFC 6266: a name that every client can read, and the true one. */
function disposition(name: string): string {
  const plain = name.replace(/[^ !#-$&-[\]-~]/g, "_");
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
