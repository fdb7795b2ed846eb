import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type BuildWord, isOver } from "../build-status.ts";
import { type LineFrames, readLines } from "../worker-api/line-frames.ts";
import type { WorkerArtifact, WorkerLine } from "../worker-api/worker-messages.ts";
import type { ServiceAddress } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";
import type { BuildApi, TakenLines } from "./build-api.ts";
import { OriginalArtifacts } from "./original-artifacts.ts";
import { OriginalLines } from "./original-lines.ts";

/**
 * What an aggregator says of one build to wharf-api as the original has it: a stream of lines that is acknowledged when it is closed, forms with files,
 * and a status of one word. That API would store again what it is told again, and knows no end that stays: what is there is looked at first. Rejects
 * as `BuildApi` does, and with `RpcError` for lines. Close it.
 */
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

  /** As far as lines have been acknowledged here: the API does not tell. */
  async cursors(signal: AbortSignal): Promise<ReadonlyMap<number, number>> {
    await this.#status(signal);
    return this.#lines.cursors;
  }

  /** Resolves when the API has stored what a worker has sent. */
  async putFrames(frames: LineFrames, signal: AbortSignal): Promise<TakenLines> {
    return await this.putLines(readLines(frames), signal);
  }

  /** Resolves when the API has stored the lines. */
  async putLines(lines: readonly WorkerLine[], signal: AbortSignal): Promise<TakenLines> {
    return await this.#lines.put(lines, signal);
  }

  /** What is acknowledged is stored. */
  flushed(): Promise<void> {
    return Promise.resolve();
  }

  /** The word, without details. A build that has begun, or has this end, is not told again: it would get another time. */
  async putStatus(status: BuildWord, _told: JsonObject, signal: AbortSignal): Promise<void> {
    const known = await this.#status(signal);
    if (isOver(status) ? known === status : known !== "Scheduling") return;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ status });
    await askOfBuild(this.#service, { method: "PUT", path: `${this.#path}/status`, headers, body }, signal);
  }

  /** A file that a step has left, under the last part of its name. */
  async putArtifact(artifact: WorkerArtifact, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    await this.#artifacts.put(artifact, body, signal);
  }

  /** Ends the connection that lines go over. */
  close(): void {
    this.#lines.close();
  }

  async #status(signal: AbortSignal): Promise<JsonValue | undefined> {
    const build = await askOfBuild(this.#service, { method: "GET", path: this.#path }, signal);
    return isJsonObject(build) ? build["status"] : undefined;
  }
}
