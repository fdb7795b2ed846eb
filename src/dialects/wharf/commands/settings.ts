import type { Diagnostic, WharfSettings } from "../dialect.ts";
import { hasErrors } from "#lib/base/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import type { LogLevel } from "./own-log.ts";

export const isTold =
  (level: LogLevel) =>
  ({ severity }: Pick<Diagnostic, "severity">): boolean =>
    level !== "error" || severity === "error";

/** Exit code of the original for wrong settings. */
export const settingsCode = 4;

/** The settings of this process; undefined after printing errors. */
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

export function originsOf(service: "api" | "provisioner", settings: WharfSettings): readonly string[] | undefined {
  return settings[`${service}.http.cors.allowAllOrigins`] === true
    ? ["*"]
    : settings[`${service}.http.cors.allowOrigins`];
}

const settingByOption = {
  listen: { setting: "api.http.bindAddress", unit: "" },
  instance: { setting: "instanceId", unit: "" },
  "provisioner-listen": { setting: "provisioner.http.bindAddress", unit: "" },
  "max-workers": { setting: "provisioner.maxWorkers", unit: "" },
  backend: { setting: "provisioner.backend", unit: "" },
  drain: { setting: "provisioner.drain", unit: "ms" },
} as const;

/** Settings as texts of the options they stand for, so that they are checked in the same way. */
export const optionTexts = (settings: WharfSettings) =>
  new Map(
    Object.entries(settingByOption).flatMap(([option, { setting, unit }]) => {
      const value = settings[setting];
      return value === undefined ? [] : [[option, { by: setting, text: `${value}${unit}` }] as const];
    }),
  );
