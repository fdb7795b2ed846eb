import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { codeOf, messageOf } from "#lib/base/index.ts";
import { createReporter } from "../definition/diagnostics.ts";
import { userConfigDirectory, type UserPlaces } from "../user-directories.ts";
import type { Layer, Settings } from "./layer.ts";

/** Where settings are looked for. */
export interface ConfigurationPlaces extends UserPlaces {
  /** The working directory, absolute. */
  readonly directory: string;
  /** All variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** In front of the machine's own path; for tests. */
  readonly root?: string;
}

/** As the original has it; hidden where it lies among other files. */
const fileName = "wharf-cmd-config.yml";

/**
 * The settings of the machine, of the user, of the working directory, of the file that `WHARF_CONFIG` names, and of variables; later ones win. With
 * errors among the problems nothing may be started: the settings are then as far as they could be read.
 */
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
  // Most machines have none of it, and a server is not to load a reader of YAML for that.
  if (sources.length === 0 && !Object.keys(environment).some((name) => name.startsWith("WHARF_")))
    return { configuration: {}, diagnostics: [] };
  const { mergeLayers, readFileLayer, readVariableLayer } = await import("./read-configuration.ts");
  const layers = sources.map((source) => ("bytes" in source ? readFileLayer(source.bytes, source.file) : source));
  // Whoever names it has looked at it.
  const own = layers.map((layer) => ({
    ...layer,
    isOfDirectory: layer.file === inDirectory && layer.file !== namedFile,
  }));
  return mergeLayers([...own, readVariableLayer(environment)]);
}

/** A file that could be read, what is wrong with one that could not, or undefined for one that nobody has named and that is not there. */
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
