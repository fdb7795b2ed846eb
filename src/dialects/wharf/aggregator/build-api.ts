import { codeOf, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { BuildWord } from "../state.ts";
import { timeText, timeToTell } from "../results-api/line-json.ts";
import { type LineFrames, lineFramesType } from "../worker-api/line-frames.ts";
import type { WorkerArtifact, WorkerLine } from "../worker-api/worker-messages.ts";
import type { ServiceAddress, ServiceRequest } from "./api-connection.ts";
import { askOfBuild } from "./ask-of-build.ts";

export interface TakenLines {
  readonly inserted: number;
  /** Not stored; repeating would not help. */
  readonly skipped: number;
  readonly problem?: string | undefined;
}

/** wharf-api for one build; all requests are idempotent. Rejects with `wharf-service` (transient), `wharf-slow`,
 * `wharf-unknown-build`, `wharf-unwanted` (this content) or `wharf-refused`. */
export class BuildApi {
  readonly #service: ServiceAddress;
  readonly #path: string;

  constructor(service: ServiceAddress, buildId: number) {
    this.#service = service;
    this.#path = `/api/build/${buildId}`;
  }

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

  /** Synced after `flushed`, or at once if durable. */
  async putFrames({ bytes }: LineFrames, signal: AbortSignal, isDurable = false): Promise<TakenLines> {
    return await this.#put({ headers: { "content-type": lineFramesType }, body: bytes }, signal, isDurable);
  }

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

  async flushed(signal: AbortSignal): Promise<void> {
    await this.#put({ headers: ndjson, body: "" }, signal, true);
  }

  /** If the details are refused, only word and reason are sent. */
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

  /** Unreadable test results are stored as a file and rejected with `wharf-unwanted`. */
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

  close(): void {}

  async #ask(request: ServiceRequest, signal: AbortSignal) {
    return await askOfBuild(this.#service, request, signal);
  }
}

const ndjson = { "content-type": "application/x-ndjson" };
