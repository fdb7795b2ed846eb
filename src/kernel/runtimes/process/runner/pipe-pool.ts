import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { pipesFailed } from "../../errors.ts";

export interface ReadingPipe {
  /** Flows from its first `data` listener; `end` comes when all copies of the writing end are closed. */
  readonly output: Socket;
  /**
   * Returns the pipe's name and stops reading. A pipe that has not ended is not reused: whoever still holds it would
   * print into another task's log.
   */
  release(ended: boolean): void;
}

/** `output` yields what is written to `descriptor`, which the caller gives to a child and then closes. */
export interface Pipe extends ReadingPipe {
  /** The writing end; close it with `closeWritingEnd` or the pipe never ends. */
  readonly descriptor: number;
  /** With it the next process's pool reopens the pipe. */
  readonly name: string;
}

/** The other direction: `descriptor` reads what is written to `input`; the caller gives it to a child and closes it. */
export interface InputPipe {
  /** Fails (EPIPE) once all copies of the reading end are closed. */
  readonly input: Socket;
  readonly descriptor: number;
}

/** mkfifo costs a process, whatever the number of names. */
const batch = 16;
const run = promisify(execFile);

/**
 * Pipes for children. Node gives a child sockets, on which `echo x > /dev/stdout` fails. Named pipes work, and are
 * reused for later children. There are as many names as there were children at one time.
 */
export class PipePool {
  readonly #directory: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Makes `directory` in an existing parent, or empties it except for the names `kept`. */
  static async create(directory: string, kept: readonly string[] = []): Promise<PipePool> {
    const left = (await readdir(directory).catch(() => [])).filter((name) => !kept.includes(name));
    await Promise.all(left.map((name) => rm(join(directory, name), { recursive: true, force: true })));
    await mkdir(directory, { mode: 0o700 }).catch((thrown: unknown) => {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    });
    const pool = new PipePool(directory);
    pool.#made = Math.max(0, ...kept.map((name) => Number(name) + 1));
    // Ahead of the first task.
    void pool.#make().catch(() => undefined);
    return pool;
  }

  /**
   * A pipe that the caller releases. Rejects if the disk or the descriptor table is full. With `outlives` the holder of
   * the writing end is a reader too: if this process is killed, it blocks on a full pipe instead of getting SIGPIPE.
   */
  async acquire({ outlives = false } = {}): Promise<Pipe> {
    return this.#open(await this.#name(), outlives ? constants.O_RDWR : constants.O_WRONLY);
  }

  /**
   * The reading end of a kept pipe, to be released. It ends when nobody has the writing end; `wasHeld` if somebody had
   * the pipe open for reading. Throws as open(2) does.
   */
  reopen(name: string): ReadingPipe & { readonly wasHeld: boolean } {
    const path = join(this.#directory, name);
    const wasHeld = hasReader(path);
    const { reading, descriptor } = this.#openEnds(path, constants.O_WRONLY);
    // The kernel reports an end only if there was a writer after the reading end was opened.
    closeSync(descriptor);
    return { ...this.#pipe(path, reading), wasHeld };
  }

  /** A pipe to a child. Its name is already removed, so nothing is released. */
  async acquireInput(): Promise<InputPipe> {
    const path = await this.#name();
    let held: number | undefined;
    try {
      // A writing end can only be opened with a reader; the child's own must be blocking.
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
      // With a non-blocking reading end, opening the writing end succeeds at once.
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
      // Other users must be able to open /dev/stdout or /dev/stdin; the directory keeps strangers out.
      await run("mkfifo", ["-m", "666", ...paths], { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } });
      this.#free.push(...paths);
    } catch (thrown) {
      throw pipesFailed(this.#directory, reasonOf(thrown), thrown);
    }
  }
}

/** mkfifo prints a line per name: `mkfifo: cannot create fifo '/…': No space left on device`. */
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
