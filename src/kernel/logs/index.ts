export { defaultRotation, type Rotation } from "./log-files.ts";
export { LogWriter, type LogWriterOptions } from "./log-writer.ts";
export { readLogs, type ReadLogsOptions } from "./read-logs.ts";
export type { LogStream } from "./record.ts";
