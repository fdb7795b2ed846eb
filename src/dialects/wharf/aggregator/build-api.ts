import { codeOf, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { BuildWord } from "../build-status.ts";
import { timeText, timeToTell } from "../results-api/line-json.ts";
import { type LineFrames, lineFramesType } from "../worker-api/line-frames.ts";
import type { WorkerArtifact, WorkerLine } from "../worker-api/worker-messages.ts";
import type { ServiceAddress, ServiceRequest } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";

/** What has become of lines that were put. */
export interface TakenLines {
  /** They were not there before. */
  readonly inserted: number;
  /** They are not there, and putting them again now would change nothing. */
  readonly skipped: number;
  /** What is wrong with the first of these. */
  readonly problem?: string | undefined;
}

/**
 * What an aggregator says to wharf-api of one build. Everything may be said again, and is there once. Rejects with `wharf-service` where asking again
 * makes sense, with `wharf-unknown-build` for a build that there is none of, with `wharf-unwanted` for content that is refused however often it is
 * brought, with `wharf-slow` where it takes too long, and with `wharf-refused` where it depends on more than that, such as a token.
 */
export class BuildApi {
  readonly #service: ServiceAddress;
  readonly #path: string;

  constructor(service: ServiceAddress, buildId: number) {
    this.#service = service;
    this.#path = `/api/build/${buildId}`;
  }

  /** By step, up to which line everything is there. */
  async cursors(signal: AbortSignal): Promise<ReadonlyMap<number, number>> {
    const json = await this.#ask({ method: "GET", path: `${this.#path}/log/cursor` }, signal);
    const known = new Map<number, number>();
    for (const entry of Array.isArray(json) ? json : []) {
      const { workerStepId, lastWorkerLogId } = isJsonObject(entry) ? entry : {};
      if (typeof workerStepId === "number" && typeof lastWorkerLogId === "number")
        known.set(workerStepId, lastWorkerLogId);
    }
    return known;
  }

  /** What a worker has sent, as it is. The API keeps it from then on; on its disk after `flushed`, or at once when it is durable. */
  async putFrames({ bytes }: LineFrames, signal: AbortSignal, isDurable = false): Promise<TakenLines> {
    return await this.#put({ headers: { "content-type": lineFramesType }, body: bytes }, signal, isDurable);
  }

  /** The same for lines that nobody else tells. */
  async putLines(lines: readonly WorkerLine[], signal: AbortSignal): Promise<TakenLines> {
    let body = "";
    for (const line of lines) {
      const { stepId: workerStepId, logId: workerLogId, message } = line;
      const timestamp = timeText(timeToTell(line));
      body += `${JSON.stringify({ workerLogId, workerStepId, timestamp, message })}\n`;
    }
    return await this.#put({ headers: ndjson, body }, signal, false);
  }

  async #put(
    content: Required<Pick<ServiceRequest, "headers" | "body">>,
    signal: AbortSignal,
    isDurable: boolean,
  ): Promise<TakenLines> {
    const path = `${this.#path}/logs${isDurable ? "?durable=1" : ""}`;
    const answer = await this.#ask({ method: "PUT", path, ...content }, signal);
    const { inserted, skipped, problem } = isJsonObject(answer) ? answer : {};
    const countOf = (value: unknown): number => (typeof value === "number" ? value : 0);
    return {
      inserted: countOf(inserted),
      skipped: countOf(skipped),
      problem: typeof problem === "string" ? problem : undefined,
    };
  }

  /** Resolves when every line that was put is on the API's disk. */
  async flushed(signal: AbortSignal): Promise<void> {
    await this.#put({ headers: ndjson, body: "" }, signal, true);
  }

  /**
   * What has become of the build, with whatever else is known of it in the members of its status. Where the API wants no such details it is told
   * the word, and why.
   */
  async putStatus(status: BuildWord, told: JsonObject, signal: AbortSignal): Promise<void> {
    try {
      await this.#tell(status, told, signal);
    } catch (thrown) {
      if (codeOf(thrown) !== "wharf-unwanted") throw thrown;
      const why = Object.entries(told).filter(([name]) => name === "reason" || name === "message");
      await this.#tell(status, Object.fromEntries(why), signal);
    }
  }

  async #tell(status: BuildWord, told: JsonObject, signal: AbortSignal): Promise<void> {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ status, ...told });
    await this.#ask({ method: "PUT", path: `${this.#path}/status`, headers, body }, signal);
  }

  /**
   * A file that a step has left. Its bytes are checked against its digest where the worker tells one. Test results that cannot be read are kept as
   * any other file, and rejected with `wharf-unwanted` all the same.
   */
  async putArtifact(
    { artifactId, stepId, name, sha256, testResults }: WorkerArtifact,
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const digest = sha256 === undefined ? {} : { digest: `sha-256=${Buffer.from(sha256, "hex").toString("base64")}` };
    const query = new URLSearchParams({ name, ...(testResults ? { testResults: "1" } : {}) });
    const path = `${this.#path}/artifact/${stepId}/${artifactId}?${query.toString()}`;
    const headers = { "content-type": "application/octet-stream", ...digest };
    await this.#ask({ method: "PUT", path, headers, body }, signal);
  }

  /** Ends what is kept open between two requests. */
  close(): void {
    // Connections are those of all builds.
  }

  async #ask(request: ServiceRequest, signal: AbortSignal) {
    return await askOfBuild(this.#service, request, signal);
  }
}

const ndjson = { "content-type": "application/x-ndjson" };
