import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ApiError, unknownResource } from "#kernel/model/index.ts";
import { codeOf, isJsonObject, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import { protect } from "./reply.ts";

const csp = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join("; ");

const foreverSeconds = 365 * 24 * 3600;

interface File {
  readonly type: string;
  readonly plain: Buffer;
  readonly packed: Buffer | undefined;
}

/**
 * The built page, read from its folder on first use: the files that `manifest.json` names, whose names hold the hash
 * of their content, and the page itself for any other path. Only names of the manifest reach the disk.
 */
export class StaticFiles {
  readonly #directory: string;
  #files: Promise<JsonObject> | undefined;
  #page: Promise<Buffer> | undefined;
  readonly #read = new Map<string, Promise<File>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    protect(response);
    response.setHeader("Content-Security-Policy", csp);
    const name = path.slice(1);
    const files = await this.#manifest();
    const type = textAt(objectAt(files, name), "type");
    if (type !== undefined) return await this.#answerFile(request, response, name, type);
    if (name.startsWith("assets/")) throw unknownResource();
    this.#page ??= this.#load("index.html");
    send(request, response, "text/html; charset=utf-8", await this.#page);
  }

  async #answerFile(request: IncomingMessage, response: ServerResponse, name: string, type: string): Promise<void> {
    const file = this.#read.get(name) ?? this.#open(name, type);
    this.#read.set(name, file);
    const { plain, packed } = await file;
    response.setHeader("Cache-Control", `public, max-age=${foreverSeconds}, immutable`);
    response.setHeader("Vary", "Accept-Encoding");
    const isPacked = packed !== undefined && /(?:^|,)\s*br\s*(?:,|$)/.test(String(request.headers["accept-encoding"]));
    if (isPacked) response.setHeader("Content-Encoding", "br");
    send(request, response, type, isPacked ? packed : plain);
  }

  async #open(name: string, type: string): Promise<File> {
    const [plain, packed] = await Promise.all([
      this.#load(name),
      readFile(join(this.#directory, `${name}.br`)).catch(() => undefined),
    ]);
    return { type, plain, packed };
  }

  /** Read again after a failure: the page may be built later. */
  async #manifest(): Promise<JsonObject> {
    this.#files ??= this.#load("manifest.json").then((text) => filesIn(text));
    this.#files.catch(() => (this.#files = undefined));
    return await this.#files;
  }

  async #load(name: string): Promise<Buffer> {
    try {
      return await readFile(join(this.#directory, name));
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT") throw thrown;
      throw new ApiError("NotFound", `this server has no web UI: ${name} is missing`);
    }
  }
}

function filesIn(text: Buffer): JsonObject {
  const manifest: unknown = JSON.parse(text.toString());
  return (isJsonObject(manifest) ? objectAt(manifest, "files") : undefined) ?? {};
}

function send(request: IncomingMessage, response: ServerResponse, type: string, body: Buffer): void {
  response.setHeader("Content-Type", type);
  response.setHeader("Content-Length", body.length);
  if (request.method === "HEAD") response.end();
  else response.end(body);
}
