import { ByteLogs } from "#kernel/streams/index.ts";

/** What the log of a job begins with. */
export const firstLine = (job: string): string => `Log for Job: ${job}\n`;

/** Logs of jobs as files of a directory that nothing else uses. Must be closed. */
export const openJobLogs = (directory: string): ByteLogs =>
  new ByteLogs({ directory, begin: (job) => Buffer.from(firstLine(job)) });
