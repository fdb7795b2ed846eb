export { removeLog, type Rotation } from "./log-files.ts";
export { LogWriter } from "./log-writer.ts";
export { Masker } from "./masker.ts";
export { readLogs } from "./read-logs.ts";
export type { LogStream } from "./record.ts";
