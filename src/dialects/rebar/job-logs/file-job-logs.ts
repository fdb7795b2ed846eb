import { createReadStream } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import { flushDirectory, makeDirectories } from "#lib/base/index.node.ts";
import type { JobLogs } from "../logs.ts";

interface Waiting {
  readonly bytes: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

const pieceBytes = 256 * 1024;

/** What a log begins with. */
export const firstLine = (job: string): string => `Log for Job: ${job}\n`;

/** A file for each job. Appends that come while one is flushed are one write and one flush. */
export class FileJobLogs implements JobLogs {
  readonly #root: string;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Set<Promise<void>>();

  constructor(root: string) {
    this.#root = root;
  }

  append(job: string, bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(job);
      const one = { bytes, resolve, reject };
      if (waiting !== undefined) return void waiting.push(one);
      this.#waiting.set(job, [one]);
      const running = this.#drain(job);
      this.#running.add(running);
      void running.finally(() => this.#running.delete(running));
    });
  }

  async size(job: string): Promise<number | undefined> {
    try {
      return (await stat(this.#fileOf(job))).size;
    } catch (thrown) {
      if (codeOf(thrown) === "ENOENT") return undefined;
      throw thrown;
    }
  }

  read(job: string, start = 0, end?: number): AsyncIterable<Uint8Array> {
    return createReadStream(this.#fileOf(job), {
      start,
      ...(end === undefined ? {} : { end: end - 1 }),
      highWaterMark: pieceBytes,
    });
  }

  async remove(job: string): Promise<void> {
    await rm(this.#fileOf(job), { force: true });
  }

  /** Waits for appends that are under way. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Does not reject: each append learns of its own failure. */
  async #drain(job: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(job) ?? [];
      if (batch.length === 0) return void this.#waiting.delete(job);
      this.#waiting.set(job, []);
      try {
        await this.#write(job, Buffer.concat(batch.map(({ bytes }) => bytes)));
        for (const { resolve } of batch) resolve();
      } catch (thrown) {
        for (const { reject } of batch) reject(thrown);
      }
    }
  }

  async #write(job: string, bytes: Buffer): Promise<void> {
    const path = this.#fileOf(job);
    await makeDirectories(this.#root, 0o700);
    const file = await open(path, "a", 0o600);
    try {
      const { size } = await file.stat();
      try {
        await file.writeFile(size === 0 ? Buffer.concat([Buffer.from(firstLine(job)), bytes]) : bytes);
        await file.datasync();
      } catch (thrown) {
        // The sender repeats the whole piece.
        await file.truncate(size).catch(() => undefined);
        throw thrown;
      }
      if (size === 0) await flushDirectory(this.#root);
    } finally {
      await file.close();
    }
  }

  #fileOf(job: string): string {
    if (!/^[0-9A-Fa-f-]{1,64}$/.test(job)) throw new Error("the name of a log must be a UUID");
    return join(this.#root, `${job.toLowerCase()}.log`);
  }
}
