import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, formatInstant, inParallel, messageOf } from "#lib/base/index.ts";
import { makeDirectories, removeTree, thisProcess } from "#lib/base/index.node.ts";
import type { BuildDocument, BuildIdentity, StageRecord, StepRecord, StepStatus } from "./build-document.ts";
import { isFinal } from "./build-document.ts";
import { Changes } from "./changes.ts";
import { resultsError } from "./errors.ts";
import { JsonFile } from "./json-file.ts";
import { claimDirectory } from "./place.ts";
import { buildFile, type Results, workDirectory } from "./results.ts";
import type { StepLog } from "./step-log.ts";
import type { StepLogOptions, StepLogWriter } from "./step-log-writer.ts";
import { type ArtifactLimits, type ArtifactSource, defaultArtifactLimits } from "./store-artifact.ts";
import { StoredStep } from "./stored-step.ts";

export interface NewBuild extends BuildIdentity {
  readonly stages: readonly Omit<StageRecord, "status" | "steps">[];
  readonly steps: readonly Pick<StepRecord, "stepId" | "stageId" | "name" | "type" | "image">[];
}

export interface ResultsOptions {
  readonly clock: Clock;
  readonly limits?: ArtifactLimits;
  readonly maxLineBytes?: number;
  readonly keepsWork?: boolean;
  readonly onLoss?: (failure: Error) => void;
  readonly onLeftover?: (message: string) => void;
}

interface Why {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export interface BuildEnd {
  readonly status: StepStatus;
  readonly reason?: string;
  readonly message?: string;
}

/** Freed when the disk is full, so that the end of the build can be written. */
const reserveBytes = 64 * 1024;

/** Creates results at or beside the wanted directory, see `claimDirectory`; rejects with `results-place`. The caller
 * then sets statuses, opens logs, adds artifacts, calls `finish` and `freeze`. */
export async function createResults(wanted: string, build: NewBuild, options: ResultsOptions): Promise<ResultsStore> {
  const document = beginningOf(build, options.clock);
  const directory = await claimDirectory(wanted, "build.json", `${JSON.stringify(document)}\n`);
  const store = new ResultsStore(directory, document, options);
  await store.prepare();
  return store;
}

const beginningOf = ({ stages, steps, ...identity }: NewBuild, clock: Clock): BuildDocument => ({
  version: 1,
  ...identity,
  startedAt: formatInstant(clock.now()),
  finishedAt: null,
  status: "Running",
  frozen: false,
  owner: thisProcess(),
  stages: stages.map((stage) => ({
    ...stage,
    steps: steps.filter(({ stageId }) => stageId === stage.stageId).map(({ stepId }) => stepId),
    status: "None",
  })),
  steps: steps.map((step) => ({ ...step, status: "None", exitCode: null, startedAt: null, finishedAt: null })),
});

/** The results of a running build, for its worker and for followers. Failed writes do not stop the build: they are
 * reported once, and the build ends Failed with `ResultsLost`. */
export class ResultsStore implements Results {
  readonly directory: string;
  readonly changes = new Changes();
  readonly steps: readonly StoredStep[];
  readonly #options: ResultsOptions;
  readonly #file: JsonFile;
  #build: BuildDocument;
  #artifacts = 0;
  readonly #adding = new Set<Promise<number>>();
  #frozen = false;
  #freezing: Promise<void> | undefined;
  #loss: Error | undefined;

  constructor(directory: string, build: BuildDocument, options: ResultsOptions) {
    this.directory = directory;
    this.#build = build;
    this.#options = options;
    this.#file = new JsonFile(buildFile(directory), () => this.#build);
    this.steps = build.steps.map(({ stepId }) => new StoredStep(directory, stepId, this.changes));
  }

  get build(): BuildDocument {
    return this.#build;
  }

  get logs(): readonly StepLog[] {
    return this.steps.map(({ log }) => log);
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  get loss(): Error | undefined {
    return this.#loss;
  }

  async prepare(): Promise<void> {
    const work = workDirectory(this.directory);
    await makeDirectories(work, 0o700);
    await writeFile(join(work, ".reserve"), Buffer.alloc(reserveBytes), { mode: 0o600 });
    const at = formatInstant(this.#options.clock.now());
    await inParallel(this.steps, (step) => step.begin(at));
  }

  /** The step's log for its only writer; closed with the step. */
  async openLog(stepId: number, options: Pick<StepLogOptions, "masked" | "onDrain"> = {}): Promise<StepLogWriter> {
    const { clock, maxLineBytes } = this.#options;
    const onLoss = (failure: Error): void => this.#lose(failure);
    const all = { ...options, clock, onLoss, ...(maxLineBytes === undefined ? {} : { maxLineBytes }) };
    return this.#writable(stepId).openLog(all);
  }

  /** Repeated statuses and those after a final one are ignored. The log is closed before a final status, so that it is
   * complete for readers. Never rejects because of the disk. */
  async setStatus(
    stepId: number,
    status: StepStatus,
    exitCode: number | null = null,
    { reason, message }: Why = {},
  ): Promise<void> {
    const step = this.#writable(stepId);
    if (isFinal(status)) await step.closeLog();
    const at = formatInstant(this.#options.clock.now());
    let failure: unknown;
    const isNew = await step.setStatus(status, at).catch((thrown: unknown) => {
      failure = thrown;
      return true;
    });
    if (!isNew) return;
    // No await in between: an older status must not replace a newer one.
    const old = this.#build.steps.find((record) => record.stepId === stepId);
    if (old === undefined) return;
    const startedAt = old.startedAt ?? (status === "None" || status === "Scheduling" ? null : at);
    const record: StepRecord = {
      ...old,
      status,
      exitCode,
      startedAt,
      finishedAt: isFinal(status) ? at : null,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
    };
    this.#change({ steps: this.#build.steps.map((other) => (other === old ? record : other)) });
    if (failure !== undefined) await this.#loseJson(failure);
    await this.#writeBuild();
  }

  async setStageStatus(stageId: number, status: StepStatus): Promise<void> {
    this.#change({
      stages: this.#build.stages.map((stage) => (stage.stageId === stageId ? { ...stage, status } : stage)),
    });
    await this.#writeBuild();
  }

  /** Stores artifacts and returns their number. Rejects with the first failure; artifacts before it are kept. */
  async addArtifacts(
    stepId: number,
    sources: Iterable<ArtifactSource> | AsyncIterable<ArtifactSource>,
    signal?: AbortSignal,
  ): Promise<number> {
    const limits = this.#options.limits ?? defaultArtifactLimits;
    const options = { ...limits, newId: () => ++this.#artifacts, signal };
    const adding = this.#writable(stepId).addArtifacts(sources, options);
    this.#adding.add(adding);
    try {
      return await adding;
    } catch (thrown) {
      if (["ENOSPC", "EDQUOT", "EIO"].includes(codeOf(thrown) ?? "")) await this.#loseJson(thrown);
      throw thrown;
    } finally {
      this.#adding.delete(adding);
    }
  }

  /** The build is Failed if results were lost. The first call counts. */
  async finish(end: BuildEnd): Promise<BuildEnd> {
    for (const step of this.steps) await step.closeLog();
    if (this.#build.finishedAt === null) {
      const lost: BuildEnd | undefined = this.#loss && {
        status: "Failed",
        reason: "ResultsLost",
        message: this.#loss.message,
      };
      this.#change({ ...(lost ?? end), finishedAt: formatInstant(this.#options.clock.now()) });
      await this.#writeBuild();
    }
    const { status, reason, message } = this.#build;
    return { status, ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
  }

  freeze(): Promise<void> {
    this.#freezing ??= this.#freeze();
    return this.#freezing;
  }

  async close(): Promise<void> {
    await this.freeze();
    this.changes.close(resultsError("results-closed", `results of build ${this.#build.buildId}: closed`));
  }

  async #freeze(): Promise<void> {
    await Promise.allSettled(this.#adding);
    await this.finish({ status: "Failed", reason: "WorkerStopped", message: "the worker ended before the build" });
    for (const step of this.steps) await step.sync().catch((thrown: unknown) => this.#loseJson(thrown));
    this.#change({ frozen: true });
    await Promise.all([
      this.#writeBuild(true),
      this.#clearWork().catch((thrown: unknown) =>
        this.#options.onLeftover?.(
          `${workDirectory(this.directory)} is left, and can be removed: ${messageOf(thrown)}`,
        ),
      ),
    ]);
    this.#frozen = true;
    this.changes.tell();
  }

  async #clearWork(): Promise<void> {
    const work = workDirectory(this.directory);
    if (this.#options.keepsWork !== true) return await removeTree(work);
    const names = await readdir(work);
    const kept = this.steps.map(({ stepId }) => `${stepId}`).filter((name) => names.includes(name));
    if (kept.length === 0) return await removeTree(work);
    for (const name of names) if (!kept.includes(name)) await removeTree(join(work, name));
  }

  #writable(stepId: number): StoredStep {
    const step = this.steps.find((candidate) => candidate.stepId === stepId);
    if (step === undefined) throw new Error(`build ${this.#build.buildId} has no step ${stepId}`);
    if (this.#freezing === undefined) return step;
    throw resultsError("results-frozen", `results of build ${this.#build.buildId}: nothing is added any more`);
  }

  #change(part: Partial<BuildDocument>): void {
    this.#build = { ...this.#build, ...part };
  }

  /** Retries once after freeing the reserve. */
  async #writeBuild(isSynced = false): Promise<void> {
    await this.#file.write(isSynced).catch(async (thrown: unknown) => {
      await this.#loseJson(thrown);
      await this.#file.write(isSynced).catch(() => undefined);
    });
  }

  async #loseJson(thrown: unknown): Promise<void> {
    const problem = `results of build ${this.#build.buildId}: ${messageOf(thrown)}`;
    this.#lose(resultsError("results-lost", problem, { cause: thrown }));
    await rm(join(workDirectory(this.directory), ".reserve"), { force: true }).catch(() => undefined);
  }

  #lose(failure: Error): void {
    if (this.#loss !== undefined) return;
    this.#loss = failure;
    this.#options.onLoss?.(failure);
  }
}
