import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type BuildWord, isOver } from "../state.ts";
import { type LineFrames, readLines } from "../worker-api/line-frames.ts";
import type { WorkerArtifact, WorkerLine } from "../worker-api/worker-messages.ts";
import type { ServiceAddress } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";
import type { BuildApi, TakenLines } from "./build-api.ts";
import { OriginalArtifacts } from "./original-artifacts.ts";
import { OriginalLines } from "./original-lines.ts";

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
