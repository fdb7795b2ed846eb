import { makeDirectories } from "#lib/base/index.node.ts";
import { type Artifact, isFinal, type StatusUpdate, type StepStatus } from "./build-document.ts";
import type { Changes } from "./changes.ts";
import { resultsError } from "./errors.ts";
import { JsonFile } from "./json-file.ts";
import {
  artifactsDocument,
  artifactsFile,
  logFile,
  statusDocument,
  statusFile,
  stepDirectory,
  type StepResults,
} from "./results.ts";
import { StepLog } from "./step-log.ts";
import { openStepLog, type StepLogOptions, type StepLogWriter } from "./step-log-writer.ts";
import { type ArtifactSource, storeArtifact } from "./store-artifact.ts";

/** artifacts.json is rewritten once per group. */
const artifactsAtOnce = 256;

export class StoredStep implements StepResults {
  readonly stepId: number;
  readonly directory: string;
  readonly log: StepLog;
  readonly #changes: Changes;
  readonly #statusFile: JsonFile;
  readonly #artifactsFile: JsonFile;
  #writer: Promise<StepLogWriter> | undefined;
  #written: readonly StatusUpdate[] = [];
  #stored: readonly Artifact[] = [];
  updates: readonly StatusUpdate[] = [];
  artifacts: readonly Artifact[] = [];

  constructor(directory: string, stepId: number, changes: Changes) {
    this.stepId = stepId;
    this.directory = stepDirectory(directory, stepId);
    this.log = new StepLog(stepId, logFile(directory, stepId), changes);
    this.#changes = changes;
    this.#statusFile = new JsonFile(statusFile(this.directory), () => statusDocument(this.#written));
    this.#artifactsFile = new JsonFile(artifactsFile(this.directory), () => artifactsDocument(this.#stored));
  }

  async begin(timestamp: string): Promise<void> {
    await makeDirectories(this.directory, 0o700);
    await this.setStatus("None", timestamp);
  }

  /** Rejects with `log-taken` if called again. */
  openLog(options: StepLogOptions): Promise<StepLogWriter> {
    const writer = openStepLog(this.log, options);
    this.#writer ??= writer;
    return writer;
  }

  async closeLog(): Promise<void> {
    const writer = await this.#writer?.catch(() => undefined);
    await writer?.close();
    this.log.end();
  }

  /** False if nothing changed. Rejects if the write failed; followers see the status nevertheless. */
  async setStatus(status: StepStatus, timestamp: string): Promise<boolean> {
    const last = this.#written.at(-1);
    if (last !== undefined && (last.status === status || isFinal(last.status))) return false;
    this.#written = [...this.#written, { updateId: (last?.updateId ?? 0) + 1, timestamp, status }];
    const written = this.#written;
    try {
      await this.#statusFile.write(isFinal(status));
    } finally {
      if (written.length > this.updates.length) this.updates = written;
      this.#changes.tell();
    }
    return true;
  }

  /** Stores artifacts one after the other and publishes them when artifacts.json contains them. */
  async addArtifacts(
    sources: Iterable<ArtifactSource> | AsyncIterable<ArtifactSource>,
    options: {
      readonly maxFiles: number;
      readonly maxFileBytes: number;
      readonly newId: () => number;
      readonly signal: AbortSignal | undefined;
    },
  ): Promise<number> {
    const before = this.#stored.length;
    try {
      for await (const source of sources) {
        options.signal?.throwIfAborted();
        if (this.#stored.length >= options.maxFiles) throw this.#tooMany(options.maxFiles);
        this.#stored = [...this.#stored, await storeArtifact(this, source, options)];
        if ((this.#stored.length - before) % artifactsAtOnce === 0) await this.#tellArtifacts();
      }
    } finally {
      if (this.#stored.length > this.artifacts.length) await this.#tellArtifacts();
    }
    return this.#stored.length - before;
  }

  async sync(): Promise<void> {
    await this.#statusFile.sync();
    if (this.#stored.length > 0) await this.#artifactsFile.sync();
  }

  async #tellArtifacts(): Promise<void> {
    const stored = this.#stored;
    await this.#artifactsFile.write();
    if (stored.length > this.artifacts.length) this.artifacts = stored;
    this.#changes.tell();
  }

  #tooMany(maxFiles: number): Error {
    const problem = `artifacts of step ${this.stepId}: expected at most ${maxFiles} files, found more`;
    return resultsError("artifact-limit", problem, { hint: "raise worker.artifacts.maxFiles" });
  }
}
