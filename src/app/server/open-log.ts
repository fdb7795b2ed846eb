import { type Logger, systemClock } from "#lib/base/index.ts";
import { type LogLevel, plainLog } from "./plain-log.ts";

/** The log of a program that runs until a signal, on stderr: lines for a terminal, else JSON. */
export const openLog = async (level: LogLevel, isTerminal: boolean): Promise<Logger> =>
  isTerminal ? plainLog(level, systemClock) : (await import("./log.ts")).serverLog(level);
