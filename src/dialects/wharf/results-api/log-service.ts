import { codeOf, getOrAdd, messageOf } from "#lib/base/index.ts";
import { RpcError, type RpcService, service, wharfApiV5 } from "#kernel/rpc/index.ts";
import type { LogIntake } from "../log-store/log-store.ts";
import type { NewLine } from "../log-store/record.ts";
import { isTime } from "./line-json.ts";
import type { ResultsApiParts } from "./parts.ts";

const batchLines = 512;
/** Open logs per call; with more the earlier ones are flushed and closed. */
const mostBuilds = 256;

type Request = wharfApiV5.CreateLogStreamRequest;

/** Stores lines of any builds in any order and answers when they are synced. Lines with invalid times, of unknown
 * builds or beyond a log's bounds are skipped. */
export const logService = (parts: ResultsApiParts): RpcService =>
  service(wharfApiV5.Builds, {
    async createLogStream(requests, call) {
      const intake = new Intake(parts);
      try {
        for await (const request of requests) await intake.take(request);
        return { linesInserted: BigInt(await intake.end()) };
      } catch (thrown) {
        if (thrown instanceof RpcError || codeOf(thrown) === undefined) throw thrown;
        throw new RpcError("UNAVAILABLE", `lines were not kept: ${messageOf(thrown)}`, { cause: thrown });
      } finally {
        await intake.close();
        if (intake.skipped > 0)
          parts.log.warn("lines that cannot be stored were skipped", {
            lines: intake.skipped,
            from: call.peer,
          });
      }
    },
  });

class Intake {
  readonly #parts: ResultsApiParts;
  readonly #waiting = new Map<number, NewLine[]>();
  readonly #intakes = new Map<number, LogIntake>();
  #count = 0;
  #inserted = 0;
  /** Never rejects. */
  #storing: Promise<void> | undefined;
  #failure: unknown;
  skipped = 0;

  constructor(parts: ResultsApiParts) {
    this.#parts = parts;
  }

  async take(request: Request): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const buildId = Number(request.buildId);
    const line = lineOf(request);
    if (line === undefined || !this.#knows(buildId)) {
      this.skipped++;
      return;
    }
    getOrAdd(this.#waiting, buildId, () => []).push(line);
    this.#count++;
    this.#storing ??= new Promise<void>((resolve) => void setImmediate(resolve)).then(() => this.#store());
    if (this.#count >= batchLines) await this.#storing;
  }

  async end(): Promise<number> {
    await this.#storing;
    if (this.#failure !== undefined) throw this.#failure;
    await this.#flush();
    return this.#inserted;
  }

  async close(): Promise<void> {
    await this.#storing;
    for (const intake of this.#intakes.values()) intake.close();
    this.#intakes.clear();
  }

  #knows(buildId: number): boolean {
    return this.#intakes.has(buildId) || (Number.isSafeInteger(buildId) && this.#parts.builds.takes(buildId));
  }

  async #flush(): Promise<void> {
    for (const intake of this.#intakes.values()) await intake.flushed();
  }

  async #intakeOf(buildId: number): Promise<LogIntake | undefined> {
    const known = this.#intakes.get(buildId);
    if (known !== undefined) return known;
    if (this.#intakes.size >= mostBuilds) {
      await this.#flush();
      for (const intake of this.#intakes.values()) intake.close();
      this.#intakes.clear();
    }
    const { logs } = await this.#parts.stores.open();
    if (!this.#parts.builds.takes(buildId)) return undefined;
    const intake = await logs.intake(buildId);
    this.#intakes.set(buildId, intake);
    return intake;
  }

  /** Never rejects: failures are thrown by the next `take` or by `end`. */
  async #store(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const batches = [...this.#waiting];
        this.#waiting.clear();
        this.#count = 0;
        for (const [buildId, lines] of batches) {
          const intake = await this.#intakeOf(buildId);
          if (intake === undefined) this.skipped += lines.length;
          else {
            const { inserted, refused } = await intake.insert(lines);
            this.#inserted += inserted;
            this.skipped += refused?.count ?? 0;
          }
        }
      }
    } catch (thrown) {
      this.#failure = thrown;
    } finally {
      this.#storing = undefined;
    }
  }
}

function lineOf({ workerLogId, workerStepId, timestamp, message }: Request): NewLine | undefined {
  if (timestamp === undefined) return undefined;
  const time = { seconds: Number(timestamp.seconds), nanos: timestamp.nanos };
  if (!isTime(time)) return undefined;
  const line = { stepId: Number(workerStepId), workerLogId: Number(workerLogId), message };
  if (!Number.isSafeInteger(line.stepId) || !Number.isSafeInteger(line.workerLogId)) return undefined;
  return { ...line, time };
}
