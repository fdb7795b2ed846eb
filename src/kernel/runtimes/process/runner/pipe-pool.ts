import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { pipesFailed } from "../../errors.ts";

/** What is read of a pipe. */
export interface ReadingPipe {
  /** Starts to flow with its first `data` listener; `end` comes when every copy of the writing end is closed. */
  readonly output: Socket;
  /**
   * Gives the pipe's name back and stops reading. Only a pipe that has ended may serve another process: what somebody still holds
   * open would print into a stranger's log, so its name is removed instead.
   */
  release(ended: boolean): void;
}

/** One pipe: `output` yields what is written to `descriptor`, which the caller gives to a child and then closes. */
export interface Pipe extends ReadingPipe {
  /** The writing end. Ours to close with `closeWritingEnd`, or the pipe never ends. */
  readonly descriptor: number;
  /** By which the pool of the next process can open it again. */
  readonly name: string;
}

/** The other direction: what is written to `input` is read from `descriptor`, which the caller gives to a child and then closes. */
export interface InputPipe {
  /** Fails (EPIPE) once every copy of the reading end is closed. */
  readonly input: Socket;
  /** The reading end. The caller's to close. */
  readonly descriptor: number;
}

/** Names made by one mkfifo: it costs a process, a millisecond or two, whatever their number. */
const batch = 16;
const run = promisify(execFile);

/**
 * Real pipes for children. What Node itself gives a child as stdout is a socket, on which `echo x > /dev/stdout`, common in
 * scripts, fails. Named pipes made in batches by mkfifo(1) behave as scripts expect, and are opened again for the next child.
 *
 * Names grow with the largest number of children at one time and are kept for the next ones; nothing is open between them.
 */
export class PipePool {
  readonly #directory: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes `directory`, whose parent must exist, and empties it of all that an earlier process left in it but the names `kept`. */
  static async create(directory: string, kept: readonly string[] = []): Promise<PipePool> {
    const left = (await readdir(directory).catch(() => [])).filter((name) => !kept.includes(name));
    await Promise.all(left.map((name) => rm(join(directory, name), { recursive: true, force: true })));
    await mkdir(directory, { mode: 0o700 }).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    });
    const pool = new PipePool(directory);
    pool.#made = Math.max(0, ...kept.map((name) => Number(name) + 1));
    // The first task need not wait for mkfifo when it comes a moment later.
    void pool.#make().catch(() => undefined);
    return pool;
  }

  /**
   * A pipe of the caller's own, to be released. Rejects when the disk or the table of descriptors is full; nothing is then held.
   * With `outlives` whoever has the writing end is a reader as well: when this process is killed it waits for the next one once the
   * pipe is full, instead of being ended by SIGPIPE.
   */
  async acquire({ outlives = false } = {}): Promise<Pipe> {
    return this.#open(await this.#name(), outlives ? constants.O_RDWR : constants.O_WRONLY);
  }

  /**
   * The reading end of a kept pipe, to be released. It ends when nobody has the writing end any more; `wasHeld` when somebody had
   * the pipe open for reading. Throws as open(2) does.
   */
  reopen(name: string): ReadingPipe & { readonly wasHeld: boolean } {
    const path = join(this.#directory, name);
    const wasHeld = hasReader(path);
    const { reading, descriptor } = this.#openEnds(path, constants.O_WRONLY);
    // The kernel reports an end only after somebody has had the writing end since the reading end was opened.
    closeSync(descriptor);
    return { ...this.#pipe(path, reading), wasHeld };
  }

  /** A pipe to a child. Its name is gone when this resolves, so that there is nothing to release. */
  async acquireInput(): Promise<InputPipe> {
    const path = await this.#name();
    let held: number | undefined;
    try {
      // A writing end can be opened once there is a reader; the child's own must be one that waits.
      held = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const writing = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      const input = new Socket({ fd: writing, readable: false, writable: true });
      return { input, descriptor: openSync(path, constants.O_RDONLY) };
    } finally {
      if (held !== undefined) closeSync(held);
      void rm(path, { force: true }).catch(() => undefined);
    }
  }

  async #name(): Promise<string> {
    let path = this.#free.pop();
    while (path === undefined) {
      await this.#make();
      path = this.#free.pop();
    }
    return path;
  }

  /** Resolves when nothing is being made in the directory any more, so that it can be removed. Pipes in use stay open. */
  async close(): Promise<void> {
    await this.#making?.catch(() => undefined); // Whoever asked for a pipe has been told.
  }

  #open(path: string, mode: number): Pipe {
    try {
      // Reading end first and without blocking, then opening the writing end succeeds at once.
      const { reading, descriptor } = this.#openEnds(path, mode);
      return { ...this.#pipe(path, reading), descriptor, name: basename(path) };
    } catch (thrown) {
      this.#free.push(path);
      throw thrown;
    }
  }

  #pipe(path: string, reading: number): ReadingPipe {
    const output = new Socket({ fd: reading, readable: true, writable: false });
    const release = (ended: boolean) => {
      output.destroy();
      if (ended) this.#free.push(path);
      else void rm(path, { force: true }).catch(() => undefined);
    };
    return { output, release };
  }

  #openEnds(path: string, mode: number): { readonly reading: number; readonly descriptor: number } {
    let reading: number | undefined;
    try {
      reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      return { reading, descriptor: openSync(path, mode) };
    } catch (thrown) {
      if (reading !== undefined) closeSync(reading);
      throw thrown;
    }
  }

  /** One batch at a time. A failure is not kept. */
  #make(): Promise<void> {
    this.#making ??= this.#makeMore().finally(() => (this.#making = undefined));
    return this.#making;
  }

  async #makeMore(): Promise<void> {
    try {
      const paths = Array.from({ length: batch }, () => join(this.#directory, `${this.#made++}`));
      // Whoever runs as another user must be able to open /dev/stdout or /dev/stdin again; the directory keeps strangers out.
      await run("mkfifo", ["-m", "666", ...paths], { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
      this.#free.push(...paths);
    } catch (thrown) {
      throw pipesFailed(this.#directory, reasonOf(thrown), thrown);
    }
  }
}

/** mkfifo says a line for each name, all alike but for the name: `mkfifo: cannot create fifo '/…': No space left on device`. */
function reasonOf(thrown: unknown): string {
  const stderr = typeof thrown === "object" && thrown !== null && "stderr" in thrown ? thrown.stderr : undefined;
  const line = typeof stderr === "string" ? stderr.split("\n")[0] : undefined;
  return line === undefined || line === "" ? messageOf(thrown) : line.slice(line.lastIndexOf(": ") + 2);
}

function hasReader(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === "ENXIO") return false;
    throw thrown;
  }
}

/** Closes the caller's copy of a pipe's writing end, so that the pipe ends with the child. */
export const closeWritingEnd = (pipe: Pipe): void => closeSync(pipe.descriptor);
