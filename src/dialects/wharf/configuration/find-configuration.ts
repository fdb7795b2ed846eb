import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { createReporter } from "../definition/diagnostics.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { Layer, Settings } from "./layer.ts";

export interface ConfigurationPlaces extends UserPlaces {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly root?: string;
}

const fileName = "wharf-cmd-config.yml";

/** The settings of machine, user, working directory, WHARF_CONFIG and variables; later ones win. With errors nothing
 * may be started. */
export async function findConfiguration(places: ConfigurationPlaces): Promise<Settings> {
  const { directory, environment, root = "", platform } = places;
  const named = places.variable("WHARF_CONFIG");
  const inDirectory = join(directory, `.${fileName}`);
  const usual = [
    ...(platform === "win32" ? [] : [`${root}/etc/iver-wharf/wharf-cmd/${fileName}`]),
    `${userConfigDirectory(places)}/iver-wharf/wharf-cmd/${fileName}`,
    inDirectory,
  ];
  const namedFile = named === undefined || isAbsolute(named) ? named : join(directory, named);
  const found = usual.filter((file) => file !== namedFile).map((file) => readSource(file, false));
  if (namedFile !== undefined) found.push(readSource(namedFile, true));
  const sources = (await Promise.all(found)).filter((source) => source !== undefined);
  if (sources.length === 0 && !Object.keys(environment).some((name) => name.startsWith("WHARF_")))
    return { configuration: {}, diagnostics: [] };
  const { mergeLayers, readFileLayer, readVariableLayer } = await import("./read-configuration.ts");
  const layers = sources.map((source) => ("bytes" in source ? readFileLayer(source.bytes, source.file) : source));
  // A file named by the user is trusted.
  const own = layers.map((layer) => ({
    ...layer,
    isOfDirectory: layer.file === inDirectory && layer.file !== namedFile,
  }));
  return mergeLayers([...own, readVariableLayer(environment)]);
}

/** Undefined for a file that is neither named nor present. */
async function readSource(
  file: string,
  isNamed: boolean,
): Promise<Layer | { readonly file: string; readonly bytes: Uint8Array } | undefined> {
  try {
    return { file, bytes: await readFile(file) };
  } catch (thrown) {
    if (!isNamed && (codeOf(thrown) === "ENOENT" || codeOf(thrown) === "ENOTDIR")) return undefined;
    const reporter = createReporter(file);
    const hint = isNamed ? "WHARF_CONFIG names it" : undefined;
    reporter.error({ scope: "" }, "unreadable-file", `cannot read ${file}: ${messageOf(thrown)}`, { hint });
    return { file, configuration: {}, diagnostics: reporter.diagnostics() };
  }
}
