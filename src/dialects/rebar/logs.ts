/** Logs of jobs: append-only bytes that outlive the machine and die with the job. */
export interface JobLogs {
  /** Durable when it resolves. Creates the log with its first line, `Log for Job: UUID`. */
  append(job: string, bytes: Uint8Array): Promise<void>;
  /** Undefined if there is none. */
  size(job: string): Promise<number | undefined>;
  /** Bytes from `start` up to `end`, which is not included; default: all. */
  read(job: string, start?: number, end?: number): AsyncIterable<Uint8Array>;
  remove(job: string): Promise<void>;
}
