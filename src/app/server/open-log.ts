import { type Logger, systemClock } from "#lib/base/index.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";

export const openLog = async (level: LogLevel, isTerminal: boolean): Promise<Logger> =>
  isTerminal ? plainLog(level, systemClock) : (await import("./log.ts")).serverLog(level);
