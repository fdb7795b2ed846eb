import { ByteLogs } from "#kernel/streams/index.ts";

/** Logs of jobs outlive the machine and die with the job. */
export interface JobLogs extends Pick<ByteLogs, "append" | "size" | "remove"> {
  read(job: string, start?: number, end?: number): AsyncIterable<Uint8Array>;
}

/** What the log of a job begins with. */
export const firstLine = (job: string): string => `Log for Job: ${job}\n`;

/** Logs of jobs as files of a directory that nothing else uses. Must be closed. */
export const openJobLogs = (directory: string): ByteLogs =>
  new ByteLogs({ directory, begin: (job) => Buffer.from(firstLine(job)) });
