import { hasErrors } from "#lib/base/index.ts";
import type { Environment } from "#kernel/command/index.ts";
import type { LogLevel } from "./own-log.ts";
import { type Diagnostic, formatDiagnostic } from "../definition/diagnostics.ts";
import type { Configuration } from "../configuration/keys.ts";
import { findConfiguration } from "../configuration/find-configuration.ts";

export const isTold =
  (level: LogLevel) =>
  ({ severity }: Pick<Diagnostic, "severity">): boolean =>
    level !== "error" || severity === "error";

/** Exit code of the original for wrong settings. */
export const settingsCode = 4;

export async function readWharfSettings(
  environment: Environment,
  level: LogLevel = "info",
): Promise<Configuration | undefined> {
  const { all, home, variable, directory, err } = environment;
  const places = { environment: all, home, variable, platform: process.platform, directory };
  const { configuration, diagnostics } = await findConfiguration(places);
  for (const diagnostic of diagnostics.filter(isTold(level)))
    err.write(`${formatDiagnostic(diagnostic, "settings")}\n`);
  return hasErrors(diagnostics) ? undefined : configuration;
}

export function originsOf(service: "api" | "provisioner", settings: Configuration): readonly string[] | undefined {
  return settings[`${service}.http.cors.allowAllOrigins`] === true
    ? ["*"]
    : settings[`${service}.http.cors.allowOrigins`];
}
