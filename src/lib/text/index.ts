export { type CronFields, type CronSchedule, parseCron } from "./cron.ts";
export { nextTime } from "./cron-times.ts";
export * from "./expand.ts";
export * from "./nearest.ts";
export * from "./outputs.ts";
export * from "./quantity.ts";
export * from "./re2.ts";
export { estimateSize } from "./re2-size.ts";
export { type TimeZone, timeZone } from "./time-zone.ts";
