// Settings of Wharf are read from files and variables by whatever part of it starts; what the command line says wins over all of them.

import type { Diagnostic, WharfSettings } from "../dialect.ts";
import { hasErrors } from "#lib/base/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import type { LogLevel } from "./own-log.ts";

/** Who wants to hear of errors alone is spared of warnings about documents, too. */
export const isTold =
  (level: LogLevel) =>
  ({ severity }: Pick<Diagnostic, "severity">): boolean =>
    level !== "error" || severity === "error";

/** The original's code for settings that cannot be read. */
export const settingsCode = 4;

/**
 * What is set for the process in this environment. All that is wrong is told on stderr, with its place; undefined when an error was among it, after
 * which nothing may be started.
 */
export async function readWharfSettings(
  environment: Environment,
  level: LogLevel = "info",
): Promise<WharfSettings | undefined> {
  const { all, home, variable, directory, err } = environment;
  const { loadSettings } = await import("../dialect.ts");
  const { findConfiguration, formatDiagnostic } = await loadSettings();
  const places = { environment: all, home, variable, platform: process.platform, directory };
  const { configuration, diagnostics } = await findConfiguration(places);
  for (const diagnostic of diagnostics.filter(isTold(level)))
    err.write(`${formatDiagnostic(diagnostic, "settings")}\n`);
  return hasErrors(diagnostics) ? undefined : configuration;
}

/** Pages of these origins may use a service: all, those that are named, or none. */
export function originsOf(service: "api" | "provisioner", settings: WharfSettings): readonly string[] | undefined {
  return settings[`${service}.http.cors.allowAllOrigins`] === true
    ? ["*"]
    : settings[`${service}.http.cors.allowOrigins`];
}

/** Options of the command line that a setting stands for where they are not given, in the unit that the option has. */
const settingByOption = {
  listen: { setting: "api.http.bindAddress", unit: "" },
  instance: { setting: "instanceId", unit: "" },
  "provisioner-listen": { setting: "provisioner.http.bindAddress", unit: "" },
  "max-workers": { setting: "provisioner.maxWorkers", unit: "" },
  backend: { setting: "provisioner.backend", unit: "" },
  drain: { setting: "provisioner.drain", unit: "ms" },
} as const;

/** What settings say of options, as somebody would have typed it: it is checked as the option is, and called by its own name. */
export const optionTexts = (settings: WharfSettings) =>
  new Map(
    Object.entries(settingByOption).flatMap(([option, { setting, unit }]) => {
      const value = settings[setting];
      return value === undefined ? [] : [[option, { by: setting, text: `${value}${unit}` }] as const];
    }),
  );
