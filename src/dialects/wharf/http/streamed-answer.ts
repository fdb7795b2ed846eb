import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createReadStream } from "node:fs";
import { once } from "node:events";
import { refuse } from "./problem.ts";
import type { RestContext } from "./rest-api.ts";

// Streamed at the client's pace.

type Headers = Readonly<Record<string, string | number>>;

/** The signal aborts when the client disconnects. */
export type Body = (signal: AbortSignal) => AsyncIterable<Buffer>;

/** Errors after the headers cut the connection, so that partial answers are recognised. */
export async function sendStream(
  context: RestContext,
  { status = 200, headers, body }: { readonly status?: number; readonly headers: Headers; readonly body: Body },
): Promise<Response> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  outgoing.writeHead(status, { ...Object.fromEntries(context.res.headers), ...headers });
  // The first bytes may take long.
  outgoing.flushHeaders();
  if (context.req.method === "HEAD") outgoing.end();
  else void write(outgoing, body, gone);
  return RESPONSE_ALREADY_SENT;
}

async function write(outgoing: RestContext["env"]["outgoing"], body: Body, gone: AbortController): Promise<void> {
  const { signal } = gone;
  try {
    for await (const piece of body(signal)) {
      if (signal.aborted) return;
      if (!outgoing.write(piece)) await once(outgoing, "drain", { signal });
    }
    outgoing.end();
  } catch {
    // Headers are sent: a broken connection is the only way to report it.
    outgoing.destroy();
  }
}

interface FileAnswer {
  readonly path: string;
  readonly size: number;
  readonly contentType: string;
  readonly name?: string;
  readonly sha256?: string | undefined;
}

const pieceBytes = 256 * 1024;

/** Supports ranges and conditional requests (RFC 9110 13, 14). */
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
    // Built content must not be sniffed or run by browsers.
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox",
    ...(range === undefined ? {} : { "content-range": `bytes ${first}-${last}/${size}` }),
  };
  const body: Body = (signal) =>
    last < first ? nothing() : createReadStream(path, { start: first, end: last, highWaterMark: pieceBytes, signal });
  return await sendStream(context, { status: range === undefined ? 200 : 206, headers, body });
}

async function* nothing(): AsyncGenerator<Buffer, void> {
  // Empty.
}

/** Weak tags match. */
const names = (header: string | undefined, tag: string): boolean =>
  header?.trim() === "*" || (header?.split(",") ?? []).some((one) => one.trim().replace(/^W\//, "") === tag);

/** RFC 6266 with an ASCII fallback. */
function disposition(name: string): string {
  const plain = name.replace(/[^ !#-$&-[\]-~]/g, "_");
  const encoded = encodeURIComponent(Buffer.from(name).toString()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** The range of a Range header (RFC 9110 14.2). Undefined for the whole file: no range, other units or several ranges.
 * "bad" if it cannot be satisfied. */
export function parseRange(header: string | undefined, size: number): ByteRange | "bad" | undefined {
  const [, asked] = /^bytes=(.*)$/i.exec(header?.trim() ?? "") ?? [];
  if (asked === undefined || asked.includes(",")) return undefined;
  const [, from, to] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(asked) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return "bad";
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "bad" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return first >= size || (to !== "" && Number(to) < first) ? "bad" : { first, last };
}
