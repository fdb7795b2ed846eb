export { endOfReceived } from "./followed-end.ts";
export { removeLog, type Rotation } from "./log-files.ts";
export { type LogRequest, readingOf } from "./log-request.ts";
export { LogWriter } from "./log-writer.ts";
export { Masker } from "./masker.ts";
export { readLogs } from "./read-logs.ts";
export { type ReceivedChunk, ReceivedLog } from "./received-log.ts";
export { readReceived } from "./received-state.ts";
export type { LogStream } from "./record.ts";
