import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, hasCode, messageOf, recover } from "#lib/base/index.ts";
import { pipesFailed } from "../../errors.ts";

export interface ReadingPipe {
  /** Flows with its first `data` listener; `end` comes when every copy of the writing end is closed. */
  readonly output: Socket;
  /** Frees the name if the pipe has ended, else removes it: another holder would print into another task's log. */
  release(ended: boolean): void;
}

/** A pipe: `output` yields what is written to `descriptor`. */
export interface Pipe extends ReadingPipe {
  /** The writing end. Give it to a child, then `closeWritingEnd`, or the pipe never ends. */
  readonly descriptor: number;
  /** For `reopen` in the next process. */
  readonly name: string;
}

/** A pipe to a child: what is written to `input` is read from `descriptor`. */
export interface InputPipe {
  readonly input: Socket;
  /** The reading end. Give it to a child, then close it. */
  readonly descriptor: number;
}

/** Names made by one mkfifo, which costs a process start. */
const batch = 16;
const run = promisify(execFile);

/** Real pipes for children, named and reused: on Node's sockets `echo x > /dev/stdout` fails. */
export class PipePool {
  readonly #directory: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates `directory`, whose parent must exist, and removes everything in it but the names `kept`. */
  static async create(directory: string, kept: readonly string[] = []): Promise<PipePool> {
    const left = (await readdir(directory).catch(() => [])).filter((name) => !kept.includes(name));
    await Promise.all(left.map((name) => rm(join(directory, name), { recursive: true, force: true })));
    await mkdir(directory, { mode: 0o700 }).catch(recover(hasCode("EEXIST"), undefined));
    const pool = new PipePool(directory);
    pool.#made = Math.max(0, ...kept.map((name) => Number(name) + 1));
    // Spares the first task the wait for mkfifo.
    void pool.#make().catch(() => undefined);
    return pool;
  }

  /**
   * A pipe, to be released. Rejects if disk or descriptors are exhausted; nothing is then held. With `outlives`,
   * writers also count as readers: if this process is killed, they wait for the next one instead of getting SIGPIPE.
   */
  async acquire({ outlives = false } = {}): Promise<Pipe> {
    return this.#open(await this.#name(), outlives ? constants.O_RDWR : constants.O_WRONLY);
  }

  /** Several pipes; if one of them cannot be opened, none is held. */
  async acquireAll(...all: readonly { readonly outlives?: boolean }[]): Promise<readonly Pipe[]> {
    const pipes: Pipe[] = [];
    try {
      for (const options of all) pipes.push(await this.acquire(options));
      return pipes;
    } catch (thrown) {
      for (const pipe of pipes) {
        closeWritingEnd(pipe);
        pipe.release(true);
      }
      throw thrown;
    }
  }

  /** The reading end of a kept pipe, to be released. `wasHeld`: another process read it. Throws as open(2) does. */
  reopen(name: string): ReadingPipe & { readonly wasHeld: boolean } {
    const path = join(this.#directory, name);
    const wasHeld = hasReader(path);
    const { reading, descriptor } = this.#openEnds(path, constants.O_WRONLY);
    // The kernel reports an end only if there was a writer since the reading end was opened.
    closeSync(descriptor);
    return { ...this.#pipe(path, reading), wasHeld };
  }

  /** A pipe to a child. Its name is already removed; there is nothing to release. */
  async acquireInput(): Promise<InputPipe> {
    const path = await this.#name();
    let held: number | undefined;
    try {
      // A writing end needs a reader to be opened; the child's own must block.
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

  /** Resolves when the directory can be removed. Pipes in use stay open. */
  async close(): Promise<void> {
    await this.#making?.catch(() => undefined); // Whoever asked for a pipe has been told.
  }

  #open(path: string, mode: number): Pipe {
    try {
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

  #make(): Promise<void> {
    this.#making ??= this.#makeMore().finally(() => (this.#making = undefined));
    return this.#making;
  }

  async #makeMore(): Promise<void> {
    try {
      const paths = Array.from({ length: batch }, () => join(this.#directory, `${this.#made++}`));
      // Tasks of other users must be able to reopen /dev/stdout; the directory's mode keeps others out.
      await run("mkfifo", ["-m", "666", ...paths], { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
      this.#free.push(...paths);
    } catch (thrown) {
      throw pipesFailed(this.#directory, reasonOf(thrown), thrown);
    }
  }
}

/** mkfifo prints a line for each name: `mkfifo: cannot create fifo '/…': No space left on device`. */
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

/** Closes the caller's copy of the writing end, so that the pipe ends with the child. */
export const closeWritingEnd = (pipe: Pipe): void => closeSync(pipe.descriptor);
