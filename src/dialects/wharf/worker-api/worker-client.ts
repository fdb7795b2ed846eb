import { FramedChannel, frameHeaderBytes, frameOf, messagesOf, RpcError, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import {
  type Clock,
  getOrAdd,
  isJsonObject,
  type Logger,
  messageOf,
  type Millis,
  type Random,
  sleep,
} from "#lib/base/index.ts";
import { IntervalSet } from "../log-store/interval-set.ts";
import type { BuildDocument } from "../results/build-document.ts";
import { countedLines, type LineFrames, pickLines } from "./line-frames.ts";
import { readArtifact, readStatus, type WorkerArtifact, type WorkerStatus } from "./worker-messages.ts";
import { askWorker, type Connect, readJsonBody, type RestAnswer } from "./worker-rest-client.ts";

export interface WorkerClientOptions {
  readonly connect: Connect;
  readonly token?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface WorkerBuild extends Omit<BuildDocument, "owner"> {
  readonly logs: readonly { readonly stepId: number; readonly lines: number; readonly bytes: number }[];
}

const emptyRequest = Buffer.alloc(frameHeaderBytes);
const [firstWait, longestWait]: readonly [Millis, Millis] = [500, 30_000];
const finalCodes = new Set(["INVALID_ARGUMENT", "UNIMPLEMENTED", "UNAUTHENTICATED", "PERMISSION_DENIED"]);

export class WorkerClient {
  readonly #options: WorkerClientOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #channel: FramedChannel;

  constructor(options: WorkerClientOptions) {
    const { connect, token, clock } = options;
    this.#options = options;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#channel = new FramedChannel({ connect, clock, headers: this.#headers });
  }

  /** Lines not in `known` (by step, up to which line all are known), each once; in order for this worker, in any order
   * for released ones. A batch counts as taken when the next one is requested. */
  async *logs(known: ReadonlyMap<number, number>, signal: AbortSignal): AsyncGenerator<LineFrames, void> {
    const { StreamLogsRequestSchema: request } = wharfWorkerV1;
    const seen = new SeenLines(known);
    const ask = (): Buffer => {
      const after = [...seen.cursors].map(([stepId, id]) => ({ stepId: BigInt(stepId), lastLogId: BigInt(id) }));
      return frameOf(request, { after });
    };
    for await (const frames of this.#stream("StreamLogs", ask, signal)) {
      const fresh = pickLines(countedLines(frames), (stepId, logId) => seen.add(stepId, logId));
      if (fresh.lines > 0) yield fresh;
    }
  }

  async *statuses(signal: AbortSignal): AsyncGenerator<WorkerStatus, void> {
    yield* this.#events("StreamStatusEvents", readStatus, ({ eventId }) => eventId, signal);
  }

  async *artifacts(signal: AbortSignal): AsyncGenerator<WorkerArtifact, void> {
    yield* this.#events("StreamArtifactEvents", readArtifact, ({ artifactId }) => artifactId, signal);
  }

  /** Undefined for released workers, which have no such document. */
  async build(signal: AbortSignal): Promise<WorkerBuild | undefined> {
    const answer = await this.#ask({ path: "/api/build" }, signal);
    if (answer.status === 404) return void answer.body.destroy();
    const document = await readJsonBody(answer).catch((thrown: unknown) => {
      throw broken(thrown);
    });
    if (isBuild(document)) return document;
    throw new RpcError("INTERNAL", "the worker has no build document at /api/build");
  }

  /** The artifact's bytes from `first` on; reading rejects if the connection breaks. Rejects with NOT_FOUND if there is
   * none. */
  async download(artifactId: number, signal: AbortSignal, first = 0): Promise<AsyncIterable<Buffer>> {
    const headers = first === 0 ? {} : { range: `bytes=${first}-` };
    const { status, body } = await this.#ask({ path: `/api/artifact/${artifactId}/download`, headers }, signal);
    if (status === (first === 0 ? 200 : 206)) return body;
    body.destroy();
    if (status === 404) throw new RpcError("NOT_FOUND", `the worker has no artifact ${artifactId}`);
    throw new RpcError("UNAVAILABLE", `artifact ${artifactId}: the worker has answered ${status}`);
  }

  async cancel(signal: AbortSignal): Promise<void> {
    const { status, body } = await this.#ask({ method: "POST", path: "/api/build/cancel" }, signal);
    body.destroy();
    if (status !== 202) throw new RpcError("UNAVAILABLE", `the worker has answered a cancel with ${status}`);
  }

  close(): void {
    this.#channel.close();
  }

  async #ask(
    request: { readonly method?: string; readonly path: string; readonly headers?: Readonly<Record<string, string>> },
    signal: AbortSignal,
  ): Promise<RestAnswer> {
    const { connect } = this.#options;
    const answer = await askWorker(
      connect,
      { ...request, headers: { ...request.headers, ...this.#headers } },
      signal,
    ).catch((thrown: unknown) => {
      signal.throwIfAborted();
      throw broken(thrown);
    });
    if (answer.status !== 401) return answer;
    answer.body.destroy();
    throw new RpcError("UNAUTHENTICATED", "the worker wants another token");
  }

  async *#events<T extends { readonly stepId: number }>(
    method: "StreamStatusEvents" | "StreamArtifactEvents",
    read: (message: Buffer) => T,
    idOf: (event: T) => number,
    signal: AbortSignal,
  ): AsyncGenerator<T, void> {
    const seen = new Set<string>();
    for await (const frames of this.#stream(method, () => emptyRequest, signal)) {
      for (const event of messagesOf(frames).map(read)) {
        const key = `${event.stepId}/${idOf(event)}`;
        if (seen.has(key)) continue;
        seen.add(key);
        yield event;
      }
    }
  }

  /** Repeats a call until it ends OK or fails finally. */
  async *#stream(method: string, ask: () => Buffer, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const { clock, random, log } = this.#options;
    let wait = firstWait;
    for (;;) {
      try {
        for await (const frames of this.#channel.frames(`/wharf.worker.v1.Worker/${method}`, ask(), signal)) {
          wait = firstWait;
          yield frames;
        }
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof RpcError) || finalCodes.has(thrown.code)) throw thrown;
        log.debug("a worker's stream has broken", { method, code: thrown.code, error: thrown.message });
      }
      // Random, so that clients of the same worker do not reconnect together.
      await sleep(clock, wait * (0.5 + random() / 2), signal);
      wait = Math.min(2 * wait, longestWait);
    }
  }
}

const broken = (thrown: unknown): RpcError =>
  new RpcError("UNAVAILABLE", `the worker does not answer: ${messageOf(thrown)}`, { cause: thrown });

const isBuild = (value: unknown): value is WorkerBuild =>
  isJsonObject(value) && Array.isArray(value["steps"]) && Array.isArray(value["logs"]) && "frozen" in value;

/** Recognises repeated lines. Released workers mix old and new lines and start over when a client reconnects. With too
 * many gaps duplicates are passed on, because the store recognises them. */
class SeenLines {
  readonly #steps: Map<number, IntervalSet>;

  /** `known`: by step, the line up to which all are known. */
  constructor(known: ReadonlyMap<number, number>) {
    this.#steps = new Map([...known].map(([stepId, upTo]) => [stepId, new IntervalSet(upTo)]));
  }

  /** False for a repeated line. Lines without a number are always new. */
  add(stepId: number, logId: number): boolean {
    return logId === 0 || getOrAdd(this.#steps, stepId, () => new IntervalSet()).add(logId) !== "present";
  }

  get cursors(): ReadonlyMap<number, number> {
    return new Map([...this.#steps].map(([stepId, ids]) => [stepId, ids.prefix]));
  }
}
