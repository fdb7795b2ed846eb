/** Where a job's files are written and its scripts run: this machine, or a container. Paths are as scripts see them. */
export interface WorkPlace {
  /** RS_RUNNER_DIR, absolute. */
  readonly runnerDirectory: string;
  /** `HOME` of scripts unless it is set already. */
  readonly environment: Readonly<Record<string, string>>;
  /** A fresh directory, RS_TASK_DIR. */
  makeTaskDirectory(task: string): Promise<string>;
  /** Replaces a file and creates parent directories. */
  write(path: string, content: string, mode: number): Promise<void>;
  isFile(path: string): Promise<boolean>;
  /** A directory with its content. */
  remove(directory: string): Promise<void>;
  start(script: Script): Promise<Running>;
  /** Ends running scripts and removes what it made. */
  close(): Promise<void>;
}

export interface Script {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
}

export interface Running {
  /** Both streams. */
  readonly output: AsyncIterable<Uint8Array>;
  /** The exit code; 128 + the number of the signal that killed it. */
  readonly ended: Promise<number>;
  /** Kills it with all its children. */
  kill(): void;
}
