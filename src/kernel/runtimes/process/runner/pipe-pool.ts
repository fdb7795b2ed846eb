import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

/** One pipe: `output` yields what is written to `descriptor`, which the caller gives to a child and then closes. */
export interface Pipe {
  readonly output: Socket;
  readonly descriptor: number;
  /** Gives the pipe's name back. Only a pipe that has ended may serve another process. */
  release(ended: boolean): void;
}

const batch = 16;
const run = promisify(execFile);

/**
 * Real pipes for children. What Node itself gives a child as stdout is a socket, on which `echo x > /dev/stdout`, common in
 * scripts, fails. Named pipes made in batches by mkfifo(1) behave as scripts expect, and are opened again for the next child.
 */
export class PipePool {
  readonly #directory: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(directory: string): Promise<PipePool> {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    const pool = new PipePool(directory);
    // The first task need not wait for mkfifo when it comes a moment later.
    pool.#making = pool.#makeMore();
    void pool.#making.catch(() => undefined);
    return pool;
  }

  async acquire(): Promise<Pipe> {
    let path = this.#free.pop();
    while (path === undefined) {
      this.#making ??= this.#makeMore();
      await this.#making;
      path = this.#free.pop();
    }
    return this.#open(path);
  }

  #open(path: string): Pipe {
    // Reading end first and without blocking, then opening the writing end succeeds at once.
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const descriptor = openSync(path, constants.O_WRONLY);
    const output = new Socket({ fd: reading, readable: true, writable: false });
    const release = (ended: boolean) => {
      output.destroy();
      if (ended) this.#free.push(path);
      else void rm(path, { force: true }).catch(() => undefined);
    };
    return { output, descriptor, release };
  }

  async #makeMore(): Promise<void> {
    try {
      const paths = Array.from({ length: batch }, () => join(this.#directory, `${this.#made++}`));
      // Whoever runs as another user must be able to open /dev/stdout again; the directory keeps strangers out.
      await run("mkfifo", ["-m", "622", ...paths], { env: { PATH: "/usr/bin:/bin" } });
      this.#free.push(...paths);
    } finally {
      this.#making = undefined;
    }
  }
}

/** Closes the caller's copy of a pipe's writing end, so that the pipe ends with the child. */
export const closeWritingEnd = (pipe: Pipe): void => closeSync(pipe.descriptor);
