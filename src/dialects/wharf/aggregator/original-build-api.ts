import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type BuildWord, isOver } from "../state.ts";
import { type LineFrames, readLines } from "../worker-api/line-frames.ts";
import type { WorkerArtifact, WorkerLine } from "../worker-api/worker-messages.ts";
import { type ServiceAddress, readService } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";
import type { BuildApi, TakenLines } from "./build-api.ts";
import { OriginalLines } from "./original-lines.ts";
import { createHash, randomUUID } from "node:crypto";

/** The original's wharf-api for one build. It would store repetitions and has no final status, so the current state is
 * checked first. Rejects like `BuildApi`, and with `RpcError` for lines. Must be closed. */
export class OriginalBuildApi implements Pick<BuildApi, keyof BuildApi> {
  readonly #service: ServiceAddress;
  readonly #path: string;
  readonly #lines: OriginalLines;
  readonly #artifacts: OriginalArtifacts;

  constructor(service: ServiceAddress, buildId: number) {
    this.#service = service;
    this.#path = `/api/build/${buildId}`;
    this.#lines = new OriginalLines(service, buildId);
    this.#artifacts = new OriginalArtifacts(service, buildId);
  }

  /** Acknowledged lines; the API has no cursors. */
  async cursors(signal: AbortSignal): Promise<ReadonlyMap<number, number>> {
    await this.#status(signal);
    return this.#lines.cursors;
  }

  async putFrames(frames: LineFrames, signal: AbortSignal): Promise<TakenLines> {
    return await this.putLines(readLines(frames), signal);
  }

  async putLines(lines: readonly WorkerLine[], signal: AbortSignal): Promise<TakenLines> {
    return await this.#lines.put(lines, signal);
  }

  flushed(): Promise<void> {
    return Promise.resolve();
  }

  /** Not repeated, because it would change the times. */
  async putStatus(status: BuildWord, _told: JsonObject, signal: AbortSignal): Promise<void> {
    const known = await this.#status(signal);
    if (isOver(status) ? known === status : known !== "Scheduling") return;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ status });
    await askOfBuild(this.#service, { method: "PUT", path: `${this.#path}/status`, headers, body }, signal);
  }

  async putArtifact(artifact: WorkerArtifact, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    await this.#artifacts.put(artifact, body, signal);
  }

  close(): void {
    this.#lines.close();
  }

  async #status(signal: AbortSignal): Promise<JsonValue | undefined> {
    const build = await askOfBuild(this.#service, { method: "GET", path: this.#path }, signal);
    return isJsonObject(build) ? build["status"] : undefined;
  }
}

/** Files for the original's forms, which have neither numbers nor digests: existing files are found by name and bytes.
 */
class OriginalArtifacts {
  readonly #service: ServiceAddress;
  readonly #path: string;
  readonly #digests = new Map<number, string>();
  readonly #settled = new Map<string, number>();

  constructor(service: ServiceAddress, buildId: number) {
    this.#service = service;
    this.#path = `/api/build/${buildId}`;
  }

  /** Unreadable test results are stored as a file and rejected with `wharf-unwanted`. */
  async put(
    { name, sha256, testResults }: WorkerArtifact,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const fileName = fileNameOf(name);
    const key = `${sha256} ${fileName}`;
    const settled = this.#settled.get(key) ?? 0;
    try {
      const present = sha256 === undefined ? 0 : await this.#count(fileName, sha256, signal);
      if (present <= settled) await this.#post(testResults ? "test-result/" : "artifact", fileName, body, signal);
    } finally {
      await leave(body);
    }
    this.#settled.set(key, settled + 1);
  }

  async #count(fileName: string, sha256: string, signal: AbortSignal): Promise<number> {
    const query = new URLSearchParams({ limit: "0", fileName });
    const path = `${this.#path}/artifact?${query.toString()}`;
    let count = 0;
    for (const artifactId of idsIn(await askOfBuild(this.#service, { method: "GET", path }, signal), fileName))
      if ((await this.#digestOf(artifactId, signal)) === sha256) count++;
    return count;
  }

  async #digestOf(artifactId: number, signal: AbortSignal): Promise<string> {
    const known = this.#digests.get(artifactId);
    if (known !== undefined) return known;
    const hash = createHash("sha256");
    for await (const bytes of readService(this.#service, `${this.#path}/artifact/${artifactId}`, signal))
      hash.update(bytes);
    const digest = hash.digest("hex");
    this.#digests.set(artifactId, digest);
    return digest;
  }

  async #post(place: string, fileName: string, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const boundary = randomUUID();
    const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
    const body = formOf(boundary, fileName, content);
    await askOfBuild(this.#service, { method: "POST", path: `${this.#path}/${place}`, headers, body }, signal);
  }
}

async function leave(body: AsyncIterable<Uint8Array>): Promise<void> {
  const bytes = body[Symbol.asyncIterator]();
  await bytes.next().catch(() => undefined);
  await bytes.return?.();
}

async function* formOf(
  boundary: string,
  fileName: string,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const quoted = fileName.replaceAll('"', String.raw`\"`);
  yield Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${quoted}"\r\n` +
      "Content-Type: application/octet-stream\r\n\r\n",
  );
  yield* content;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** The original keeps only the last part. */
const fileNameOf = (name: string): string => name.slice(name.lastIndexOf("/") + 1).replaceAll(/[\p{Cc}\\]/gu, "_");

function idsIn(answer: JsonValue | undefined, fileName: string): readonly number[] {
  const list = isJsonObject(answer) ? answer["list"] : undefined;
  return (Array.isArray(list) ? list : []).flatMap((artifact) =>
    isJsonObject(artifact) && artifact["fileName"] === fileName && typeof artifact["artifactId"] === "number"
      ? [artifact["artifactId"]]
      : [],
  );
}
